"""Parquet: the rows of a file batch by batch, and stretches of row groups that can be read apart from each other."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from synthesis.cases.blocks import CHUNK, Seen
from synthesis.cases.logs.conversion import LogRow
from synthesis.cases.logs.options import FIELDS, LogOptions
from synthesis.cases.logs.tables import require_columns
from synthesis.errors import InputError, MissingExtraError, OptionError, Place, Problem, did_you_mean

BATCH = 1024  # rows in memory at a time
MOST_ROWS = 50_000  # of one unit of work: a longer row group is worked on in several stretches


class RowRange(msgspec.Struct, frozen=True):
    """Rows of one row group of a Parquet file."""

    file: str  # what the cases call it
    path: str
    group: int
    skip: int  # rows of the group before the first one
    rows: int
    first_line: int  # number of the first row, in the whole file
    size: int  # bytes, for the progress
    state: str  # hash of what tells the file from a changed one: size, time, footer


def row_ranges(path: Path, shown: str, options: LogOptions, keep: Iterable[str], seen: Seen) -> Iterator[RowRange]:
    """The row groups of a file in order, long ones in stretches. Only the footer is read, and shown to `seen`."""
    with _opened(path) as file:
        require_columns(file.schema_arrow.names, options, path)
        require_kept(file.schema_arrow.names, keep, path)
        footer = _footer(path)
        seen(footer)
        status = path.stat()
        state = hashlib.sha256(f"{status.st_size} {status.st_mtime_ns} ".encode() + footer).hexdigest()
        line = 1
        for group in range(file.metadata.num_row_groups):
            content = file.metadata.row_group(group)
            size = sum(content.column(number).total_compressed_size for number in range(content.num_columns))
            for skip in range(0, content.num_rows, MOST_ROWS):
                rows = min(MOST_ROWS, content.num_rows - skip)
                share = size * rows // content.num_rows
                yield RowRange(shown, str(path.absolute()), group, skip, rows, line, share, state)
                line += rows


def read_range(part: RowRange, options: LogOptions, keep: Iterable[str] = ()) -> Iterator[Any]:
    """The record batches of a stretch, with the columns that are needed."""
    with _opened(Path(part.path)) as file:
        columns = needed_columns(file.schema_arrow.names, options, keep)
        begin, end, position = part.skip, part.skip + part.rows, 0
        for batch in file.iter_batches(batch_size=BATCH, row_groups=[part.group], columns=columns):
            first, last = max(begin - position, 0), min(end - position, batch.num_rows)
            if first < last:
                yield batch.slice(first, last - first)
            position += batch.num_rows
            if position >= end:
                return


def parquet_rows(path: Path, options: LogOptions) -> Iterator[LogRow | Problem]:
    """The rows of a whole file, a batch at a time."""
    number = 1
    with _opened(path) as file:
        require_columns(file.schema_arrow.names, options, path)
        columns = needed_columns(file.schema_arrow.names, options)
        for batch in file.iter_batches(batch_size=BATCH, columns=columns):
            yield from batch_rows(batch, number)
            number += batch.num_rows


def batch_rows(batch: Any, first: int) -> Iterator[LogRow | Problem]:
    """The rows of an Arrow record batch; one whose values cannot be read does not spoil the others."""
    try:
        rows = batch.to_pylist()
    except ValueError:  # bytes that are not UTF-8
        rows = [_fields(batch, position) for position in range(batch.num_rows)]
    for number, fields in enumerate(rows, start=first):
        if isinstance(fields, str):
            yield Problem(number, "unreadable row", fields, f"ROW-{number}")
        else:
            yield LogRow(number, number, fields)


def needed_columns(present: Iterable[str], options: LogOptions, keep: Iterable[str] = ()) -> list[str]:
    """The columns that a case can be made of, and those to be kept, in the order of the file."""
    wanted = {options.columns.get(field, field) for field in FIELDS} | {"conversations"} | set(keep)
    return [name for name in present if name in wanted]


def _fields(batch: Any, position: int) -> dict[str, Any] | str:
    try:
        fields: dict[str, Any] = batch.slice(position, 1).to_pylist()[0]
    except UnicodeDecodeError:
        return "is not UTF-8"
    except ValueError as error:
        return f"cannot be read: {error}"
    return fields


def require_kept(present: list[str], keep: Iterable[str], path: Path | str) -> None:
    """What cannot be kept is refused before anything is read."""
    for name in keep:
        if name not in present:
            raise OptionError(f"{path} has no column '{name}' to keep", hint=did_you_mean(name, present))


def _footer(path: Path) -> bytes:
    """The description of a file at its end: sizes, places and bounds of all that it holds."""
    with path.open("rb") as file:
        file.seek(-8, 2)
        length = int.from_bytes(file.read(4), "little")
        file.seek(-8 - length, 2)
        return file.read()


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("parquet", "reading Parquet files") from None
    try:
        # Read as a stream: by default a whole row group, however long, would be held in memory.
        with pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=CHUNK) as file:
            yield file
    except pyarrow.ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"is not a readable Parquet file: {reason}", place=Place(str(path))) from None
    except FileNotFoundError:
        raise InputError("there is no such file", place=Place(str(path)), hint="Check the path.") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", place=Place(str(path))) from None
