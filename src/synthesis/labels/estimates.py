"""Rates over all rows, estimated from a sample that was drawn with known probabilities and labelled in part.

    rows = [SampleLabel(stratum, probability, flagged=True, positive=None), ...]
    weighted_rate(rows)  # the share of positive rows among all rows, not among the drawn ones
    precision(rows)      # of the rows that a check flags, the share that people call positive
    recall(rows)         # of the rows that people call positive, the share that the check flags

Hand in every drawn row, also those without a label (`positive=None`). Rows of one stratum and one flag form a cell; its
size is `drawn / probability`, and rows without a label are taken to be like the labelled ones of their cell. A figure
that the labels do not support is None with a reason, never a guess. Recall is unknown while nobody has found a positive
among the unflagged: `missed_at_most` then bounds the share of all rows that are positive but unflagged.

Intervals are 95 %. Each cell has a Wilson interval, narrowed by the part of the cell that was labelled (nothing is left
if all of it was). The distances from the estimates are added as variances are (MOVER, Zou and Donner 2008), which keeps
its coverage where a cell has no positive at all. No random numbers: the same labels give the same figures.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from synthesis.judge.statistics import Interval, wilson_interval

ALPHA = 0.05
HALVINGS = 100  # of an interval of length 1: far below the last digit of a float


class SampleLabel(msgspec.Struct, frozen=True):
    """A drawn row: where it is from, whether the check flags it, and what people say; None without a label."""

    stratum: str
    probability: float
    flagged: bool = False
    positive: bool | None = None


class Estimate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A figure over all rows with its interval; where `value` is None, `reason` says why it is unknown.

    `labelled` of `drawn` rows have a label. `missed_at_most` is set by `recall` alone.
    """

    value: float | None
    interval: Interval | None = None
    labelled: int = 0
    drawn: int = 0
    reason: str = ""
    missed_at_most: float | None = None


class _Bounds(NamedTuple):
    """An estimate with the ends of its interval, not yet cut to 0..1."""

    value: float
    low: float
    high: float


class _Cell(NamedTuple):
    """Rows of one stratum and one flag: how many there are in all, how many have a label and are positive."""

    stratum: str
    flagged: bool
    size: float
    labelled: int
    positive: int

    def rate(self) -> _Bounds:
        low, high = wilson_interval(self.positive, self.labelled) or [0.0, 1.0]
        value, narrowed = self.positive / self.labelled, math.sqrt(self.unlabelled_share)
        return _Bounds(value, value - (value - low) * narrowed, value + (high - value) * narrowed)

    @property
    def unlabelled_share(self) -> float:
        return max(0.0, 1 - self.labelled / self.size)


def weighted_rate(rows: Iterable[SampleLabel]) -> Estimate:
    """The share of all rows that are positive."""
    drawn = list(rows)
    return _rate(drawn, _cells(drawn), "no row was drawn")


def precision(rows: Iterable[SampleLabel]) -> Estimate:
    """Of the rows that are flagged, the share that is positive."""
    drawn = [row for row in rows if row.flagged]
    return _rate(drawn, _cells(drawn), "the check flags no drawn row")


def recall(rows: Iterable[SampleLabel]) -> Estimate:
    """Of the rows that are positive, the share that is flagged; unknown without a positive among the unflagged."""
    drawn = list(rows)
    cells = _cells(drawn)
    if reason := _gap(cells, "no row was drawn"):
        return _unknown(drawn, reason)
    if not any(cell.positive for cell in cells if not cell.flagged):
        found = _unknown(drawn, "nobody has found a positive among the unflagged")
        return msgspec.structs.replace(found, missed_at_most=missed_at_most(drawn))
    total = sum(cell.size for cell in cells)
    found_share, missed_share = (
        _weighted([cell for cell in cells if cell.flagged is flagged], total) for flagged in (True, False)
    )
    value = found_share.value / (found_share.value + missed_share.value)
    return Estimate(value, _share_interval(found_share, missed_share), _labelled(drawn), len(drawn))


