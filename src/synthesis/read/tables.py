"""Tables row by row: CSV files, and tables of a database, which is only read."""

import csv
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from synthesis.errors import InputError, MissingExtraError, Place, Problem, did_you_mean
from synthesis.read.cases import is_unicode
from synthesis.read.lines import CHUNK, TOO_LONG, Row, Seen, opened, text_stream, unseen

if TYPE_CHECKING:
    from sqlalchemy import URL, ColumnClause, Engine

# One row, however it is cut into cells: each cell takes 70 bytes, whatever it holds.
MOST_CELLS = 2_000_000


class _RowTooLongError(Exception):
    """A row that is longer than allowed; the lines that it takes were skipped."""


class _Lines:
    """The lines of a file for the CSV reader, which asks for as many as a row takes; no row is held beyond `most`."""

    def __init__(self, file: TextIO, most: int) -> None:
        self._file = file
        self._most = most
        self._first = self._file.readline(most + 1)
        self.separator = max(",;\t", key=self._first.count)
        self.number = 0  # lines so far
        self.begin_row()

    def begin_row(self) -> None:
        self._size = self._quotes = self._cells = 0

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line, self._first = self._first or self._file.readline(self._most + 1), ""
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
        self._cells += line.count(self.separator)

    def _pass_over(self, line: str) -> None:
        """Continue after the row: at the end of a line, outside of quotes."""
        while line and not (line.endswith(("\n", "\r")) and self._quotes % 2 == 0):
            self.number += line.endswith(("\n", "\r"))
            line = self._file.readline(CHUNK)
            self._quotes += line.count('"')
        self.number += 1


def csv_rows(
    path: Path, most_line: int, check: Callable[[list[str]], object], seen: Seen = unseen
) -> Iterator[Row | Problem]:
    """The rows below the header, which `check` may refuse; the separator is the one that the header uses most."""
    csv.field_size_limit(most_line)
    with opened(path) as file:
        # Bytes that are not UTF-8 become lone surrogates, so that one bad row does not end the reading.
        lines = _Lines(text_stream(file, seen, errors="surrogateescape"), most_line)
        reader = csv.reader(lines, delimiter=lines.separator, strict=True)
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
            if any(map(str.strip, cells)):
                number += 1
                yield _csv_row(cells, header, number, line)


def _bad_row(error: Exception, most_line: int, number: int, line: int) -> Problem:
    name = f"ROW-{number}"
    if isinstance(error, csv.Error):
        return Problem(line, "invalid CSV", f"is not valid CSV: {error}", name)
    message = f"is longer than {most_line:,} bytes, or has over {MOST_CELLS:,} cells, and was skipped"
    return Problem(line, TOO_LONG, message, name)


def _header(reader: Any, path: Path) -> list[str]:
    try:
        header: list[str] = next(reader, [])
    except _RowTooLongError:
        hint = "Is it a table? Raise --max-line if it is."
        raise InputError("its header is too long", place=Place(str(path), 1), hint=hint) from None
    except csv.Error as error:
        hint = "Save the file as CSV in UTF-8."
        raise InputError(f"its header cannot be read: {error}", place=Place(str(path), 1), hint=hint) from None
    if any("\0" in name for name in header):  # as UTF-16 has it beside every letter
        raise InputError("is not UTF-8", place=Place(str(path), 1), hint="Save the file as CSV in UTF-8.")
    if not any(header):
        raise InputError("has no header line", place=Place(str(path)), hint="Name the columns in line 1.")
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise InputError(f"two columns are called '{twice[0]}'", place=Place(str(path), 1), hint="Rename one of them.")
    return [name.strip() for name in header]


def _csv_row(cells: list[str], header: list[str], number: int, line: int) -> Row | Problem:
    name = f"ROW-{number}"
    if len(cells) > len(header):
        return Problem(line, "invalid CSV", f"has {len(cells)} cells, the header has {len(header)}", name)
    if not all(map(is_unicode, cells)):
        return Problem(line, "not UTF-8", "is not UTF-8", name)
    return Row(number, line, dict(zip(header, cells, strict=False)))


# Tables of a database, by SQLAlchemy.


ROWS_AT_A_TIME = 500


def database_rows(url: str, table: str) -> Iterator[Row]:
    """The rows of a table (`name` or `schema.name`) as they stream from the database."""
    parsed = _url(url)
    from sqlalchemy import exc

    try:
        with _engine(parsed) as engine:
            yield from _rows(engine, table, shown_url(url))
    except exc.SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        if parsed.password:
            reason = reason.replace(str(parsed.password), "***")
        hint = "Check host, database, user and table."
        raise InputError(f"the database reports: {reason}", place=Place(shown_url(url)), hint=hint) from None


def shown_url(url: str) -> str:
    """The URL without its password, fit to be shown."""
    return _url(url).render_as_string(hide_password=True)


def _url(url: str) -> "URL":
    try:
        from sqlalchemy import exc, make_url
    except ImportError:
        raise MissingExtraError("sql", "reading a database") from None
    try:
        parsed = make_url(url)
    except (exc.ArgumentError, ValueError):
        hint = "Write it as sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE."
        raise InputError("this is not a database URL", hint=hint) from None
    if parsed.drivername in ("postgres", "postgresql"):  # the driver that the extra `sql` brings
        parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed


@contextmanager
def _engine(url: "URL") -> "Iterator[Engine]":
    from sqlalchemy import create_engine

    # SQLite would make a database that does not exist.
    if url.drivername.startswith("sqlite") and url.database and not os.path.exists(url.database):
        hint = "Check the path in the database URL."
        raise InputError("there is no such file", place=Place(url.database), hint=hint)
    try:
        engine = create_engine(url)
    except ModuleNotFoundError as error:
        hint = f"Install it with: pip install {error.name}"
        raise InputError(f"the driver for this database is missing: {error.name}", hint=hint) from None
    try:
        yield engine
    finally:
        engine.dispose()


def _rows(engine: "Engine", name: str, place: str) -> Iterator[Row]:
    from sqlalchemy import column, inspect, select, table

    schema, _, bare = name.rpartition(".")
    inspector = inspect(engine)
    known = [*inspector.get_table_names(schema or None), *inspector.get_view_names(schema or None)]
    if bare not in known:
        raise InputError(f"there is no table '{name}'", place=Place(place), hint=did_you_mean(bare, known))
    # Columns without types: values come as the driver reads them, whatever the table claims.
    columns: list[ColumnClause[Any]] = [column(found["name"]) for found in inspector.get_columns(bare, schema or None)]
    query = select(*columns).select_from(table(bare, schema=schema or None))
    with engine.connect() as connection:
        result = connection.execution_options(yield_per=ROWS_AT_A_TIME).execute(query)
        for number, row in enumerate(result.mappings(), 1):
            yield Row(number, number, dict(row))
