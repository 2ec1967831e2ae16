"""What the page of uploads shows of a file before it is evaluated: its first rows, and what its columns seem to be."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from synthesis.errors import Problem
from synthesis.read.cases import is_unicode
from synthesis.read.formats import CASES, format_of, preview
from synthesis.read.rows import LogRow, first_called, with_message_columns

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
