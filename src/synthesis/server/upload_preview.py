"""What the page of uploads shows of a file before it is evaluated: its first rows, and what its columns seem to be."""

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from synthesis.cases.logs.columns import first_called, with_message_columns
from synthesis.cases.logs.conversion import LogRow
from synthesis.cases.logs.formats import CASES, format_of
from synthesis.cases.logs.preview import preview
from synthesis.errors import Problem

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
    shape, fields = _meaning(columns)
    if "checks" in columns and format_of(path, most_line=most_line) == CASES:
        shape, fields = CASE, {}
    return UploadPreview(shape, columns, fields, [_row(row, columns) for row in found.rows])


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
        return PreviewRow(row.line, problem=row.message)
    return PreviewRow(row.line, [_cell(row.fields.get(name)) for name in columns])


def _cell(value: Any) -> str:
    """A value as it can be shown: halves of characters spelled out, long ones cut."""
    text = "" if value is None else value if isinstance(value, str) else msgspec.json.encode(value).decode()
    shown = text[:MOST_CELL].encode("utf-8", "backslashreplace").decode()
    return f"{shown} …" if len(text) > MOST_CELL else shown
