"""Tables of text: CSV row by row."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from synthesis.cases.logs.conversion import LogRow
from synthesis.cases.logs.options import LogOptions
from synthesis.cases.messages import is_unicode
from synthesis.errors import InputError, OptionError, Place, Problem, did_you_mean

_LONGEST_CELL = 2**31 - 1  # Python's own limit of 131,072 characters is less than a long conversation


def csv_rows(path: Path, options: LogOptions) -> Iterator[LogRow | Problem]:
    """The rows below the header; the separator is the one that the header uses most."""
    csv.field_size_limit(_LONGEST_CELL)
    # Bytes that are not UTF-8 become lone surrogates, so that one bad row does not end the reading.
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader(file, delimiter=_separator(file), strict=True)
        header = _header(reader, path)
        require_columns(header, options, path)
        number = 0
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader, None)
            except csv.Error as error:
                number += 1
                yield Problem(line, "invalid CSV", f"is not valid CSV: {error}", f"ROW-{number}")
                continue
            if cells is None:
                return
            if cells:
                number += 1
                yield _csv_row(cells, header, number, line)


def _separator(file: TextIO) -> str:
    header = file.readline()
    file.seek(0)
    return max(",;\t", key=header.count)


def _header(reader: Any, path: Path) -> list[str]:
    try:
        header: list[str] = next(reader, [])
    except csv.Error as error:
        hint = "Save the file as CSV in UTF-8."
        raise InputError(f"its header cannot be read: {error}", place=Place(str(path), 1), hint=hint) from None
    twice = [name for name in header if header.count(name) > 1]
    if twice:
        raise InputError(f"two columns are called '{twice[0]}'", place=Place(str(path), 1), hint="Rename one of them.")
    return [name.strip() for name in header]


def require_columns(header: list[str], options: LogOptions, path: Path | str) -> None:
    """A table without the columns that were named could only give errors, so it is refused as a whole."""
    columns = options.columns
    wanted = [*columns.values()]
    if not ({"messages", "conversations"} & {*header}) and "messages" not in columns:
        wanted += [side for side in ("user", "assistant") if side not in columns]
    for name in wanted:
        if name not in header:
            known = did_you_mean(name, filter(None, header))
            hint = f"Name the columns with --map user=NAME,assistant=NAME. {known}"
            raise OptionError(f"{path} has no column '{name}'", hint=hint)


def _csv_row(cells: list[str], header: list[str], number: int, line: int) -> LogRow | Problem:
    name = f"ROW-{number}"
    if len(cells) > len(header):
        return Problem(line, "invalid CSV", f"has {len(cells)} cells, the header has {len(header)}", name)
    if not all(map(is_unicode, cells)):
        return Problem(line, "not UTF-8", "is not UTF-8", name)
    return LogRow(number, line, dict(zip(header, cells, strict=False)))
