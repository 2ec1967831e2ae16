"""Rates that know their own error: the raw rate of findings, and what it says about the true rate.

A rule that finds three cues in four and gives two false alarms in a hundred does not count cues where one message in
five hundred holds one. The estimate of Rogan and Gladen corrects the raw rate by sensitivity and specificity. Precision
is never used: it depends on how common a thing is where it was measured.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from synthesis.audit.draws import Draws, resampled_rates
from synthesis.checks.registry import Counts
from synthesis.report.drift import TAIL, quantile
from synthesis.stats import Z_95

Conversations = Mapping[tuple[int, int], int]  # (hits, base) of a conversation -> how many there are
Interval = tuple[float, float]
ESTIMATE, NOT_TOLD, UNKNOWN = "estimate", "not told from zero", "unknown"
IF_ALIKE = "if your traffic resembles the measured sources"
DRAWN = 2_000
LEAST_SOURCES = 2
LEAST_IN_SOURCE = 30  # labelled texts of a kind; a source with fewer says nothing about how sources differ
LEAST_POSITIVES, LEAST_NEGATIVES = 100, 300  # in all; as in docs/verdict-quality.md
_EVERYTHING = 0.9995  # reads as 100.0 %


class Rate(msgspec.Struct, frozen=True):
    """So many hits among so many turns, in so many conversations."""

    conversations: int
    base: int
    hits: int
    rate: float | None
    interval: Interval | None


class Corrected(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the raw rate says about the true one."""

    status: str
    text: str
    value: float | None = None
    interval: Interval | None = None
    at_most: float | None = None
    reason: str = ""
    sources: tuple[str, ...] = ()


def raw_rate(conversations: Conversations) -> Rate:
    """The rate with Wilson's interval (95 %), on as many turns as conversations that hang together are worth."""
    number = sum(count for (_, base), count in conversations.items() if base)
    base = sum(count * base for (_, base), count in conversations.items())
    hits = sum(count * hits for (hits, _), count in conversations.items())
    if not base:
        return Rate(0, 0, 0, None, None)
    return Rate(number, base, hits, round(hits / base, 6), _wilson(hits / base, _effective(conversations, base, hits)))


def _effective(conversations: Conversations, base: int, hits: int) -> float:
    """How many independent turns would tell as much: turns of one conversation are alike."""
    rate, number = hits / base, sum(conversations.values())
    if rate in (0, 1) or number < LEAST_SOURCES:
        return base if number >= LEAST_SOURCES else 1
    squares = math.fsum(count * (own - rate * of) ** 2 for (own, of), count in conversations.items())
    variance = squares / base**2 * number / (number - 1)
    return min(float(base), rate * (1 - rate) / variance) if variance else base


def _wilson(rate: float, number: float) -> Interval:
    square = Z_95**2
    centre = (rate + square / (2 * number)) / (1 + square / number)
    margin = Z_95 / (1 + square / number) * math.sqrt(rate * (1 - rate) / number + square / (4 * number**2))
    return round(max(0.0, centre - margin), 6), round(min(1.0, centre + margin), 6)


class Accuracy(NamedTuple):
    """Sensitivity and rate of false alarms, drawn as often as rates are resampled."""

    sensitivity: Sequence[float]
    alarms: Sequence[float]
    sources: tuple[str, ...]

    @property
    def most_alarms(self) -> float:
        return quantile(sorted(self.alarms), 1 - TAIL)


def accuracy_of(sources: Sequence[Counts], seed: int, number: int = DRAWN) -> Accuracy | str:
    """What labelled texts of several sources tell about another one; a text says why they tell nothing."""
    positive = [(each.found, each.positives) for each in sources if each.positives >= LEAST_IN_SOURCE]
    negative = [(each.alarms, each.negatives) for each in sources if each.negatives >= LEAST_IN_SOURCE]
    if not sources:
        return "never measured on labelled texts"
    if min(len(positive), len(negative)) < LEAST_SOURCES:
        return "measured on one source only, so that nothing is known about another one"
    if sum(total for _, total in positive) < LEAST_POSITIVES or sum(total for _, total in negative) < LEAST_NEGATIVES:
        return "measured on too few labelled texts"
    return Accuracy(
        _of_another_source(positive, Draws(seed, "sensitivity"), number),
        _of_another_source(negative, Draws(seed, "alarms"), number),
        tuple(each.source for each in sources),
    )


