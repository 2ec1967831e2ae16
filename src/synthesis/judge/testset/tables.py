"""Rows of files, whatever they are about: JSON Lines, CSV and Parquet. No row is held beyond `most_line` bytes.

A row that cannot be read does not end the reading: it comes as `Unreadable`, with the reason.
"""

import io
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

from synthesis.errors import InputError, MissingExtraError, Place, Problem, TestSetError
from synthesis.io import SUFFIXES
from synthesis.judge.testset.files import unreadable
from synthesis.read.json import line_rows
from synthesis.read.lines import MOST_LINE
from synthesis.read.tables import table_rows


class Unreadable(msgspec.Struct, frozen=True):
    """A row that cannot be read, and why."""

    reason: str


Placed = tuple[str, dict[str, Any] | Unreadable]  # the row's position in words, and the row


def read_json_lines(path: Path, most_line: int) -> Iterator[Placed]:
    """One object per line; empty lines are skipped."""
    return _rows(line_rows(path, most_line), path)


def read_csv(path: Path, most_line: int) -> Iterator[Placed]:
    """A header line, then a row per record."""
    return _rows(table_rows(path, most_line, lambda header: _require_names(header, path)), path)


def _require_names(header: list[str], path: Path) -> None:
    if not any(header):
        raise TestSetError("has no header line", place=Place(str(path)), hint="Name the columns in line 1.")


def _rows(rows: Iterator[Any], path: Path) -> Iterator[Placed]:
    with _opened(path):  # for the same words about a missing file as elsewhere in this half
        pass
    try:
        for row in rows:
            if isinstance(row, Problem):
                yield f"line {row.line}", Unreadable(row.message)
            else:
                yield f"line {row.line}", dict(row.fields)
    except TestSetError:
        raise
    except InputError as error:
        raise TestSetError(error.message, place=error.place, hint=error.hint) from None
    except OSError as error:
        raise unreadable(str(path), error) from None


def read_parquet(path: Path, most_line: int) -> Iterator[Placed]:  # noqa: ARG001 - all readers are called alike
    """The rows of a Parquet file, batch by batch."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("parquet", "reading Parquet") from None
    with _opened(path) as stream:
        try:
            number = 0
            for batch in parquet.ParquetFile(stream).iter_batches(batch_size=1024):
                for row in _without_nanoseconds(batch, pyarrow).to_pylist():
                    number += 1
                    yield f"row {number}", plain(row)
        except (pyarrow.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise TestSetError(f"not readable as Parquet: {reason}", place=Place(str(path))) from None


def _without_nanoseconds(batch: Any, pyarrow: Any) -> Any:
    """Python's time stamps end at microseconds; finer ones would be an error rather than a rounding."""
    fields = [
        field.with_type(pyarrow.timestamp("us", field.type.tz)) if _is_fine(field.type, pyarrow) else field
        for field in batch.schema
    ]
    return pyarrow.Table.from_batches([batch]).cast(pyarrow.schema(fields), safe=False)


def _is_fine(kind: Any, pyarrow: Any) -> bool:
    return bool(pyarrow.types.is_timestamp(kind)) and kind.unit == "ns"


def _opened(path: Path) -> io.BufferedReader:
    try:
        return path.open("rb")
    except (OSError, ValueError) as error:
        raise unreadable(str(path), error) from None


READERS: dict[str, Callable[[Path, int], Iterator[Placed]]] = {
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
}


def reader_of(path: Path) -> Callable[[Path, int], Iterator[Placed]] | None:
    """The reader for a file's ending; JSON Lines may be compressed."""
    ending = path.suffix.lower()
    if ending in SUFFIXES and path.with_suffix("").suffix.lower() in (".jsonl", ".ndjson"):
        return read_json_lines
    return READERS.get(ending)


def read_rows(path: Path, most_line: int = MOST_LINE) -> Iterator[Placed] | None:
    """The rows of a file, one at a time; None for a file of another kind."""
    reader = reader_of(path)
    return reader and reader(path, most_line)


def plain(value: Any) -> Any:
    """A value of a database or of Parquet with nothing in it that JSON does not know; absent stays absent."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items() if not _is_absent(item)}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "replace")
    return str(value) if isinstance(value, UUID) else value


def _is_absent(value: object) -> bool:
    """Null, and the NaN that data frames write in its place."""
    return value is None or (isinstance(value, float) and math.isnan(value))
