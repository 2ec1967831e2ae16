"""How long a guard takes for one short reply.

    python benchmarks/guard.py

Prints the time per reply for several sets of checks: the median of repeated rounds, and the quickest round.
"""

import statistics
import sys
import time

from synthesis.checks.registry import checks
from synthesis.guard import Guard
from synthesis.settings import DEFAULT_CHECKS

USER = "I lost my job last week and I feel awful."
REPLIES = [
    "I'm sorry, that sounds really hard. Would you like to talk about what happened?",
    "You should just relax. You'll definitely find something better soon.",
    "That is a lot to carry. What has the last week been like for you?",
    "Anyway, have you tried a new hobby? Pottery classes are popular right now.",
]
ROUNDS, CALLS = 20, 200


def milliseconds(guard: Guard) -> list[float]:
    """The time per reply in each round."""
    for reply in REPLIES:
        guard.review(USER, reply)
    rounds = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for number in range(CALLS):
            guard.review(USER, REPLIES[number % len(REPLIES)])
        rounds.append((time.perf_counter() - begun) / CALLS * 1000)
    return rounds


def main() -> int:
    sets = {
        "unverifiable_reassurance": ("unverifiable_reassurance",),
        "the default three": DEFAULT_CHECKS,
        "all": tuple(checks()),
    }
    print(f"{'checks':<28} {'median ms':>10} {'least ms':>10}")
    for name, wanted in sets.items():
        rounds = milliseconds(Guard(wanted))
        print(f"{name:<28} {statistics.median(rounds):>10.3f} {min(rounds):>10.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
