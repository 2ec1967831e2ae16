"""Parquet: rows batch by batch, and stretches of row groups that cut no conversation in two."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import InputError, MissingExtraError, OptionError, Place, Problem, did_you_mean
from synthesis.read.conversations import MOST_ROWS, Begins, too_many_rows
from synthesis.read.lines import CHUNK, Row, Seen
from synthesis.read.mapping import CONVERSATION
from synthesis.read.rows import LogOptions, needed_columns, require_columns


class BorderFinder:
    """Finds borders in stretches of a column that follow each other; an empty name is no conversation's."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._last: Any = None  # the last value so far, as a column of one row
        self._run = 0  # rows of the conversation that is not yet over

    def borders(self, column: Any) -> list[int]:
        """The places in this stretch where another conversation begins than the one before."""
        import pyarrow as pa

        values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        first = self._last is None  # nothing is before the first stretch, so that a conversation begins with it
        known = values if first else pa.concat_arrays([self._last, values])
        found = [place + first for place in _changes(known)]
        found = [0, *found] if first and len(values) else found
        self._measure(found, values)
        self._last = values[-1:] if len(values) else self._last
        return found

    def _measure(self, borders: list[int], values: Any) -> None:
        starts = [-self._run, *borders]
        for start, end in pairwise([*starts, len(values)]):
            if end - start > MOST_ROWS:
                raise too_many_rows(values[max(start, 0)].as_py(), self._file)
        self._run = len(values) - starts[-1]


