"""What the upload page says about a file: its first rows, what its columns seem to be, why it was not evaluated."""

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from synthesis.errors import NO_CHECKS, RETURNS, CaseError, Problem, SynthesisError
from synthesis.read.cases import is_unicode
from synthesis.read.formats import CASES, format_of, preview
from synthesis.read.rows import LogRow, first_called, with_message_columns
from synthesis.server.http import ErrorDetail

ROWS = 5
MOST_CELL = 200  # characters that are shown of a cell
MOST_COLUMNS = 100
CASE, MESSAGE, EXCHANGE, CONVERSATION = "case", "message", "exchange", "conversation"
# Only suggested: what a column of this name holds is for the reader of the page to say.
_ASKED = ("user", "prompt", "question", "input", "query", "instruction", "user_message", "human")
_REPLIED = ("assistant", "completion", "answer", "response", "reply", "output", "assistant_message", "bot")


class PreviewRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """The cells of a row in the order of the columns, or why it cannot be read."""

    line: int
    cells: list[str] = []
    problem: str = ""


class UploadPreview(msgspec.Struct, frozen=True):
    """The beginning of a file."""

    shape: Annotated[
        Literal["case", "message", "exchange", "conversation"], msgspec.Meta(description="What a row seems to be.")
    ]
    columns: Annotated[list[str], msgspec.Meta(description="The names of its columns.")]
    map: Annotated[dict[str, str], msgspec.Meta(description="Field of a case -> column that seems to hold it.")]
    rows: Annotated[list[PreviewRow], msgspec.Meta(description="The first rows; none of a Parquet file.")]


def previewed(path: Path, most_line: int) -> UploadPreview:
    """A file, or the beginning of one; InputError says why it cannot be read."""
    found = preview(path, most_line, ROWS)
    columns = found.columns[:MOST_COLUMNS]
    shape, fields = _meaning([name for name in columns if is_unicode(name)])
    if "checks" in columns and format_of(path, most_line=most_line) == CASES:
        shape, fields = CASE, {}
    return UploadPreview(shape, [*map(_spelled, columns)], fields, [_row(row, columns) for row in found.rows])


def _meaning(columns: list[str]) -> tuple[Any, dict[str, str]]:
    of_messages = with_message_columns({}, columns)
    if of_messages:
        return MESSAGE, of_messages
    for name in ("messages", "conversations"):
        if name in columns:
            return CONVERSATION, {"messages": name}
    sides = {"user": first_called(_ASKED, columns), "assistant": first_called(_REPLIED, columns)}
    return EXCHANGE, {side: name for side, name in sides.items() if name}


def _row(row: LogRow | Problem, columns: list[str]) -> PreviewRow:
    if isinstance(row, Problem):
        return PreviewRow(row.line, problem=_spelled(row.message))
    return PreviewRow(row.line, [_cell(row.fields.get(name)) for name in columns])


def _cell(value: Any) -> str:
    """A value as it can be shown; a long one is cut."""
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _spelled(f"{text[:MOST_CELL]} …" if len(text) > MOST_CELL else text)


def _spelled(text: str) -> str:
    """With what is not UTF-8 in the file spelled out, since JSON cannot hold it."""
    return text.encode("utf-8", "backslashreplace").decode()


# Why a file was not evaluated, in the words of the page: no path of the server, no option of the command line.


SHOWN = 10
SORT = "Tick “Sort rows by conversation”, then evaluate the file again."
CHOOSE = "Choose what a row is and which columns hold it, then evaluate the file again."
_NAMED_BY_OPTION = re.compile(r"--map \w+=(?:NAME|\S+) names it(?:; )?")
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_OPTION = re.compile(r"--[a-z]|`synthesis ")


def in_page_words(error: SynthesisError, file: str) -> ErrorDetail:
    """`file` is what the server calls the file; the person who sent it knows it by another name."""
    if isinstance(error, CaseError):
        return ErrorDetail("invalid_cases", _problems(error), _cure(error))
    line = f"Line {error.place.line}: " if error.place and error.place.line else ""
    message = _plain(_without_path(error.message, file))
    hint = _plain(_without_path(error.hint or "", file))
    if not hint and _OPTION.search(error.hint or ""):
        hint = CHOOSE
    return ErrorDetail("invalid_cases", line + message[:1].upper() + message[1:], hint)


def _problems(error: CaseError) -> str:
    many = "One problem" if error.total == 1 else f"{error.total:,} problems"
    lines = [f"{many} in the file, nothing was evaluated:", *(_plain(str(one)) for one in error.problems[:SHOWN])]
    if error.total > SHOWN:
        lines.append(f"... and {error.total - SHOWN:,} more")
    return "\n".join(lines)


def _cure(error: CaseError) -> str:
    if RETURNS in error.kinds:
        return SORT
    return CHOOSE if NO_CHECKS in error.kinds else ""


def _without_path(text: str, file: str) -> str:
    return re.sub(rf"\S*{re.escape(file)}", "the file", text)


def _plain(text: str) -> str:
    """Without what only a shell understands; what is not UTF-8 is spelled out, since JSON cannot hold it."""
    told = _NAMED_BY_OPTION.sub("", text).replace(" ()", "")
    kept = [sentence for sentence in _SENTENCE.split(told) if not _OPTION.search(sentence)]
    return " ".join(kept).encode("utf-8", "backslashreplace").decode()
