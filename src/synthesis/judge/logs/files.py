"""Query logs in files: JSON Lines, CSV, Parquet. Each reader yields rows as they come, one at a time."""

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import MissingExtraError, Place, TestSetError
from synthesis.judge.logs.values import plain
from synthesis.judge.testset.problems import Problems, kind_of
from synthesis.judge.testset.reading import not_utf8, unreadable

Placed = tuple[str, dict[str, Any]]  # where the row stands in words, and the row
LARGEST_CELL = 2**31 - 1


def read_json_lines(file: str, problems: Problems) -> Iterator[Placed]:
    """One object per line; empty lines are passed over."""
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