def _changes(values: Any) -> list[int]:
    """The places, from that of the second value on, where a value differs from the one before, or is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    after, before = values[1:], values[:-1]
    differs = pc.fill_null(pc.not_equal(after, before), True)
    if not pa.types.is_integer(values.type):
        differs = pc.or_(differs, pc.fill_null(pc.equal(after, ""), True))
    found: list[int] = pc.indices_nonzero(differs).to_pylist()
    return found


def require_names(schema: Any, column: str, path: object) -> None:
    """A column of lists or of fractions cannot name conversations."""
    import pyarrow as pa

    if column not in schema.names:
        hint = "In a Parquet file, --map conversation=NAME names a column, not a value inside of one."
        raise OptionError(f"{path} has no column '{column}'", hint=hint)
    kind = schema.field(column).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)):
        raise OptionError(
            f"{path}: the column '{column}' holds {kind}, which names no conversations",
            hint="--map conversation=NAME names a column of texts or whole numbers.",
        )


def whole_conversations(batches: Iterable[Any], column: str, file: str) -> Iterator[Any]:
    """The same rows in batches that end where a conversation ends."""
    finder = BorderFinder(file)
    held: list[Any] = []  # the conversation that may go on in the next batch
    for batch in batches:
        borders = finder.borders(batch.column(column))
        last = borders[-1] if borders else 0
        if borders and (held or last):
            yield _one([*held, batch.slice(0, last)])
            held = []
        held.append(batch.slice(last))
    if held:
        yield _one(held)


def _one(batches: list[Any]) -> Any:
    import pyarrow as pa

    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


# Parquet: the rows of a file batch by batch, and stretches of row groups that can be read separately.


BATCH = 1024  # rows in memory at a time
MOST_BYTES = 32 << 20  # of a batch: fewer rows where they are long
MOST_UNIT_ROWS = 50_000  # of one unit of work: a longer row group is worked on in several stretches

# What a batch raises for a row that is too long, for bytes that are not UTF-8, for dates and zones that Python lacks.
_UNREADABLE = (ValueError, ArithmeticError, LookupError)


class RowRange(msgspec.Struct, frozen=True):
    """Rows of a Parquet file that follow each other: of one row group, and of the next to the end of a conversation."""

    file: str  # what the cases call it
    path: str
    group: int
    skip: int  # rows of the group before the first one
    rows: int
    first_line: int  # number of the first row, in the whole file
    size: int  # bytes, for the progress
    state: str  # hash of what tells the file from a changed one: size, time, footer
    groups: int = 1  # row groups that it reaches into, where a conversation does not end with its row group


def row_ranges(
    path: Path, shown: str, options: LogOptions, keep: Iterable[str], seen: Seen, begins: Begins = lambda *_: None
) -> Iterator[RowRange]:
    """The row groups of a file in order, long ones in stretches. Only the footer is read, and shown to `seen`.

    Where rows are joined, the column that names conversations is read too, and `begins` is called where each begins.
    """
    with _opened(path) as file:
        names = file.schema_arrow.names
        require_columns(names, options, path)
        require_kept(names, keep, path)
        columns = needed_columns(names, options, keep)
        footer = _footer(path)
        seen(footer)
        status = path.stat()
        state = hashlib.sha256(f"{status.st_size} {status.st_mtime_ns} ".encode() + footer).hexdigest()
        for group in range(file.metadata.num_row_groups):
            _batch_size(file, group, columns, options.most_line, path)
        found = _stretches(file, shown, str(path.absolute()), state)
        column = options.columns.get(CONVERSATION)
        yield from found if column is None else _whole(found, file, column, begins)


def _stretches(file: Any, shown: str, path: str, state: str) -> Iterator[RowRange]:
    line = 1
    for group in range(file.metadata.num_row_groups):
        content = file.metadata.row_group(group)
        size = sum(content.column(number).total_compressed_size for number in range(content.num_columns))
        for skip in range(0, content.num_rows, MOST_UNIT_ROWS):
            rows = min(MOST_UNIT_ROWS, content.num_rows - skip)
            yield RowRange(shown, path, group, skip, rows, line, size * rows // content.num_rows, state)
            line += rows


def _whole(stretches: Iterable[RowRange], file: Any, column: str, begins: Begins) -> Iterator[RowRange]:
    """The stretches, each to the end of its last conversation. Of the file, only the column that names them is read."""

    current: RowRange | None = None
    names: Any = None
    for stretch in stretches:
        if current is None:
            require_names(file.schema_arrow, column, stretch.path)
            finder = BorderFinder(stretch.file)
        if stretch.skip == 0:
            names = file.read_row_group(stretch.group, columns=[column]).column(0)
        named = names.slice(stretch.skip, stretch.rows)
        borders = finder.borders(named)
        for border in borders:
            begins(named[border].as_py(), stretch.first_line + border)
        more = borders[0] if borders else stretch.rows
        if current is not None:
            groups = stretch.group - current.group + 1 if more else current.groups
            current = msgspec.structs.replace(current, rows=current.rows + more, groups=groups)
        if borders:
            if current is not None:
                yield current
            current = msgspec.structs.replace(
                stretch, skip=stretch.skip + more, rows=stretch.rows - more, first_line=stretch.first_line + more
            )
    if current is not None:
        yield current


def read_range(part: RowRange, options: LogOptions, keep: Iterable[str] = ()) -> Iterator[Any]:
    """The record batches of a stretch, with the columns that are needed."""
    with _opened(Path(part.path)) as file:
        columns = needed_columns(file.schema_arrow.names, options, keep)
        begin, end, position = part.skip, part.skip + part.rows, 0
        for group in range(part.group, part.group + part.groups):
            rows = _batch_size(file, group, columns, options.most_line, part.path)
            for batch in file.iter_batches(batch_size=rows, row_groups=[group], columns=columns):
                first, last = max(begin - position, 0), min(end - position, batch.num_rows)
                if first < last:
                    yield batch.slice(first, last - first)
                position += batch.num_rows
                if position >= end:
                    return


def parquet_rows(path: Path, most_line: int, choose: Callable[[list[str]], list[str]]) -> Iterator[Row | Problem]:
    """The rows of a whole file, a batch at a time, with the columns that are chosen of those that it has."""
    number = 1
    with _opened(path) as file:
        columns = choose(file.schema_arrow.names)
        for group in range(file.metadata.num_row_groups):
            rows = _batch_size(file, group, columns, most_line, path)
            for batch in file.iter_batches(batch_size=rows, row_groups=[group], columns=columns):
                yield from batch_rows(batch, number, most_line)
                number += batch.num_rows


def _batch_size(file: Any, group: int, columns: list[str], most_line: int, path: Path | str) -> int:
    """How many rows to hold at a time; InputError, before they are read, where rows are too long on average."""
    content = file.metadata.row_group(group)
    chunks = [content.column(number) for number in range(content.num_columns)]
    wanted = (chunk for chunk in chunks if chunk.path_in_schema.split(".")[0] in columns)
    average: int = sum(chunk.total_uncompressed_size for chunk in wanted) // max(1, content.num_rows)
    if average > most_line:
        raise InputError(
            f"the rows of row group {group + 1} have {average:,} bytes on average, more than {most_line:,}",
            place=Place(str(path)),
            hint="Raise --max-line to read them anyway.",
        )
    return max(1, min(BATCH, MOST_BYTES // max(1, average)))


def batch_rows(batch: Any, first: int, most_line: int) -> Iterator[Row | Problem]:
    """The rows of an Arrow record batch; one whose values cannot be read does not spoil the others."""
    try:
        if batch.nbytes > most_line:
            raise ValueError
        rows = _in_microseconds(batch).to_pylist()
    except _UNREADABLE:
        rows = (_fields(batch.slice(position, 1), most_line) for position in range(batch.num_rows))
    for number, fields in enumerate(rows, start=first):
        if isinstance(fields, str):
            yield Problem(number, "unreadable row", fields, f"ROW-{number}")
        else:
            yield Row(number, number, fields)


def _in_microseconds(batch: Any) -> Any:
    """Python's time stamps end at microseconds; finer ones would be an error rather than a rounding."""
    import pyarrow as pa

    fine = [field for field in batch.schema if pa.types.is_timestamp(field.type) and field.type.unit == "ns"]
    if not fine:
        return batch
    fields = [field.with_type(pa.timestamp("us", field.type.tz)) if field in fine else field for field in batch.schema]
    return pa.Table.from_batches([batch]).cast(pa.schema(fields), safe=False)


def column_names(path: Path) -> list[str]:
    """As the footer says; the end of a file is enough for it."""
    with _opened(path) as file:
        names: list[str] = file.schema_arrow.names
        return names


def _fields(row: Any, most_line: int) -> dict[str, Any] | str:
    if row.nbytes > most_line:
        return f"is longer than {most_line:,} bytes and was skipped"
    try:
        fields: dict[str, Any] = _in_microseconds(row).to_pylist()[0]
    except UnicodeDecodeError:
        return "is not UTF-8"
    except _UNREADABLE as error:
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
        with _column_names_in_utf8(path):
            file = pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=CHUNK)
        with file:
            yield file
    except pyarrow.ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"is not a readable Parquet file: {reason}", place=Place(str(path))) from None
    except FileNotFoundError:
        raise InputError("there is no such file", place=Place(str(path)), hint="Check the path.") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", place=Place(str(path))) from None


@contextmanager
def _column_names_in_utf8(path: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError:
        hint = "Write the file again with other names."
        raise InputError("the name of a column is not UTF-8", place=Place(str(path)), hint=hint) from None
