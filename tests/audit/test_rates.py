"""Corrected rates hold the truth as often as they say."""

import random
from collections import Counter

import pytest

from synthesis.audit import rates
from synthesis.audit.draws import Draws
from synthesis.checks.measured import Counts

SENSITIVITY, ALARMS = 0.75, 0.0005
POSITIVES, NEGATIVES = 300, 6000


def drawn(number: int, share: float, chance: random.Random) -> int:
    return sum(chance.random() < share for _ in range(number))


def source(name: str, chance: random.Random) -> Counts:
    alarms = int(Draws(chance.randrange(1 << 30)).poisson(NEGATIVES * ALARMS))
    return Counts(name, POSITIVES, drawn(POSITIVES, SENSITIVITY, chance), NEGATIVES, alarms)


def log(prevalence: float, chance: random.Random, conversations: int = 2500) -> Counter[tuple[int, int]]:
    """Conversations of four turns in which so many messages truly hold what a rule finds three times in four."""
    found = prevalence * SENSITIVITY + (1 - prevalence) * ALARMS
    return Counter((drawn(4, found, chance), 4) for _ in range(conversations))


def coverage(prevalence: float, times: int, draws: int) -> tuple[float, float, int]:
    """How often the interval holds the truth where something is told, how often the bound does, how many are told."""
    chance = random.Random(f"coverage {prevalence}")
    held = told = bounded = 0
    for number in range(times):
        accuracy = rates.accuracy_of([source(name, chance) for name in "abc"], number, draws)
        found = rates.corrected(log(prevalence, chance), accuracy, number, "coverage")
        if found.interval:
            told += 1
            held += found.interval[0] <= prevalence <= found.interval[1]
        else:
            bounded += prevalence <= (found.at_most or 0)
    untold = times - told
    return held / told, bounded / untold if untold else 1.0, told


@pytest.mark.slow
@pytest.mark.parametrize("prevalence", [0.002, 0.02, 0.2])
def test_intervals_cover_the_truth(prevalence: float) -> None:
    held, bounded, told = coverage(prevalence, 1000, 200)
    assert told >= 900
    assert 0.93 <= held <= 0.975
    assert bounded >= 0.95


def test_a_few_intervals_cover_the_truth() -> None:
    held, bounded, told = coverage(0.02, 25, 200)
    assert told == 25
    assert held >= 0.84  # 21 of 25: fewer would happen once in 800 times with 95 %
    assert bounded == 1


def test_a_raw_rate_within_the_false_alarms_tells_nothing() -> None:
    accuracy = rates.accuracy_of([Counts("a", 200, 150, 1000, 20), Counts("b", 200, 150, 1000, 22)], 1)
    found = rates.corrected({(1, 4): 60, (0, 4): 940}, accuracy, 1)
    assert found.status == rates.NOT_TOLD
    assert found.text.startswith("cannot be told from zero; at most")
    assert 0 < (found.at_most or 0) < 0.01


def test_no_finding_at_all_still_has_a_bound() -> None:
    accuracy = rates.accuracy_of([Counts("a", 200, 150, 1000, 2), Counts("b", 200, 150, 1000, 2)], 1)
    assert 0.01 < (rates.corrected({(0, 1): 300}, accuracy, 1).at_most or 0) < 0.03


def test_sources_that_differ_widen_the_interval() -> None:
    alike = rates.accuracy_of([Counts("a", 200, 150, 1000, 5), Counts("b", 200, 150, 1000, 5)], 1)
    apart = rates.accuracy_of([Counts("a", 200, 180, 1000, 5), Counts("b", 200, 120, 1000, 5)], 1)
    log = {(1, 4): 400, (0, 4): 600}
    narrow, wide = (rates.corrected(log, accuracy, 1).interval or (0, 0) for accuracy in (alike, apart))
    assert wide[1] - wide[0] > 2 * (narrow[1] - narrow[0])


@pytest.mark.parametrize(
    ("sources", "reason"),
    [
        ([], "never measured"),
        ([Counts("a", 500, 400, 5000, 5)], "one source"),
        ([Counts("a", 500, 400, 5000, 5), Counts("b", 0, 0, 900, 5)], "one source"),
        ([Counts("a", 40, 30, 500, 5), Counts("b", 40, 30, 500, 5)], "too few"),
    ],
)
def test_too_little_is_unknown(sources: list[Counts], reason: str) -> None:
    found = rates.corrected({(1, 4): 400}, rates.accuracy_of(sources, 1), 1)
    assert found.status == rates.UNKNOWN
    assert reason in found.text


def test_turns_of_one_conversation_count_for_less_than_turns_of_many() -> None:
    alone = rates.raw_rate({(1, 1): 100, (0, 1): 900}).interval or (0, 0)
    together = rates.raw_rate({(10, 10): 10, (0, 10): 90}).interval or (0, 0)
    assert together[1] - together[0] > 2 * (alone[1] - alone[0])


def test_the_same_seed_gives_the_same_numbers() -> None:
    first, again, other = (Draws(seed, "a") for seed in (1, 1, 2))
    assert [first.beta(3, 4) for _ in range(5)] == [again.beta(3, 4) for _ in range(5)]
    assert first.poisson(4) >= 0
    assert other.beta(3, 4) != Draws(1, "a").beta(3, 4)
