"""The beginning of a log: the names of its columns and its first rows, before anybody has said what they mean."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from synthesis.cases.blocks import MOST_LINE
from synthesis.cases.logs import json_logs
from synthesis.cases.logs.columns import with_message_columns
from synthesis.cases.logs.conversion import LogRow
from synthesis.cases.logs.formats import INSPECT, JSON, PARQUET, TABLE, kind_by_ending
from synthesis.cases.logs.tables import table_rows
from synthesis.errors import InputError, Problem


class Preview(NamedTuple):
    """Columns in the order of the file, and the first rows; of Parquet the columns alone."""

    columns: list[str]
    rows: list[LogRow | Problem]


def preview(path: Path, most_line: int = MOST_LINE, count: int = 1) -> Preview:
    """Nothing of what is not a file: a pipe is read only once. InputError says why a file cannot be read."""
    kind = kind_by_ending(path)
    if not path.is_file():
        return Preview([], [])
    if kind == PARQUET:
        from synthesis.cases.logs.parquet import column_names

        return Preview(column_names(path), [])
    if kind == TABLE:
        header: list[str] = []
        return Preview(header, _first(table_rows(path, most_line, header.extend), count))
    read = {INSPECT: json_logs.inspect_rows, JSON: json_logs.json_rows}.get(kind, json_logs.line_rows)
    rows = _first(read(path, most_line), count)
    names = (name for row in rows if isinstance(row, LogRow) for name in row.fields)
    return Preview([*dict.fromkeys(names)], rows)


def _first(rows: Iterator[LogRow | Problem], count: int) -> list[LogRow | Problem]:
    """The first rows; of a document that breaks off, those before its end."""
    found: list[LogRow | Problem] = []
    try:
        found.extend(islice(rows, count))
    except InputError:
        if not found:
            raise
    return found


def completed_columns(path: Path, columns: dict[str, str], most_line: int = MOST_LINE) -> dict[str, str] | None:
    """The map with the columns that a message per row is in, if the file has them; None for a file without columns."""
    names = preview(path, most_line).columns
    return with_message_columns(columns, names) if names else None