def _of_another_source(shares: Sequence[tuple[int, int]], draws: Draws, number: int) -> list[float]:
    """A share in a source that was not measured: each one redrawn from its labels, and their spread on top.

    How far sources differ is known from a few of them only, so that it is drawn by Student's t, as for a prediction in
    a meta-analysis (Higgins, Thompson and Spiegelhalter 2009). By a normal, intervals held the truth in 83 % where
    three sources differ.
    """
    spread = math.sqrt(_between(shares) * (1 + 1 / len(shares)))
    freedom = len(shares) - 1
    drawn: list[float] = []
    for _ in range(number):
        centre = math.fsum(
            count * _log_odds(draws.beta(hits + 0.5, count - hits + 0.5)) for hits, count in shares
        ) / sum(count for _, count in shares)
        drawn.append(_share(centre + (spread * draws.student(freedom) if spread else 0.0)))
    return drawn


def _between(shares: Sequence[tuple[int, int]]) -> float:
    """The variance between sources beyond what chance explains (DerSimonian and Laird), in log odds."""
    points = [(_log_odds((hits + 0.5) / (count + 1)), 1 / _variance(hits, count)) for hits, count in shares]
    weights = math.fsum(weight for _, weight in points)
    centre = math.fsum(value * weight for value, weight in points) / weights
    found = math.fsum(weight * (value - centre) ** 2 for value, weight in points)
    scale = weights - math.fsum(weight**2 for _, weight in points) / weights
    return max(0.0, (found - (len(shares) - 1)) / scale)


def _variance(hits: int, count: int) -> float:
    return 1 / (hits + 0.5) + 1 / (count - hits + 0.5)


def _log_odds(share: float) -> float:
    share = min(max(share, 1e-9), 1 - 1e-9)
    return math.log(share / (1 - share))


def _share(log_odds: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, log_odds))))


def corrected(conversations: Conversations, accuracy: Accuracy | str, seed: int, *purpose: str) -> Corrected:
    """The true rate, as far as the raw one tells it."""
    raw = raw_rate(conversations)
    if isinstance(accuracy, str) or raw.rate is None:
        reason = accuracy if isinstance(accuracy, str) else "nothing was assessed"
        return Corrected(UNKNOWN, f"unknown: {reason}", reason=reason)
    if accuracy.most_alarms >= raw.rate:
        high = round(_at_most(raw, accuracy), 6)
        bound = f"at most {percent(high)}" if high < _EVERYTHING else "the sources differ too much for an upper bound"
        return Corrected(NOT_TOLD, f"cannot be told from zero; {bound}", at_most=high, sources=accuracy.sources)
    resampled = resampled_rates(conversations, Draws(seed, *purpose), len(accuracy.sensitivity))
    trios = zip(resampled, accuracy.sensitivity, accuracy.alarms, strict=True)
    possible = sorted(_true_rate(*trio) for trio in trios)
    low, value, high = (round(quantile(possible, share), 6) for share in (TAIL, 0.5, 1 - TAIL))
    text = f"{percent(value)} ({percent(low)} to {percent(high)}), {IF_ALIKE}"
    return Corrected(ESTIMATE, text, value, (low, high), sources=accuracy.sources)


def _at_most(raw: Rate, accuracy: Accuracy) -> float:
    """The most that the true rate can be: as much found as chance allows, much missed, few false alarms.

    Each at its own bound: samples of conversations without a hit have none either, and would vary too little.
    """
    least = [quantile(sorted(drawn), TAIL) for drawn in (accuracy.sensitivity, accuracy.alarms)]
    return _true_rate((raw.interval or (0.0, 1.0))[1], *least)


def _true_rate(raw: float, sensitivity: float, alarms: float) -> float:
    """Rogan and Gladen's estimate; a rule that alarms as often as it finds tells nothing: anything is possible."""
    if sensitivity <= alarms:
        return 1.0
    return min(1.0, max(0.0, (raw - alarms) / (sensitivity - alarms)))


def percent(share: float) -> str:
    """With as many decimals as a small rate needs."""
    points = 100 * share
    return f"{points:.2f} %" if 0 < points < 1 else f"{points:.1f} %"
