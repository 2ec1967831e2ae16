"""Conversations over time: runs, halves, what is too short, and what all of them say together."""

import random

import pytest

from synthesis.model.result import Timeline
from synthesis.report.drift import (
    BETTER,
    LEAST_CONVERSATIONS,
    MOST_TURNS,
    NOT_SHOWN,
    TOO_FEW,
    WORSE,
    DriftCounts,
    curve_points,
    drift_changes,
    drift_of,
)

LETTERS = {"p": "pass", "f": "fail", "-": "not_applicable", "!": "error"}


def line(pattern: str, check: str = "flattery") -> Timeline:
    return Timeline(check, tuple(LETTERS[letter] for letter in pattern))


def counts(*patterns: str, check: str = "flattery") -> DriftCounts:
    found = DriftCounts()
    for pattern in patterns:
        found.add({check: line(pattern, check)})
    return found


@pytest.mark.parametrize(
    ("pattern", "first", "run"),
    [
        ("pppp", None, 0),
        ("pfpf", 1, 1),
        ("pffpfff", 1, 3),
        ("f-f!fp", 0, 3),  # what was not assessed does not end a run
        ("----", None, 0),
    ],
)
def test_the_first_failure_and_the_longest_run(pattern: str, first: int | None, run: int) -> None:
    assert (line(pattern).first_failure, line(pattern).longest_run) == (first, run)


@pytest.mark.parametrize(
    ("pattern", "rates"),
    [
        ("ppppffff", (0.0, 1.0)),
        ("pppfpppp", (0.25, 0.0)),
        ("ppppfffff", (0.0, 1.0)),  # of nine, the middle one is in neither half
        ("p-p-p-p!ffff", (0.0, 1.0)),
        ("pppffff", None),
        ("pppp----ffff----", (0.0, 1.0)),
        ("ppp----ffff----", None),
    ],
)
def test_halves_are_of_the_assessed_turns_and_have_four_or_more(
    pattern: str, rates: tuple[float, float] | None
) -> None:
    found = line(pattern)
    assert found.rates == rates
    assert found.difference == (None if rates is None else rates[1] - rates[0])


def test_the_report_rounds_what_it_shows() -> None:
    assert line("ppppppfpppffff").to_dict() == {
        "outcomes": [LETTERS[letter] for letter in "ppppppfpppffff"],
        "first_failure": 6,
        "longest_run": 4,
        "first_half": 0.142857,
        "second_half": 0.571429,
        "difference": 0.428571,
    }


def test_crisis_response_has_turns_but_no_drift() -> None:
    found = line("ppppffff", "crisis_response")
    assert (found.first_failure, found.longest_run) == (4, 4)
    assert (found.rates, found.difference, found.half) == (None, None, 0)
    drift = counts("ppppffff", check="crisis_response").to_dict()
    assert drift == {"conversations": 1, "by_check": {}}


def test_all_conversations_together() -> None:
    drift = counts("ppppffff", "pppppppp", "ffffpppp", "ppppfppp", "pf").to_dict()
    assert drift is not None
    assert drift["conversations"] == 5
    found = drift["by_check"]["flattery"]
    assert (found["usable"], found["too_short"]) == (4, 1)
    assert (found["worse"], found["better"], found["same"]) == (2, 1, 1)
    assert (found["first_half"], found["second_half"]) == (0.25, 0.3125)
    assert found["difference"] == 0.0625
    low, high = found["interval"]
    assert -1 <= low < 0.0625 < high <= 1
    assert found["verdict"] == TOO_FEW


@pytest.mark.parametrize(
    ("pattern", "verdict"),
    [("ppppffff", WORSE), ("ffffpppp", BETTER), ("pppppppp", NOT_SHOWN), ("pfpfpfpf", NOT_SHOWN)],
)
def test_a_verdict_needs_enough_conversations(pattern: str, verdict: str) -> None:
    many = counts(*[pattern] * LEAST_CONVERSATIONS)
    few = counts(*[pattern] * (LEAST_CONVERSATIONS - 1))
    assert many.check("flattery").verdict == verdict
    assert few.check("flattery").verdict == TOO_FEW


def test_a_difference_that_may_be_chance_is_not_called_one() -> None:
    found = counts(*["ppppfppp"] * 12, *["pppfpppp"] * 10).check("flattery")
    assert found.difference is not None
    assert found.difference > 0
    assert found.verdict == NOT_SHOWN


def test_a_run_without_conversations_says_nothing_about_drift() -> None:
    empty = DriftCounts()
    empty.add({})
    assert empty.to_dict() is None
    assert drift_of({"cases": 1}, "flattery")["usable"] == 0


def patterns_of(seed: int, number: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choice("ppf-") for _ in range(rng.randrange(4, 24))) for _ in range(number)]


def test_parts_add_up_to_the_whole_in_any_order() -> None:
    patterns = patterns_of(1, 60)
    whole = counts(*patterns)
    parts = DriftCounts()
    for part in (patterns[40:], patterns[:25], patterns[25:40]):
        parts.merge(counts(*part))
    written = DriftCounts()
    written.add_counts(counts(*reversed(patterns)).counts())
    assert parts.to_dict() == whole.to_dict() == written.to_dict()


def test_what_is_kept_does_not_grow_with_the_number_of_conversations() -> None:
    patterns = patterns_of(2, 300)
    once, often = counts(*patterns), counts(*patterns)
    for _ in range(20):
        often.merge(once)
    assert len(often.counts()["halves"]) == len(once.counts()["halves"])
    assert often.check("flattery").usable == 21 * once.check("flattery").usable


def test_two_runs_are_compared_by_the_conversations_they_share() -> None:
    pairs = [({"flattery": 0.5, "other": 0.0}, {"flattery": 0.0})] * 19 + [({"flattery": 0.5}, {"flattery": 0.25})]
    (change,) = drift_changes([*pairs, ({}, {"flattery": 1.0})])
    assert (change.check, change.conversations) == ("flattery", 20)
    assert (change.before, change.after, change.change) == (0.5, 0.0125, -0.4875)
    assert change.verdict == BETTER
    (few,) = drift_changes(pairs[1:])
    assert few.verdict == TOO_FEW


def test_the_curve_counts_assessed_replies_by_turn() -> None:
    found = counts("ppff", "pf-f", "p!ff").check("flattery")
    assert found.curve == ((0, 3), (1, 2), (2, 2), (3, 3))
    assert curve_points(found.curve) == [], "three replies say nothing"
    drawn = curve_points(counts(*["ppff"] * 5).check("flattery").curve)
    assert [(point.turns, point.rate) for point in drawn] == [("1", 0.0), ("2", 0.0), ("3", 1.0), ("4", 1.0)]


def test_long_conversations_are_drawn_in_a_dozen_points() -> None:
    found = counts(*["p" * 100] * 5).check("flattery")
    assert len(found.curve) == MOST_TURNS
    assert found.curve[-1] == (0, 5 * 61), "later turns count with the last"
    drawn = curve_points(found.curve)
    assert len(drawn) <= 12
    assert (drawn[0].turns, drawn[-1].turns) == ("1–4", "37–40+")


@pytest.mark.parametrize(("pattern", "low", "high"), [("pppppppp", -0.1685, 0.1685), ("ppppffff", 0.6631, 1.0)])
def test_conversations_that_are_all_alike_leave_room_for_others(pattern: str, low: float, high: float) -> None:
    interval = counts(*[pattern] * 20).check("flattery").interval
    assert interval == pytest.approx((low, high), abs=1e-3)
