"""All statistics of the product: intervals, exact tests, resampling, agreement. Pure functions of their input.

Where a figure is not defined (nothing to count, no variation) the answer is None, never NaN. Intervals are of 95 %.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import msgspec

Interval = list[float]  # low, high; a list, as JSON has it
Value = TypeVar("Value", int, float, tuple[int, int], tuple[int, ...])

CONFIDENCE = 0.95
ALPHA = 0.05
Z_95 = 1.959963984540054  # the normal distribution's 97.5 % point
_TAILS = (0.025, 0.975)


# Rates.


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


def wilson_interval(successes: float, total: float) -> Interval | None:
    """Wilson's score interval of a rate: reliable for small counts and for rates near 0 or 1.

    Counts need not be whole: dependent observations are worth fewer independent ones (`effective_size`).
    """
    if total == 0:
        return None
    rate, square = successes / total, Z_95 * Z_95
    centre = rate + square / (2 * total)
    margin = Z_95 * math.sqrt(rate * (1 - rate) / total + square / (4 * total * total))
    scale = 1 + square / total
    low = 0.0 if successes == 0 else (centre - margin) / scale
    high = 1.0 if successes == total else (centre + margin) / scale
    return [low, high]


def effective_size(clusters: Mapping[tuple[int, int], int]) -> float:
    """How many independent observations a clustered sample is worth (Kish's design effect of a ratio estimate).

    `clusters` maps (hits, observations) of a cluster to how many such clusters there are. A single cluster is worth
    one observation: nothing is known about how clusters differ.
    """
    number = sum(clusters.values())
    base = sum(count * size for (_, size), count in clusters.items())
    rate = sum(count * hits for (hits, _), count in clusters.items()) / base
    if number < 2:
        return 1
    squares = math.fsum(count * (hits - rate * size) ** 2 for (hits, size), count in clusters.items())
    variance = squares / base**2 * number / (number - 1)
    return min(float(base), rate * (1 - rate) / variance) if variance and 0 < rate < 1 else base


def pass_hat_k(passes: Sequence[int], trials: int, k: int) -> float | None:
    """The chance that `k` of a sample's trials, picked at random, all pass; mean over the samples.

    `passes` holds for each sample how many of its `trials` passed.
    """
    if not passes or not 1 <= k <= trials:
        return None
    return sum(math.comb(passed, k) for passed in passes) / (len(passes) * math.comb(trials, k))


# Exact binomial tests and bounds.


def binomial_probability(trials: int, rate: float, successes: int) -> float:
    """The chance of so many successes (binomial distribution)."""
    if rate in {0.0, 1.0}:
        return float(successes == trials * rate)
    ways = math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
    return math.exp(ways + successes * math.log(rate) + (trials - successes) * math.log1p(-rate))


def exact_interval(successes: int, total: int) -> Interval:
    """The exact interval of a rate (Clopper and Pearson)."""
    if not total:
        return [0.0, 1.0]
    tail, other_tail = _TAILS

    def at_most(count: int, rate: float) -> float:
        return math.fsum(binomial_probability(total, rate, k) for k in range(count + 1))

    low = _turning_point(lambda rate: at_most(successes - 1, rate) <= other_tail) if successes else 0.0
    high = _turning_point(lambda rate: at_most(successes, rate) <= tail) if successes < total else 1.0
    return [low, high]


def unseen_at_most(strata: Sequence[tuple[float, int]], alpha: float = ALPHA) -> float:
    """The exact upper bound of a rate of which a stratified sample shows no case; `strata` are (weight, sample size).

    Rates under which the sample shows none with a probability of at least `alpha` are possible; the bound is the
    highest weighted rate among them. For one stratum of n it is 1 - alpha^(1/n).
    """
    if not strata:
        return 0.0
    # The highest sum of weight * rate under a product of (1 - rate)^size >= alpha: by Lagrange, 1 - rate is
    # proportional to size / weight, and at most 1.
    most = max(weight / size for weight, size in strata)

    def absent(scale: float) -> list[float]:
        return [min(1.0, scale * most * size / weight) for weight, size in strata]

    def is_too_likely(scale: float) -> bool:
        logs = zip(strata, absent(scale), strict=True)
        return scale > 0 and sum(size * math.log(share) for (_, size), share in logs) > math.log(alpha)

    pairs = zip(strata, absent(_turning_point(is_too_likely)), strict=True)
    return sum(weight * (1 - share) for (weight, _), share in pairs)


_HALVINGS = 100  # of an interval of length 1: far below the last digit of a float


def _turning_point(holds: Callable[[float], bool]) -> float:
    """Where in 0..1 a condition begins to hold and holds from there on; 1 if it never does."""
    low, high = 0.0, 1.0
    if holds(low):
        return low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


# Two runs over the same cases: is the difference more than chance? Without any drawing.


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
        """Whether it differs from chance, by the test and by the interval."""
        return self.p_value < ALPHA and not self.low <= 0 <= self.high


def verdict_on(found: Difference) -> str:
    """The verdict on a difference between two runs that were measured in the same way."""
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
    tail = math.fsum(binomial_probability(changed, 0.5, k) for k in range(min(lost, won) + 1))
    return min(1.0, 2 * tail)


def paired_interval(lost: int, won: int, pairs: int) -> Interval:
    """The percentile interval of the paired bootstrap, over all resamples at once instead of a few thousand drawn."""
    if lost + won > _MOST_EXACT:
        return normal_interval({-1: lost, 0: pairs - lost - won, 1: won})
    chances = sorted(_resampled(lost, won, pairs).items())
    return [_quantile_of_chances(chances, tail) / pairs for tail in _TAILS]


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
    return [(number, binomial_probability(trials, rate, number)) for number in range(first, last + 1)]


def _quantile_of_chances(chances: list[tuple[int, float]], share: float) -> int:
    """The quantile of a distribution that is given as sorted (value, chance)."""
    total = 0.0
    for value, chance in chances:
        total += chance
        if total >= share - 1e-9:
            return value
    return chances[-1][0]


# Resampling: one bootstrap for every statistic.


RESAMPLES = 2000
SEED = 20240229  # any fixed number: the interval must not change from run to run
MOST_DRAWN = 500  # values; beyond that the normal interval of a mean is quicker, and the same to a tenth of a point


def mean_of_counts(counts: Mapping[int, int] | Mapping[float, int]) -> float | None:
    """The mean of values that are given as value -> how often."""
    total = sum(counts.values())
    return math.fsum(value * count for value, count in counts.items()) / total if total else None


def mean_interval(counts: Mapping[float, int]) -> Interval:
    """The interval of a mean: the percentile bootstrap, or the normal interval for many values."""
    if sum(counts.values()) > MOST_DRAWN:
        return normal_interval(counts)
    centre = mean_of_counts(counts) or 0.0
    return bootstrap_interval(counts, mean_of_counts) or [centre, centre]


def normal_interval(counts: Mapping[float, int]) -> Interval:
    """The normal (Wald) interval of a mean, for many values."""
    number, centre = sum(counts.values()), mean_of_counts(counts) or 0.0
    variance = math.fsum(count * (value - centre) ** 2 for value, count in counts.items()) / number
    margin = Z_95 * math.sqrt(variance / number)
    return [centre - margin, centre + margin]


def bootstrap_interval(
    sample: Iterable[Value] | Mapping[Value, int],
    statistic: Callable[[Mapping[Value, int]], float | None],
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """The percentile bootstrap interval of a statistic of a sample of values, or of value -> how often.

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
    return [quantile(values, tail) for tail in _TAILS]


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


def quantile(ordered: Sequence[float], share: float) -> float:
    """The quantile of sorted values, linear between the two nearest ranks (type 7 of Hyndman and Fan)."""
    rank = share * (len(ordered) - 1)
    low = math.floor(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (rank - low)


# Agreement of judges or people.


FEWEST_FOR_INTERVAL = 6  # so few units have so few resamples that the interval would look surer than it is


class Agreement(msgspec.Struct, frozen=True, omit_defaults=True):
    """Krippendorff's alpha for ordinal scores with its 95 % interval; `reason` says why one is missing."""

    alpha: float | None
    interval: Interval | None
    reason: str = ""


def agreement_of(
    units: Sequence[tuple[int, ...]], *, same: str = "all judges gave the same score", unit: str = "samples"
) -> Agreement:
    """The agreement over units, each with the sorted scores that it got; `same` and `unit` word the reasons."""
    rated = Counter(scores for scores in units if len(scores) > 1)
    alpha = krippendorff_alpha(rated)
    if not rated:
        return Agreement(None, None, f"no two have rated the same {unit}")
    if alpha is None:
        return Agreement(None, None, f"{same} throughout: agreement cannot be distinguished from chance")
    if rated.total() < FEWEST_FOR_INTERVAL:
        return Agreement(alpha, None, f"no interval for fewer than {FEWEST_FOR_INTERVAL} {unit}")
    return Agreement(alpha, bootstrap_interval(rated, krippendorff_alpha))


def krippendorff_alpha(units: Mapping[tuple[int, ...], int]) -> float | None:
    """Krippendorff's alpha for ordinal scores; `units` maps the sorted scores of a unit to how often they occur.

    Missing scores are left out. None when no unit has two scores, or when all scores are the same.
    """
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


# Sums of rates of several strata, each known from a sample of its own.


class Bounds(NamedTuple):
    """An estimate with the ends of its interval."""

    value: float
    low: float
    high: float


def weighted_sum(rates: Sequence[tuple[float, Bounds]]) -> Bounds:
    """The sum of weight * rate over independent rates, with the MOVER interval (Zou and Donner); it may leave 0..1."""
    value = math.fsum(weight * rate.value for weight, rate in rates)
    down = math.hypot(*(weight * (rate.value - rate.low) for weight, rate in rates))
    up = math.hypot(*(weight * (rate.high - rate.value) for weight, rate in rates))
    return Bounds(value, value - down, value + up)


def difference_of_rates(before: Bounds, after: Bounds) -> Bounds:
    """How much a rate has changed between two independent samples (Newcombe's hybrid of two score intervals)."""
    change = after.value - before.value
    down = math.hypot(after.value - after.low, before.high - before.value)
    up = math.hypot(after.high - after.value, before.value - before.low)
    return Bounds(change, change - down, change + up)


def share_interval(part: Bounds, rest: Bounds) -> Interval:
    """The interval of part / (part + rest), two independent estimates (MOVER, by test inversion as Fieller's).

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
