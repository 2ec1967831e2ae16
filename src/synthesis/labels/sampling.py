"""A seeded sample from strata, drawn in one pass, with the probability that each row had to be drawn.

    sample = StratifiedSample[Case](200, seed=7)
    for row in rows:  # any number: at most 200 rows of each stratum are kept
        sample.add(row.key, row.stratum, row.case)
    for row in sample.rows():
        row.key, row.stratum, row.probability, row.item

Which rows are drawn depends on the seed and on their keys, not on their order or on how they are divided: parts that
were read by several workers are put together with `merge`, and the sample is the one of a single pass. Keys have to be
unique ("file 3, row 120"), or one key would stand for several rows.

Every row of a stratum has the same probability, `drawn / size` (simple random sampling without replacement), so a rate
over all rows is estimated by `estimates.weighted_rate` from the rows that people label.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappush, heappushpop
from typing import Annotated, Generic, NamedTuple, TypeVar

import msgspec

from synthesis.errors import OptionError

Item = TypeVar("Item")
DEFAULT_SEED = 0
FIELD = "sampling"  # of a report's header, and of a run's conditions


class SampledRow(NamedTuple, Generic[Item]):
    """A row that was drawn: its stratum, and the probability with which a row of that stratum is drawn."""

    key: str
    stratum: str
    probability: float
    item: Item


class _Lot(NamedTuple, Generic[Item]):
    """A row in the heap of its stratum. The lot is negated: a heap gives up its smallest, and we the largest lot."""

    negated: int
    key: str
    item: Item

    def __lt__(self, other: tuple[object, ...]) -> bool:
        return self[:2] < other[:2]  # an item need not be comparable


class StratifiedSample(Generic[Item]):
    """Draws `size` rows from strata; memory holds at most `size` rows of each stratum."""

    def __init__(self, size: int, *, seed: int = DEFAULT_SEED) -> None:
        if size < 1:
            raise OptionError(f"a sample of {size} rows is empty", hint="Ask for at least one row.")
        self.size = size
        self.seed = seed
        self._counts: dict[str, int] = defaultdict(int)
        self._kept: dict[str, list[_Lot[Item]]] = defaultdict(list)

    def add(self, key: str, stratum: str, item: Item) -> None:
        """Count a row, and keep it while its lot is among the smallest of its stratum."""
        self._counts[stratum] += 1
        self._keep(stratum, _Lot(-_lot(self.seed, key), key, item))

    def merge(self, other: "StratifiedSample[Item]") -> None:
        """Take in what another worker has seen; size and seed have to be the same."""
        if (self.size, self.seed) != (other.size, other.seed):
            raise ValueError("samples of different size or seed cannot be merged")
        for stratum, count in other._counts.items():
            self._counts[stratum] += count
            for lot in other._kept[stratum]:
                self._keep(stratum, lot)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows each stratum has, drawn or not, in order of name."""
        return dict(sorted(self._counts.items()))

    def rows(self, shares: Mapping[str, float] | None = None) -> list[SampledRow[Item]]:
        """The drawn rows by stratum, then by lot. `shares` divides them among the strata, by default equally."""
        return list(self._rows(allocate(self.size, self.counts, shares)))

    def _rows(self, sizes: Mapping[str, int]) -> Iterator[SampledRow[Item]]:
        for stratum, drawn in sizes.items():
            probability = drawn / self._counts[stratum]
            for lot in sorted(self._kept[stratum], reverse=True)[:drawn]:
                yield SampledRow(lot.key, stratum, probability, lot.item)

    def _keep(self, stratum: str, lot: _Lot[Item]) -> None:
        kept = self._kept[stratum]
        if len(kept) < self.size:
            heappush(kept, lot)
        elif lot.negated > kept[0].negated:
            heappushpop(kept, lot)


def allocate(size: int, counts: Mapping[str, int], shares: Mapping[str, float] | None = None) -> dict[str, int]:
    """How many rows to draw from each stratum, in order of name.

    Equal shares by default: the rare strata (flagged, near) get as many labels as the large rest. A stratum that has
    fewer rows than its share is taken whole, and what it leaves goes to the others. A stratum with rows gets at least
    one where `size` allows it: without a label in it no rate over all rows could be estimated.
    """
    names = sorted(name for name, count in counts.items() if count)
    weights = {name: (shares or {}).get(name, 0.0) if shares else 1.0 for name in names}
    drawn = dict.fromkeys(names, 0)
    for name in names[:size]:
        drawn[name] = 1
    for _ in range(min(size, sum(counts.values())) - sum(drawn.values())):
        open_ones = [name for name in names if drawn[name] < counts[name]]
        drawn[_most_wanting(open_ones, drawn, weights)] += 1
    return drawn


def _most_wanting(names: Sequence[str], drawn: Mapping[str, int], weights: Mapping[str, float]) -> str:
    """The stratum that is furthest behind its share; one without a share only when no other has rows left."""
    return min(names, key=lambda name: (drawn[name] / weights[name] if weights[name] > 0 else float("inf"), name))


def _lot(seed: int, key: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}:{key}".encode()).digest()[:16])


class RowSampling(msgspec.Struct, frozen=True):
    """How a case of a saved run came into it."""

    stratum: str
    probability: Annotated[float, msgspec.Meta(gt=0, le=1)]


class RunSampling(msgspec.Struct, frozen=True):
    """How the cases of a run were drawn, in the order of its cases: the field `sampling` of its conditions.

    A report whose header has this field is saved with it (`header["sampling"] = msgspec.to_builtins(...)`), also by an
    export and back. The page of labels then estimates recall, and asks in an order that favours no verdict.
    """

    seed: int
    rows: tuple[RowSampling, ...]

    @classmethod
    def of_rows(cls, rows: Iterable[SampledRow[Item]], seed: int) -> "RunSampling":
        return cls(seed, tuple(RowSampling(row.stratum, row.probability) for row in rows))

    @classmethod
    def of_conditions(cls, conditions: Mapping[str, object]) -> "RunSampling | None":
        """What a run's conditions say; None for a run that was not drawn, or whose field cannot be read."""
        try:
            return msgspec.convert(conditions[FIELD], cls) if FIELD in conditions else None
        except msgspec.ValidationError:
            return None

    def order(self) -> list[int]:
        """The positions with the strata in turn, each in the order of its draw: any beginning of it is a sample."""
        ranks: dict[str, int] = defaultdict(int)
        keyed = []
        for position, row in enumerate(self.rows):
            keyed.append((ranks[row.stratum], row.stratum, position))
            ranks[row.stratum] += 1
        return [position for _, _, position in sorted(keyed)]
