"""How long a guard takes for one short reply.

    python benchmarks/guard.py

Prints the time per reply for several sets of checks, whole and as a stream of words: the median of repeated rounds, and
the quickest round.
"""

import statistics
import sys
import time
from collections.abc import Callable

from synthesis.checks.registry import ALL
from synthesis.guard import Guard

USER = "I lost my job last week and I feel awful."
REPLIES = [
    "I'm sorry, that sounds really hard. Would you like to talk about what happened?",
    "You should just relax. You'll definitely find something better soon.",
    "That is a lot to carry. What has the last week been like for you?",
    "Anyway, have you tried a new hobby? Pottery classes are popular right now.",
]
ROUNDS, CALLS = 20, 200


def review(guard: Guard, reply: str) -> None:
    guard.review(USER, reply)


def stream(guard: Guard, reply: str) -> None:
    """The same reply, a word at a time."""
    stream = guard.stream(USER)
    for word in reply.split(" "):
        stream.feed(f"{word} ")
    stream.flush()
    stream.close()


def milliseconds(guard: Guard, use: Callable[[Guard, str], None]) -> list[float]:
    """The time per reply in each round."""
    for reply in REPLIES:
        use(guard, reply)
    rounds = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for number in range(CALLS):
            use(guard, REPLIES[number % len(REPLIES)])
        rounds.append((time.perf_counter() - begun) / CALLS * 1000)
    return rounds


def main() -> int:
    print(f"{'checks':<36} {'median ms':>10} {'least ms':>10}")
    for checks in ("unverifiable_reassurance", ALL):
        for use, guard in ((review, Guard(checks)), (stream, Guard(checks, on_fail="fallback", fallback="..."))):
            rounds = milliseconds(guard, use)
            name = f"{checks}, {use.__name__}"
            print(f"{name:<36} {statistics.median(rounds):>10.3f} {min(rounds):>10.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
