"""Two runs over the same cases: is the difference more than chance? Exact where that matters, without any drawing.

    before \\ after    pass    fail
    pass                a       b      b: lost
    fail                c       d      c: won

The cases that changed (b and c) carry all the information about the difference.
"""

import math
from collections import defaultdict
from typing import NamedTuple

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
    low, high = bootstrap_interval(lost, won, pairs)
    return Difference((won - lost) / pairs, low, high, mcnemar(lost, won))


def mcnemar(lost: int, won: int) -> float:
    """The exact two-sided McNemar test: how often fair coins would be at least as one-sided."""
    changed = lost + won
    if changed == 0:
        return 1.0
    tail = math.fsum(_binomial(changed, 0.5, k) for k in range(min(lost, won) + 1))
    return min(1.0, 2 * tail)


def bootstrap_interval(lost: int, won: int, pairs: int) -> tuple[float, float]:
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
    return [(number, _binomial(trials, rate, number)) for number in range(first, last + 1)]


def _binomial(trials: int, rate: float, successes: int) -> float:
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
