"""How sure a figure is, and how far judges agree. Pure functions; the same input gives the same output.

Where a figure is not defined (nothing to count, no variation) the answer is None, never NaN.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

Interval = list[float]  # low, high; a list, as JSON has it
Value = TypeVar("Value", int, float, tuple[int, int], tuple[int, ...])

RESAMPLES = 2000
SEED = 20240229  # any fixed number: the interval must not change from run to run


def wilson_interval(successes: int, total: int) -> Interval | None:
    """The Wilson score interval (95 %) of a rate; honest for small counts and rates near 0 or 1."""
    if total == 0:
        return None
    rate, square = successes / total, Z_95 * Z_95
    centre = rate + square / (2 * total)
    margin = Z_95 * math.sqrt(rate * (1 - rate) / total + square / (4 * total * total))
    scale = 1 + square / total
    low = 0.0 if successes == 0 else (centre - margin) / scale
    high = 1.0 if successes == total else (centre + margin) / scale
    return [low, high]


def rate(count: int, total: int, description: str = "") -> dict[str, Any]:
    """A share with its base and its interval, as the files of a run show it."""
    return {
        "value": share(count, total),
        "numerator": count,
        "denominator": total,
        **({"description": description} if description else {}),
        "interval": wilson_interval(count, total),
    }


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def mean_of_counts(counts: Mapping[int, int] | Mapping[float, int]) -> float | None:
    """The mean of values that are given as value -> how often."""
    total = sum(counts.values())
    return sum(value * count for value, count in counts.items()) / total if total else None


def bootstrap_interval(
    sample: Iterable[Value],
    statistic: Callable[[Mapping[Value, int]], float | None],
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """The percentile bootstrap interval (95 %) of a statistic of a sample, for values of few kinds.

    `statistic` gets the counts of a resample; where it is undefined (None) the resample is left out. None for
    fewer than two values, and when most resamples are undefined.
    """
    counts = sorted(Counter(sample).items())
    if sum(count for _, count in counts) < 2:
        return None
    draw = random.Random(seed).getrandbits
    found = (statistic(_resample(counts, draw)) for _ in range(resamples))
    values = sorted(value for value in found if value is not None)
    if 2 * len(values) < resamples:
        return None
    return [_percentile(values, 0.025), _percentile(values, 0.975)]


def _resample(counts: Sequence[tuple[Value, int]], draw: Callable[[int], int]) -> dict[Value, int]:
    """As many draws with replacement as there are values, done per kind: quick however large the sample."""
    drawn: dict[Value, int] = {}
    trials = left = sum(count for _, count in counts)
    for value, count in counts:
        drawn[value] = trials if count == left else _binomial(trials, count, left, draw)
        trials -= drawn[value]
        left -= count
    return drawn


def _binomial(trials: int, part: int, whole: int, draw: Callable[[int], int]) -> int:
    """How many of `trials` uniform numbers lie below part/whole, compared binary digit by binary digit.

    Whole numbers only: exact, and the same on every machine. A digit decides half of the open trials.
    """
    below = 0
    while trials and part:
        ones = draw(trials).bit_count()
        part *= 2
        if part >= whole:
            part -= whole
            below += trials - ones
            trials = ones
        else:
            trials -= ones
    return below


def _percentile(ordered: Sequence[float], share: float) -> float:
    """Linear between the two nearest ranks."""
    rank = share * (len(ordered) - 1)
    low = math.floor(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (rank - low)


def krippendorff_alpha_ordinal(units: Iterable[Sequence[int]]) -> float | None:
    """Krippendorff's alpha for ordered scores; a unit holds the scores it got, missing ones left out.

    None when no unit has two scores, or when all scores are the same.
    """
    return alpha_of_counts(Counter(tuple(sorted(unit)) for unit in units))


def alpha_of_counts(units: Mapping[tuple[int, ...], int]) -> float | None:
    """The same alpha, from the sorted scores of a unit -> how often: a bootstrap draws units of few kinds."""
    totals, differing = Counter[int](), defaultdict[tuple[int, int], float](float)
    for unit, count in sorted(units.items()):  # in this order, so that shuffled samples give the same last digit
        if len(unit) < 2:
            continue
        for score in unit:
            totals[score] += count
        for pair, weight in _differing_pairs(unit):
            differing[pair] += count * weight
    given = sorted(score for score, count in totals.items() if count)
    pairs = [(low, high) for low in given for high in given if low < high]
    distances = {pair: _ordinal_distance(*pair, totals) for pair in pairs}
    expected = sum(totals[low] * totals[high] * distance for (low, high), distance in distances.items())
    if not expected:
        return None
    observed = sum(differing[pair] * distance for pair, distance in distances.items())
    return 1 - (totals.total() - 1) * observed / expected


@lru_cache(maxsize=4096)  # a bootstrap asks for the same few units thousands of times
def _differing_pairs(unit: tuple[int, ...]) -> tuple[tuple[tuple[int, int], float], ...]:
    """How often two different scores meet in a unit, out of the other scores that each one could meet."""
    counts = Counter(unit)
    return tuple(
        ((low, high), counts[low] * counts[high] / (len(unit) - 1))
        for low in sorted(counts)
        for high in sorted(counts)
        if low < high
    )


def _ordinal_distance(low: int, high: int, totals: Mapping[int, int]) -> float:
    """Two scores are as far apart as there are scores between them in the data."""
    between = sum(count for score, count in totals.items() if low <= score <= high)
    return (between - (totals[low] + totals[high]) / 2) ** 2


def quadratic_weighted_kappa(pairs: Mapping[tuple[int, int], int]) -> float | None:
    """Cohen's kappa with quadratic weights from counts of (first rater's score, second rater's score).

    None when chance alone could not disagree: nothing rated, or both raters gave one and the same score.
    """
    total = sum(pairs.values())
    first, second = Counter[int](), Counter[int]()
    for (one, other), count in pairs.items():
        first[one] += count
        second[other] += count
    chance = sum(n * m * (one - other) ** 2 for one, n in first.items() for other, m in second.items())
    seen = sum(count * (one - other) ** 2 for (one, other), count in pairs.items())
    return 1 - total * seen / chance if chance else None


def pass_hat_k(passes: Sequence[int], trials: int, k: int) -> float | None:
    """The chance that `k` of a sample's trials, picked at random, all pass; mean over the samples.

    `passes` holds for each sample how many of its `trials` passed.
    """
    if not passes or not 1 <= k <= trials:
        return None
    return sum(math.comb(passed, k) for passed in passes) / (len(passes) * math.comb(trials, k))


# Two runs over the same cases: is the difference more than chance? Exact where that matters, without any drawing.


CONFIDENCE = 0.95
Z_95 = 1.959963984540054  # the normal distribution's 97.5 % point
_MOST_EXACT = 2_000  # changed cases; beyond that the normal interval is the same to three digits
_WIDTH = 8  # standard deviations; what lies outside is too rare to show


class Difference(NamedTuple):
    """The change of a rate, with the interval it may well lie in, and the chance of such a change by accident."""

    change: float
    low: float
    high: float
    p_value: float

    @property
    def is_shown(self) -> bool:
        """Whether it can be told from chance: by the test and by the interval."""
        return self.p_value < 1 - CONFIDENCE and not self.low <= 0 <= self.high


def verdict_on(found: Difference) -> str:
    """What may be said about a difference, if both runs were measured alike."""
    if not found.is_shown:
        return "no difference shown"
    return "better" if found.change > 0 else "worse"


def difference(lost: int, won: int, pairs: int) -> Difference | None:
    """The difference of two paired rates; None without pairs."""
    if pairs == 0:
        return None
    low, high = paired_interval(lost, won, pairs)
    return Difference((won - lost) / pairs, low, high, mcnemar(lost, won))


def mcnemar(lost: int, won: int) -> float:
    """The exact two-sided McNemar test: how often fair coins would be at least as one-sided."""
    changed = lost + won
    if changed == 0:
        return 1.0
    tail = math.fsum(_binomial_weights(changed, 0.5, k) for k in range(min(lost, won) + 1))
    return min(1.0, 2 * tail)


def paired_interval(lost: int, won: int, pairs: int) -> tuple[float, float]:
    """The percentile interval of the paired bootstrap, over all resamples at once instead of a few thousand drawn."""
    if lost + won > _MOST_EXACT:
        rate_lost, rate_won = lost / pairs, won / pairs
        margin = Z_95 * math.sqrt((rate_lost + rate_won - (rate_won - rate_lost) ** 2) / pairs)
        return rate_won - rate_lost - margin, rate_won - rate_lost + margin
    chances = sorted(_resampled(lost, won, pairs).items())
    tail = (1 - CONFIDENCE) / 2
    return _quantile(chances, tail) / pairs, _quantile(chances, 1 - tail) / pairs


def _resampled(lost: int, won: int, pairs: int) -> dict[int, float]:
    """Every difference (won - lost) that a resample of the pairs can have, with its chance."""
    changed = lost + won
    chances: defaultdict[int, float] = defaultdict(float)
    for number, chance in _likely(pairs, changed / pairs):
        for won_now, share in _likely(number, won / changed if changed else 0.0):
            chances[2 * won_now - number] += chance * share
    return chances


def _likely(trials: int, rate: float) -> list[tuple[int, float]]:
    """The numbers of successes that are not all but impossible, with their chances."""
    reach = _WIDTH * math.sqrt(trials * rate * (1 - rate)) + 1
    first, last = max(0, math.floor(trials * rate - reach)), min(trials, math.ceil(trials * rate + reach))
    return [(number, _binomial_weights(trials, rate, number)) for number in range(first, last + 1)]


def _binomial_weights(trials: int, rate: float, successes: int) -> float:
    if rate in {0.0, 1.0}:
        return float(successes == trials * rate)
    ways = math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
    return math.exp(ways + successes * math.log(rate) + (trials - successes) * math.log1p(-rate))


def _quantile(chances: list[tuple[int, float]], share: float) -> int:
    total = 0.0
    for value, chance in chances:
        total += chance
        if total >= share - 1e-9:
            return value
    return chances[-1][0]