def missed_at_most(rows: Iterable[SampleLabel], alpha: float = ALPHA) -> float | None:
    """The exact upper bound of the share of all rows that are positive and unflagged, when the sample shows none.

    Rates that would leave the sample without a positive with a probability of at least `alpha` are possible; the bound
    is the highest share among them. With one cell of n labels it is 1 - alpha^(1/n) of the cell. None if the sample
    shows a positive among the unflagged, or if a cell has no label.
    """
    cells = _cells(rows)
    unflagged = [cell for cell in cells if not cell.flagged]
    if _gap(cells, "no row was drawn") or any(cell.positive for cell in unflagged):
        return None
    total = sum(cell.size for cell in cells)
    hidden = [(cell.size / total, cell.labelled) for cell in unflagged if cell.unlabelled_share]
    if not hidden:
        return 0.0
    # The highest sum of weight * rate under a product of (1 - rate)^labelled >= alpha: by Lagrange, 1 - rate is
    # proportional to labelled / weight, and at most 1.
    most = max(weight / labelled for weight, labelled in hidden)

    def absent(scale: float) -> list[float]:
        return [min(1.0, scale * most * labelled / weight) for weight, labelled in hidden]

    def is_too_likely(scale: float) -> bool:
        logs = zip(hidden, absent(scale), strict=True)
        return scale > 0 and sum(labelled * math.log(share) for (_, labelled), share in logs) > math.log(alpha)

    pairs = zip(hidden, absent(_turning_point(is_too_likely)), strict=True)
    return sum(weight * (1 - share) for (weight, _), share in pairs)


def _cells(rows: Iterable[SampleLabel]) -> list[_Cell]:
    found: dict[tuple[str, bool], list[SampleLabel]] = {}
    for row in rows:
        if not 0 < row.probability <= 1:
            raise ValueError(f"a row of the stratum '{row.stratum}' has the probability {row.probability}")
        found.setdefault((row.stratum, row.flagged), []).append(row)
    return [
        _Cell(
            stratum,
            flagged,
            math.fsum(1 / row.probability for row in drawn),
            _labelled(drawn),
            sum(bool(row.positive) for row in drawn),
        )
        for (stratum, flagged), drawn in sorted(found.items())
    ]


def _gap(cells: Sequence[_Cell], if_empty: str) -> str:
    """Why the cells do not allow an estimate; empty if they do."""
    if not cells:
        return if_empty
    bare = next((cell for cell in cells if not cell.labelled), None)
    if bare is None:
        return ""
    kind = "flagged" if bare.flagged else "unflagged"
    return f"no {kind} row of the stratum '{bare.stratum}' has a label yet"


def _rate(drawn: Sequence[SampleLabel], cells: Sequence[_Cell], if_empty: str) -> Estimate:
    if reason := _gap(cells, if_empty):
        return _unknown(drawn, reason)
    rate = _weighted(cells, sum(cell.size for cell in cells))
    return Estimate(rate.value, [max(0.0, rate.low), min(1.0, rate.high)], _labelled(drawn), len(drawn))


def _weighted(cells: Sequence[_Cell], total: float) -> _Bounds:
    """The positive rows of these cells as a share of `total` rows."""
    rates = [(cell.size / total, cell.rate()) for cell in cells]
    value = math.fsum(weight * rate.value for weight, rate in rates)
    down = math.hypot(*(weight * (rate.value - rate.low) for weight, rate in rates))
    up = math.hypot(*(weight * (rate.high - rate.value) for weight, rate in rates))
    return _Bounds(value, value - down, value + up)


def _share_interval(part: _Bounds, rest: _Bounds) -> Interval:
    """The interval of part / (part + rest), two independent estimates.

    A share s is inside if the interval of (1 - s) * part - s * rest holds 0; no division, so that none can fail where
    an estimate is close to 0.
    """

    def is_above_low(share: float) -> bool:
        gap = math.hypot((1 - share) * (part.value - part.low), share * (rest.high - rest.value))
        return (1 - share) * part.value - share * rest.value <= gap

    def is_above_high(share: float) -> bool:
        gap = math.hypot((1 - share) * (part.high - part.value), share * (rest.value - rest.low))
        return share * rest.value - (1 - share) * part.value > gap

    return [_turning_point(is_above_low), _turning_point(is_above_high)]


def _turning_point(holds: Callable[[float], bool]) -> float:
    """Where in 0..1 a condition begins to hold and holds from there on; 1 if it never does."""
    low, high = 0.0, 1.0
    if holds(low):
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _unknown(drawn: Sequence[SampleLabel], reason: str) -> Estimate:
    return Estimate(None, None, _labelled(drawn), len(drawn), reason)


def _labelled(rows: Iterable[SampleLabel]) -> int:
    return sum(row.positive is not None for row in rows)
