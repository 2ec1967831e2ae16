"""Where conversations begin in a column of a Parquet file, so that no unit of work and no batch cuts one in two."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from synthesis.cases.logs.joining import MOST_ROWS, too_many_rows
from synthesis.errors import OptionError


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
    """A column of lists or numbers with a point names no conversations."""
    import pyarrow as pa

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
