"""Tables of text: CSV row by row."""

import csv
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from synthesis.errors import InputError, OptionError, Place, Problem, did_you_mean
from synthesis.read.cases import is_unicode
from synthesis.read.lines import CHUNK
from synthesis.read.rows import TEXT, TIME, LogOptions, LogRow, require_whole_messages

_OF_MESSAGES = "with conversation=NAME,role=NAME,text=NAME where a row is one message"
# One row, however it is cut into cells: each cell takes 70 bytes, whatever it holds.
MOST_CELLS = 2_000_000


class _RowTooLongError(Exception):
    """A row that is longer than allowed; the lines that it takes were skipped."""


class _Lines:
    """The lines of a file for the CSV reader, which asks for as many as a row takes; no row is held beyond `most`."""

    def __init__(self, file: TextIO, most: int, separator: str) -> None:
        self._file = file
        self._most = most
        self._separator = separator
        self.number = 0  # lines so far
        self.begin_row()

    def begin_row(self) -> None:
        self._size = self._quotes = self._cells = 0

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self._file.readline(self._most + 1)
        if not line:
            raise StopIteration
        self._count(line)
        if self._size > self._most or self._cells > MOST_CELLS:
            self._pass_over(line)
            raise _RowTooLongError
        self.number += 1
        return line

    def _count(self, line: str) -> None:
        self._size += len(line)
        self._quotes += line.count('"')
        self._cells += line.count(self._separator)

    def _pass_over(self, line: str) -> None:
        """Continue after the row: at the end of a line, outside of quotes."""
        while line and not (line.endswith(("\n", "\r")) and self._quotes % 2 == 0):
            self.number += line.endswith(("\n", "\r"))
            line = self._file.readline(CHUNK)
            self._quotes += line.count('"')
        self.number += 1


def csv_rows(path: Path, options: LogOptions) -> Iterator[LogRow | Problem]:
    """The rows below the header, which must have the columns that the options name."""
    return table_rows(path, options.most_line, lambda header: require_columns(header, options, path))


def table_rows(
    path: Path, most_line: int, check: Callable[[list[str]], None] = lambda _: None
) -> Iterator[LogRow | Problem]:
    """The rows below the header, which `check` may refuse; the separator is the one that the header uses most."""
    csv.field_size_limit(most_line)
    # Bytes that are not UTF-8 become lone surrogates, so that one bad row does not end the reading.
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        separator = _separator(file, most_line)
        lines = _Lines(file, most_line, separator)
        reader = csv.reader(lines, delimiter=separator, strict=True)
        header = _header(reader, path)
        check(header)
        number = 0
        while True:
            line = lines.number + 1
            lines.begin_row()
            try:
                cells = next(reader, None)
            except (csv.Error, _RowTooLongError) as error:
                number += 1
                yield _bad_row(error, most_line, number, line)
                continue
            if cells is None:
                return
            if cells:
                number += 1
                yield _csv_row(cells, header, number, line)


def _bad_row(error: Exception, most_line: int, number: int, line: int) -> Problem:
    name = f"ROW-{number}"
    if isinstance(error, csv.Error):
        return Problem(line, "invalid CSV", f"is not valid CSV: {error}", name)
    message = f"is longer than {most_line:,} bytes, or has over {MOST_CELLS:,} cells, and was skipped"
    return Problem(line, "line too long", message, name)


def _separator(file: TextIO, most: int) -> str:
    header = file.readline(most)
    file.seek(0)
    return max(",;\t", key=header.count)


def _header(reader: Any, path: Path) -> list[str]:
    try:
        header: list[str] = next(reader, [])
    except _RowTooLongError:
        hint = "Is it a table? Raise --max-line if it is."
        raise InputError("its header is too long", place=Place(str(path), 1), hint=hint) from None
    except csv.Error as error:
        hint = "Save the file as CSV in UTF-8."
        raise InputError(f"its header cannot be read: {error}", place=Place(str(path), 1), hint=hint) from None
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise InputError(f"two columns are called '{twice[0]}'", place=Place(str(path), 1), hint="Rename one of them.")
    return [name.strip() for name in header]


def require_columns(header: list[str], options: LogOptions, path: Path | str) -> None:
    """A table without the columns that were named could only give errors, so it is refused as a whole."""
    columns = options.columns
    require_whole_messages(columns, path)
    wanted = [name for field, name in columns.items() if field != TIME or "messages" not in header]
    wanted += options.facts
    if TEXT not in columns and not ({"messages", "conversations"} & {*header}) and "messages" not in columns:
        wanted += [side for side in ("user", "assistant") if side not in columns]
    for name in wanted:
        if name not in header:
            known = did_you_mean(name, filter(None, header))
            hint = f"Name the columns with --map user=NAME,assistant=NAME, or {_OF_MESSAGES}. {known}"
            raise OptionError(f"{path} has no column '{name}'", hint=hint)


def _csv_row(cells: list[str], header: list[str], number: int, line: int) -> LogRow | Problem:
    name = f"ROW-{number}"
    if len(cells) > len(header):
        return Problem(line, "invalid CSV", f"has {len(cells)} cells, the header has {len(header)}", name)
    if not all(map(is_unicode, cells)):
        return Problem(line, "not UTF-8", "is not UTF-8", name)
    return LogRow(number, line, dict(zip(header, cells, strict=False)))
