"""Drift: whether replies get worse over the course of conversations, across all conversations of a run.

What is kept is how many conversations have which numbers, not the conversations: a million of them, of up to forty
turns, are at most some thousand counts for each check. Counts of parts of a run add up to those of the whole.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from synthesis.model.result import FAIL, PASS, Timeline
from synthesis.stats import ALPHA, mean_interval, mean_of_counts, wilson_interval

LEAST_CONVERSATIONS = 20  # below that nothing is said about drift
MOST_TURNS = 40  # of the curve; later turns of long conversations count with the last
WORSE, BETTER, NOT_SHOWN, TOO_FEW = "worse", "better", "no drift shown", "too few to tell"
Interval = tuple[float, float]
Differences = Mapping[str, float]  # check -> second half less first half, of one conversation


class CheckDrift(msgspec.Struct, frozen=True):
    """One check over all conversations. Rates and their difference are means over the usable conversations."""

    usable: int
    too_short: int  # fewer than four assessed turns in each half
    worse: int = 0
    better: int = 0
    same: int = 0
    first_half: float | None = None
    second_half: float | None = None
    difference: float | None = None
    interval: Interval | None = None  # 95 %
    verdict: str = TOO_FEW
    curve: tuple[tuple[int, int], ...] = ()  # failed and assessed replies, turn by turn


class DriftChange(msgspec.Struct, frozen=True):
    """One check in two runs, over the conversations that are long enough in both; above 0: it drifts more now."""

    check: str
    conversations: int
    before: float  # mean difference between the halves
    after: float
    change: float
    interval: Interval
    verdict: str


class DriftCounts:
    """Counts conversations; memory depends on how long they are, not on how many there are."""

    def __init__(self) -> None:
        self._conversations = 0
        self._short: Counter[str] = Counter()
        self._halves: Counter[tuple[str, int, int, int]] = Counter()  # check, turns in a half, failures in each
        self._turns: Counter[tuple[str, int, bool]] = Counter()  # check, turn, whether it failed

    def add(self, timelines: Mapping[str, Timeline]) -> None:
        """One case; without timelines it is no conversation of several turns."""
        self._conversations += bool(timelines)
        for check, timeline in timelines.items():
            if timeline.can_drift and timeline.half:
                self._halves[check, timeline.half, *timeline.failed_in_halves] += 1
            elif timeline.can_drift:
                self._short[check] += 1
            for turn, outcome in enumerate(timeline.outcomes if timeline.can_drift else ()):
                if outcome in {PASS, FAIL}:
                    self._turns[check, min(turn, MOST_TURNS - 1), outcome == FAIL] += 1

    def merge(self, other: "DriftCounts") -> None:
        self._conversations += other._conversations
        self._short.update(other._short)
        self._halves.update(other._halves)
        self._turns.update(other._turns)

    def counts(self) -> dict[str, Any]:
        """Everything that was counted, in a form that can be written; `add_counts` takes it back."""
        return {
            "conversations": self._conversations,
            "short": dict(sorted(self._short.items())),
            "halves": [[*key, count] for key, count in sorted(self._halves.items())],
            "turns": [[*key, count] for key, count in sorted(self._turns.items())],
        }

    def add_counts(self, counts: dict[str, Any]) -> None:
        self._conversations += counts["conversations"]
        self._short.update(counts["short"])
        self._halves.update({(check, *numbers): count for check, *numbers, count in counts["halves"]})
        self._turns.update({(check, turn, failed): count for check, turn, failed, count in counts["turns"]})

    def to_dict(self) -> dict[str, Any] | None:
        """The report's `summary.drift`; None for a run without any conversation of several turns."""
        if not self._conversations:
            return None
        names = sorted({*self._short, *(key[0] for key in self._halves)})
        by_check = {name: msgspec.to_builtins(self.check(name)) for name in names}
        return {"conversations": self._conversations, "by_check": by_check}

    def check(self, name: str) -> CheckDrift:
        halves = {key[1:]: count for key, count in sorted(self._halves.items()) if key[0] == name}
        differences: Counter[float] = Counter()
        for (half, first, second), count in halves.items():
            differences[(second - first) / half] += count
        usable = differences.total()
        if not usable:
            return CheckDrift(0, self._short[name], curve=self._curve(name))
        interval = _interval(differences)
        return CheckDrift(
            usable=usable,
            too_short=self._short[name],
            worse=sum(count for value, count in differences.items() if value > 0),
            better=sum(count for value, count in differences.items() if value < 0),
            same=differences[0.0],
            first_half=_mean((first / half, count) for (half, first, _), count in halves.items()),
            second_half=_mean((second / half, count) for (half, _, second), count in halves.items()),
            difference=_mean(differences.items()),
            interval=interval,
            verdict=verdict_on(usable, interval),
            curve=self._curve(name),
        )

    def _curve(self, name: str) -> tuple[tuple[int, int], ...]:
        last = max((turn for check, turn, _ in self._turns if check == name), default=-1)
        failed = [self._turns[name, turn, True] for turn in range(last + 1)]
        return tuple((bad, bad + self._turns[name, turn, False]) for turn, bad in enumerate(failed))


