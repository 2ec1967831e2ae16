"""Parquet: rows batch by batch, and stretches of row groups that cut no conversation in two."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import InputError, MissingExtraError, OptionError, Place, Problem, did_you_mean
from synthesis.lazy import regex
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
# A file of kilobytes can hold gigabytes: a dictionary has each value once, a list repeats in a few bytes, and zeros are
# compressed to nothing. What the footer says is checked before anything is read, what is read before it is unfolded.
MOST_EXPANDED = 256 << 20  # bytes of a stretch, if it is also more than so many times what is stored
MOST_TIMES = 20
MOST_DICTIONARY = (
    2 << 20
)  # bytes; most programs end theirs at one megabyte. How often a longer one repeats is counted first
MOST_FOLDED = 64 << 20  # bytes of a column whose lists are read with their dictionary, to see what they become
MOST_COMPRESSED = 1000  # bytes that one compressed byte may become, in columns of more than MOST_BYTES
MOST_REPEATED = 20_000_000  # values of the lists in one row group

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
            names = _read_folded(file, stretch.group, column, stretch.path)
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


def _read_folded(file: Any, group: int, column: str, path: Path | str) -> Any:
    """A column of a row group with each value once; InputError where they would be too much, written out."""
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path, metadata=file.metadata, read_dictionary=[column]) as folded:
        values = folded.read_row_group(group, columns=[column]).column(0)
    _Expansion(file, group, [column], str(path)).add(sum(map(expanded_size, values.chunks)))
    return values


def read_range(part: RowRange, options: LogOptions, keep: Iterable[str] = ()) -> Iterator[Any]:
    """The record batches of a stretch, with the columns that are needed."""
    with _opened(Path(part.path)) as file:
        columns = needed_columns(file.schema_arrow.names, options, keep)
        begin, end, position = part.skip, part.skip + part.rows, 0
        for group in range(part.group, part.group + part.groups):
            rows = _batch_size(file, group, columns, options.most_line, part.path)
            expansion = _Expansion(file, group, columns, part.path)
            for batch in file.iter_batches(batch_size=rows, row_groups=[group], columns=columns):
                first, last = max(begin - position, 0), min(end - position, batch.num_rows)
                for piece in _pieces(batch.slice(first, last - first)) if first < last else ():
                    size = expanded_size(piece)
                    expansion.add(size)
                    # A row that is longer is reported, so it must not become as long as that.
                    yield _unfolded(piece, file) if size <= MOST_BYTES else piece
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
            expansion = _Expansion(file, group, columns, str(path))
            for batch in file.iter_batches(batch_size=rows, row_groups=[group], columns=columns):
                for piece in _pieces(batch):
                    expansion.add(expanded_size(piece))
                    yield from batch_rows(piece, number, most_line)
                    number += piece.num_rows


def _batch_size(file: Any, group: int, columns: list[str], most_line: int, path: Path | str) -> int:
    """How many rows to hold at a time; InputError, before they are read, where rows are too long on average."""
    content = file.metadata.row_group(group)
    wanted = _chunks(content, columns)
    for chunk in wanted:
        _require_modest(chunk, content.num_rows, group, path)
    average: int = sum(chunk.total_uncompressed_size for chunk in wanted) // max(1, content.num_rows)
    if average > most_line:
        raise InputError(
            f"the rows of row group {group + 1} have {average:,} bytes on average, more than {most_line:,}",
            place=Place(str(path)),
            hint="Raise --max-line to read them anyway.",
        )
    values = [(_longest_value(chunk, path), chunk) for chunk in wanted if chunk.num_values == content.num_rows]
    longest = sum(length for length, _ in values)
    for length, chunk in values:
        if length > MOST_DICTIONARY and length * content.num_rows > MOST_EXPANDED:
            _read_folded(file, group, chunk.path_in_schema.split(".")[0], path)
    return max(1, min(BATCH, MOST_BYTES // max(1, average), 2 * MOST_BYTES // max(1, longest)))


def _longest_value(chunk: Any, path: Path | str) -> int:
    """The bytes that one value of a dictionary can have: no more than the dictionary; 0 without one.

    The footer does not say how long it is, but the header in front of it does: after its kind, both of them as Thrift
    writes numbers.
    """
    if not chunk.has_dictionary_page:
        return 0
    with open(path, "rb") as file:
        file.seek(chunk.dictionary_page_offset)
        header = _HEADER.match(file.read(32))
    whole: int = chunk.total_uncompressed_size
    return min(whole, _zigzag(header[1])) if header else whole


_HEADER = regex(rb"\x15[\x80-\xff]*[\x00-\x7f]\x15([\x80-\xff]*[\x00-\x7f])", re.DOTALL)


def _zigzag(digits: bytes) -> int:
    return sum((digit & 0x7F) << 7 * place for place, digit in enumerate(digits)) >> 1


def _folded(file: Any, path: Path) -> list[str]:
    """The columns of lists whose dictionaries could fill the memory, if they were unfolded while they are read."""
    found = set()
    for group in range(file.metadata.num_row_groups):
        content = file.metadata.row_group(group)
        for number in range(content.num_columns):
            chunk = content.column(number)
            if (
                chunk.num_values != content.num_rows
                and chunk.physical_type == "BYTE_ARRAY"
                and chunk.total_uncompressed_size < MOST_FOLDED
                and chunk.num_values * _longest_value(chunk, path) > MOST_EXPANDED
            ):
                found.add(chunk.path_in_schema)
    return sorted(found)


def _chunks(group: Any, columns: list[str]) -> list[Any]:
    """What a row group holds of some columns; a nested one has several."""
    chunks = [group.column(number) for number in range(group.num_columns)]
    return [chunk for chunk in chunks if chunk.path_in_schema.split(".")[0] in columns]


def _require_modest(chunk: Any, rows: int, group: int, path: Path | str) -> None:
    """InputError for a column that would fill the memory while it is read, by what the footer says of it."""
    size, stored, values = chunk.total_uncompressed_size, chunk.total_compressed_size, chunk.num_values
    if size > MOST_BYTES and size > MOST_COMPRESSED * stored:
        found = f"{size:,} bytes, compressed to {stored:,}"
    elif values > max(rows, MOST_REPEATED):
        found = f"{values:,} values in {rows:,} rows"
    else:
        return
    raise _too_large(f"the column '{chunk.path_in_schema}' of row group {group + 1} holds {found}", path)


def _too_large(message: str, path: Path | str) -> InputError:
    hint = "Is the file what it should be? Smaller row groups, or JSON Lines, are read whatever they hold."
    return InputError(message, place=Place(str(path)), hint=hint)


class _Expansion:
    """How much the rows of a stretch become in memory: far more than is stored, where a dictionary repeats values."""

    def __init__(self, file: Any, group: int, columns: list[str], path: str) -> None:
        chunks = _chunks(file.metadata.row_group(group), columns)
        stored = sum(chunk.total_uncompressed_size for chunk in chunks)
        self._most = max(MOST_EXPANDED, MOST_TIMES * stored)
        self._group, self._path = group, path
        self._size = 0

    def add(self, size: int) -> None:
        """More bytes; InputError where they are too many."""
        self._size += size
        if self._size > self._most:
            found = f"the rows of row group {self._group + 1} expand to more than {self._most:,} bytes"
            raise _too_large(found, self._path)


def _pieces(batch: Any) -> Iterator[Any]:
    """A batch in pieces that fit into memory once their dictionaries are unfolded; a long row by itself."""
    if batch.num_rows > 1 and expanded_size(batch) > MOST_BYTES:
        half = batch.num_rows // 2
        yield from _pieces(batch.slice(0, half))
        yield from _pieces(batch.slice(half))
    else:
        yield batch


def expanded_size(values: Any) -> int:
    """The bytes that an array or a batch takes with each value of a dictionary written out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(values, pa.RecordBatch):
        return sum(map(expanded_size, values.columns))
    if pa.types.is_dictionary(values.type):
        texts = pa.types.is_string(values.type.value_type) or pa.types.is_large_string(values.type.value_type)
        lengths = pc.binary_length(values.dictionary).take(values.indices) if texts else None
        return int(values.indices.nbytes + (0 if lengths is None else pc.sum(lengths).as_py() or 0))
    if pa.types.is_struct(values.type):
        return sum(map(expanded_size, values.flatten()))
    if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        return 8 * len(values) + expanded_size(values.flatten())
    return int(values.nbytes)


def _unfolded(batch: Any, file: Any) -> Any:
    """The batch with its columns as the file's own schema has them."""
    import pyarrow as pa

    fields = [file.unfolded_schema.field(name) for name in batch.schema.names]
    columns = [column.cast(field.type) for column, field in zip(batch.columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def batch_rows(batch: Any, first: int, most_line: int) -> Iterator[Row | Problem]:
    """The rows of an Arrow record batch; one whose values cannot be read does not spoil the others."""
    try:
        if expanded_size(batch) > most_line:
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
    if expanded_size(row) > most_line:
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
        open_file = partial(pyarrow.parquet.ParquetFile, path, pre_buffer=False, buffer_size=CHUNK)
        with _column_names_in_utf8(path), open_file() as plain:
            folded = _folded(plain, path)
            schema = plain.schema_arrow
        with open_file(metadata=plain.metadata, read_dictionary=folded) as file:
            file.unfolded_schema = schema
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
