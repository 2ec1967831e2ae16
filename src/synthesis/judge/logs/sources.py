"""Where query logs come from: JSON Lines, CSV and Parquet files, and database tables. Rows are streamed."""

import csv
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from synthesis.errors import MissingExtraError, Place, TestSetError, did_you_mean
from synthesis.judge.logs.values import plain
from synthesis.judge.testset.files import Problems, kind_of, not_utf8, unreadable

if TYPE_CHECKING:
    from sqlalchemy import URL, ColumnClause, Engine

Placed = tuple[str, dict[str, Any]]  # the row's position in words, and the row
LARGEST_CELL = 2**31 - 1
ROWS_AT_A_TIME = 500


def read_json_lines(file: str, problems: Problems) -> Iterator[Placed]:
    """One object per line; empty lines are skipped."""
    with _opened(file) as stream:
        for number, line in enumerate(stream, 1):
            text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not text.strip():
                continue
            try:
                row = msgspec.json.decode(text)
            except UnicodeDecodeError:
                problems.add(f"line {number}", "not UTF-8")
            except (msgspec.MsgspecError, RecursionError) as error:
                problems.add(f"line {number}", f"not valid JSON: {error}")
            else:
                if isinstance(row, dict):
                    yield f"line {number}", row
                else:
                    problems.add(f"line {number}", f"must be an object, not {kind_of(row)}")


def read_csv(file: str, problems: Problems) -> Iterator[Placed]:
    """A header line, then a row per record; an empty cell is an absent value."""
    csv.field_size_limit(LARGEST_CELL)
    delimiter = "\t" if file.lower().endswith(".tsv") else ","
    with _opened(file) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        try:
            header = next(reader, None)
            if not header:
                raise TestSetError("has no header line", place=Place(file), hint="Name the columns in line 1.")
            for row in reader:
                yield from _cells(header, row, reader.line_num, problems)
        except UnicodeDecodeError:
            raise not_utf8(file) from None
        except csv.Error as error:
            raise TestSetError(f"not valid CSV: {error}", place=Place(file, reader.line_num)) from None


def _cells(header: list[str], row: list[str], line: int, problems: Problems) -> Iterator[Placed]:
    if len(row) == len(header):
        yield f"line {line}", {name: cell for name, cell in zip(header, row, strict=True) if cell != ""}
    elif row:
        problems.add(f"line {line}", f"has {len(row)} cells where the header names {len(header)} columns")


def read_parquet(file: str, problems: Problems) -> Iterator[Placed]:  # noqa: ARG001 - all readers are called alike
    """The rows of a Parquet file, batch by batch."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("parquet", "reading Parquet") from None
    with _opened(file) as stream:
        try:
            number = 0
            for batch in parquet.ParquetFile(stream).iter_batches(batch_size=1024):
                for row in _without_nanoseconds(batch, pyarrow).to_pylist():
                    number += 1
                    yield f"row {number}", plain(row)
        except (pyarrow.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise TestSetError(f"not readable as Parquet: {reason}", place=Place(file)) from None


def _without_nanoseconds(batch: Any, pyarrow: Any) -> Any:
    """Python's time stamps end at microseconds; finer ones would be an error rather than a rounding."""
    fields = [
        field.with_type(pyarrow.timestamp("us", field.type.tz)) if _is_fine(field.type, pyarrow) else field
        for field in batch.schema
    ]
    return pyarrow.Table.from_batches([batch]).cast(pyarrow.schema(fields), safe=False)


def _is_fine(kind: Any, pyarrow: Any) -> bool:
    return bool(pyarrow.types.is_timestamp(kind)) and kind.unit == "ns"


def _opened(file: str) -> io.BufferedReader:
    try:
        return Path(file).open("rb")
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from None


READERS: dict[str, Callable[[str, Problems], Iterator[Placed]]] = {
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
}


def read_table(url: str, table: str) -> Iterator[Placed]:
    """The rows of a table (`name` or `schema.name`) as they stream from the database, which is only read."""
    parsed = _url(url)
    from sqlalchemy import exc

    try:
        with _engine(parsed) as engine:
            yield from _rows(engine, table, shown(url))
    except exc.SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise _failed(_without_password(reason, parsed), url) from None


def shown(url: str) -> str:
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
        raise TestSetError("this is not a database URL", hint=hint) from None
    if parsed.drivername in ("postgres", "postgresql"):  # the driver that the extra `sql` brings
        parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed


@contextmanager
def _engine(url: "URL") -> "Iterator[Engine]":
    from sqlalchemy import create_engine

    # SQLite would make a database that does not exist.
    if url.drivername.startswith("sqlite") and url.database and not os.path.exists(url.database):
        raise TestSetError("no such file", place=Place(url.database), hint="Check the path in the database URL.")
    try:
        engine = create_engine(url)
    except ModuleNotFoundError as error:
        hint = f"Install it with: pip install {error.name}"
        raise TestSetError(f"the driver for this database is missing: {error.name}", hint=hint) from None
    try:
        yield engine
    finally:
        engine.dispose()


def _rows(engine: "Engine", name: str, place: str) -> Iterator[Placed]:
    from sqlalchemy import column, inspect, select, table

    schema, _, bare = name.rpartition(".")
    inspector = inspect(engine)
    known = [*inspector.get_table_names(schema or None), *inspector.get_view_names(schema or None)]
    if bare not in known:
        raise TestSetError(f"there is no table '{name}'", place=Place(place), hint=did_you_mean(bare, known))
    # Columns without types: values come as the driver reads them, whatever the table claims.
    columns: list[ColumnClause[Any]] = [column(found["name"]) for found in inspector.get_columns(bare, schema or None)]
    query = select(*columns).select_from(table(bare, schema=schema or None))
    with engine.connect() as connection:
        result = connection.execution_options(yield_per=ROWS_AT_A_TIME).execute(query)
        for number, row in enumerate(result.mappings(), 1):
            yield f"row {number}", plain(row)


def _without_password(text: str, url: "URL") -> str:
    return text.replace(str(url.password), "***") if url.password else text


def _failed(reason: str, url: str) -> TestSetError:
    hint = "Check host, database, user and table."
    return TestSetError(f"the database reports: {reason}", place=Place(shown(url)), hint=hint)