def drift_of(summary: Mapping[str, Any], check: str) -> dict[str, Any]:
    """What a report's summary says about the drift of one check; nothing is usable where it says nothing."""
    found: dict[str, Any] | None = summary.get("drift", {}).get("by_check", {}).get(check)
    return found or msgspec.to_builtins(CheckDrift(0, 0))


def drift_changes(pairs: Iterable[tuple[Differences, Differences]]) -> list[DriftChange]:
    """What became of the drift of each check, from the differences of conversations before and after."""
    found: dict[str, list[tuple[float, float]]] = {}
    for before, after in pairs:
        for name in before.keys() & after.keys():
            found.setdefault(name, []).append((before[name], after[name]))
    return [_change(name, both) for name, both in sorted(found.items())]


def _change(name: str, both: Sequence[tuple[float, float]]) -> DriftChange:
    changes = Counter(after - before for before, after in both)
    interval = _interval(changes)
    return DriftChange(
        check=name,
        conversations=len(both),
        before=_mean((before, 1) for before, _ in both),
        after=_mean((after, 1) for _, after in both),
        change=_mean(changes.items()),
        interval=interval,
        verdict=verdict_on(len(both), interval),
    )


def verdict_on(conversations: int, interval: Interval) -> str:
    """What may be said about a mean difference; above 0 means more failures."""
    if conversations < LEAST_CONVERSATIONS:
        return TOO_FEW
    low, high = interval
    if low > 0:
        return WORSE
    return BETTER if high < 0 else NOT_SHOWN


def _mean(values: Iterable[tuple[float, int]]) -> float:
    counts: Counter[float] = Counter()
    for value, count in values:
        counts[value] += count
    return round(mean_of_counts(counts) or 0.0, 6)


def _interval(differences: Mapping[float, int]) -> Interval:
    """The bootstrap interval. Where all differ alike it has no width, though others may exist that nobody has seen:
    with n conversations, so many that n draws would miss them once in forty times, and they may lie at either end."""
    low, high = mean_interval(differences)
    if low == high:
        unseen = 1 - (ALPHA / 2) ** (1 / sum(differences.values()))
        low, high = low - unseen * (1 + low), high + unseen * (1 - high)
    return round(low, 6), round(high, 6)


class TurnRate(NamedTuple):
    """How often replies of some turns fail, with its interval."""

    turns: str
    failed: int
    assessed: int
    rate: float
    interval: Interval


LEAST_IN_POINT = 5  # assessed replies; fewer say nothing
MOST_POINTS = 12


def curve_points(curve: Sequence[Sequence[int]]) -> list[TurnRate]:
    """The curve as it is drawn: neighbouring turns together where there are many, turns with few replies left out."""
    width = -(-len(curve) // MOST_POINTS)
    return [rate for start in range(0, len(curve), width or 1) for rate in _rates(curve, start, width)]


def _rates(curve: Sequence[Sequence[int]], start: int, width: int) -> Iterator[TurnRate]:
    part = curve[start : start + width]
    failed, assessed = sum(one[0] for one in part), sum(one[1] for one in part)
    interval = wilson_interval(failed, assessed)
    if assessed >= LEAST_IN_POINT and interval is not None:
        more = "+" if start + len(part) == MOST_TURNS else ""
        name = f"{start + 1}" if len(part) == 1 else f"{start + 1}–{start + len(part)}"
        yield TurnRate(f"{name}{more}", failed, assessed, failed / assessed, (interval[0], interval[1]))
