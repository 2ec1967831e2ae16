"""The metrics of one iteration: shape, denominators, and honesty about what was not judged."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged_samples import FREE_RUBRIC, RUBRIC, record, records, toned

from synthesis.judge.metrics import iteration_metrics

AVERAGES = ["averageFaithfulnessScore", "averageCompletenessScore", "averageCourseCount"]
RATES = ["faithfulnessPassRate", "completenessPassRate", "overallPassRate"]


def metrics_of(judged, rubric=RUBRIC, *, total=None, errors=0, not_judged=0, stale=0):
    return iteration_metrics(
        judged,
        rubric,
        iteration=1,
        timestamp="2025-01-01T00:00:00Z",
        total=len(judged) + errors + not_judged if total is None else total,
        errors=errors,
        not_judged=not_judged,
        stale=stale,
    )


def test_the_file_has_the_keys_of_the_contract_in_their_order():
    metrics = metrics_of(records((5, 4)))
    assert list(metrics) == [
        "iteration",
        "timestamp",
        "sampleCount",
        "averageFaithfulnessScore",
        "faithfulnessPassRate",
        "averageCompletenessScore",
        "completenessPassRate",
        "overallPassRate",
        "averageCourseCount",
        "faithfulnessDistribution",
        "completenessDistribution",
        "judged",
        "errors",
        "notJudged",
        "stale",
        "untold",
        "callsPerSample",
    ]
    for name in AVERAGES + RATES:
        assert list(metrics[name])[:4] == ["value", "numerator", "denominator", "description"]


def test_figures_of_a_fully_judged_set():
    metrics = metrics_of([record("a", 5, 5, 3), record("b", 4, 3, 1), record("c", 2, 5, 0), record("d", 5, 4, 2)])
    figures = {
        name: (metrics[name]["value"], metrics[name]["numerator"], metrics[name]["denominator"])
        for name in AVERAGES + RATES
    }
    assert figures == {
        "averageFaithfulnessScore": (4.0, 16, 4),
        "averageCompletenessScore": (4.25, 17, 4),
        "averageCourseCount": (1.5, 6, 4),
        "faithfulnessPassRate": (0.75, 3, 4),
        "completenessPassRate": (0.75, 3, 4),
        "overallPassRate": (0.5, 2, 4),
    }
    assert metrics["faithfulnessDistribution"] == {
        "score1": 0,
        "score2": 1,
        "score3": 0,
        "score4": 1,
        "score5": 2,
    }
    for name in RATES:
        assert metrics[name]["judgedOnly"]["value"] == metrics[name]["value"]


def test_nine_failed_calls_of_ten_are_no_pass_rate_of_one():
    metrics = metrics_of(records((5, 5)), errors=9)
    assert metrics["sampleCount"] == 10
    for name in RATES:
        assert metrics[name]["value"] == 0.1
        assert metrics[name]["judgedOnly"]["value"] == 1.0
    assert metrics["averageFaithfulnessScore"]["denominator"] == 1
    assert (metrics["judged"], metrics["errors"], metrics["notJudged"]) == (1, 9, 0)


def test_samples_that_were_not_reached_have_not_passed():
    metrics = metrics_of(records((5, 5), (5, 5)), not_judged=2, stale=1)
    assert metrics["overallPassRate"]["value"] == 0.5
    assert (metrics["notJudged"], metrics["stale"]) == (2, 1)


@pytest.mark.parametrize("errors", [0, 3])
def test_with_nothing_judged_a_value_is_null_and_never_nan(errors):
    metrics = metrics_of([], errors=errors)
    json.dumps(metrics, allow_nan=False)
    for name in AVERAGES:
        assert metrics[name]["value"] is None
        assert metrics[name]["interval"] is None
    assert metrics["overallPassRate"]["value"] == (0.0 if errors else None)
    assert metrics["overallPassRate"]["judgedOnly"]["value"] is None


def test_rates_carry_a_wilson_interval():
    metrics = metrics_of(records(*[(5, 5)] * 81, *[(1, 1)] * 182))
    assert metrics["overallPassRate"]["interval"] == pytest.approx([0.2553, 0.3662], abs=5e-5)


def test_averages_carry_an_interval_that_is_the_same_every_time():
    judged = records((5, 1), (4, 3), (1, 5), (2, 2), (5, 5))
    first, second = metrics_of(judged), metrics_of(judged)
    low, high = first["averageFaithfulnessScore"]["interval"]
    assert 1 <= low < 3.4 < high <= 5
    assert first == second


def test_names_follow_the_axes_of_the_rubric():
    metrics = metrics_of([toned("a", 3), toned("b", 2)], FREE_RUBRIC)
    assert metrics["averageToneOfVoiceScore"]["value"] == 2.5
    assert metrics["toneOfVoicePassRate"]["value"] == 0.5
    assert metrics["overallPassRate"]["description"].endswith("tone-of-voice >= 3")
    assert sum(metrics["toneOfVoiceDistribution"].values()) == 2


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), max_size=20), st.integers(0, 5))
def test_counts_sum_up_and_every_figure_is_a_number_or_null(scores, errors):
    metrics = metrics_of(records(*scores), errors=errors)
    for name in ("faithfulnessDistribution", "completenessDistribution"):
        assert sum(metrics[name].values()) == metrics["judged"]
    assert metrics["judged"] + metrics["errors"] + metrics["notJudged"] == metrics["sampleCount"]
    for name in RATES:
        value, interval = metrics[name]["value"], metrics[name]["interval"]
        assert value is None or interval[0] <= value <= interval[1]
    for name in AVERAGES:
        value = metrics[name]["value"]
        assert value is None or math.isfinite(value)
