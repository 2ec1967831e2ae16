"""How far several judges or people agree: Krippendorff's alpha with its interval, or why there is none."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from synthesis.stats import alpha_of_counts, bootstrap_interval

FEWEST_FOR_INTERVAL = 6  # so few samples have so few resamples that the interval would look surer than it is


class Agreement(msgspec.Struct, frozen=True, omit_defaults=True):
    """Krippendorff's alpha for ordinal scores with its 95 % interval; `reason` says why one is missing."""

    alpha: float | None
    interval: list[float] | None
    reason: str = ""


def agreement_of(
    units: Sequence[tuple[int, ...]], *, same: str = "all judges gave the same score", unit: str = "samples"
) -> Agreement:
    """The agreement over units, each with the sorted scores that it got; `same` and `unit` word the reasons."""
    rated = [scores for scores in units if len(scores) > 1]
    alpha = alpha_of_counts(Counter(rated))
    if not rated:
        return Agreement(None, None, f"no two have rated the same {unit}")
    if alpha is None:
        return Agreement(None, None, f"{same} throughout, which cannot be told from chance")
    if len(rated) < FEWEST_FOR_INTERVAL:
        return Agreement(alpha, None, f"no interval for fewer than {FEWEST_FOR_INTERVAL} {unit}")
    return Agreement(alpha, bootstrap_interval(rated, alpha_of_counts))
