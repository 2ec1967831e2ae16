"""Corrected rates hold the truth as often as they say."""

import math
import random
from collections import Counter

import pytest

from synthesis.audit import rates
from synthesis.audit.draws import Draws
from synthesis.checks.registry import Counts

SENSITIVITY, ALARMS = 0.75, 0.0005
POSITIVES, NEGATIVES = 300, 6000


def drawn(number: int, share: float, chance: random.Random) -> int:
    return sum(chance.random() < share for _ in range(number))


def texts(apart: float, chance: random.Random) -> tuple[float, float]:
    """Sensitivity and false alarms on the texts of a source; `apart` is how far sources differ, in log odds."""
    return tuple(1 / (1 + (1 / share - 1) * math.exp(-apart * chance.gauss(0, 1))) for share in (SENSITIVITY, ALARMS))


def source(name: str, apart: float, chance: random.Random) -> Counts:
    sensitivity, share = texts(apart, chance)
    alarms = Draws(chance.randrange(1 << 30)).poisson(NEGATIVES * share)
    return Counts(name, POSITIVES, drawn(POSITIVES, sensitivity, chance), NEGATIVES, alarms)


def log(prevalence: float, apart: float, chance: random.Random) -> Counter[tuple[int, int]]:
    """2,500 conversations of four turns in which so many messages truly hold what is looked for."""
    sensitivity, alarms = texts(apart, chance)
    found = prevalence * sensitivity + (1 - prevalence) * alarms
    return Counter((drawn(4, found, chance), 4) for _ in range(2500))


def coverage(prevalence: float, times: int, draws: int, apart: float = 0.0) -> tuple[float, float, int]:
    """How often the interval holds the truth where something is told, how often the bound does, how many are told."""
    chance = random.Random(f"coverage {prevalence}")
    held = told = bounded = 0
    for number in range(times):
        accuracy = rates.accuracy_of([source(name, apart, chance) for name in "abc"], number, draws)
        found = rates.corrected(log(prevalence, apart, chance), accuracy, number, "coverage")
        if found.interval:
            told += 1
            held += found.interval[0] <= prevalence <= found.interval[1]
        else:
            bounded += prevalence <= (found.at_most or 0)
    untold = times - told
    return held / told, bounded / untold if untold else 1.0, told


@pytest.mark.slow
@pytest.mark.parametrize(("prevalence", "least_told"), [(0.002, 750), (0.02, 900), (0.2, 950)])
def test_intervals_cover_the_truth(prevalence: float, least_told: int) -> None:
    held, bounded, told = coverage(prevalence, 1000, 200)
    assert told >= least_told
    assert 0.93 <= held <= 0.97
    assert bounded >= 0.95


@pytest.mark.slow
def test_where_sources_differ_they_cover_the_truth_less_often() -> None:
    held, _, told = coverage(0.2, 1000, 200, apart=0.3)
    assert told >= 950
    assert 0.88 <= held <= 0.93  # as docs/audit.md tells


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
