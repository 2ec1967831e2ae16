"""Several iterations together: spread, stability of each sample, agreement of the judge with itself."""

import pytest
from judged_samples import RUBRIC, record, records

from synthesis.judge.metrics import final_metrics, iteration_metrics


def final(*iterations, errors=0):
    per_iteration = [
        iteration_metrics(
            judged,
            RUBRIC,
            iteration=number,
            timestamp="t",
            total=len(judged) + errors,
            errors=errors,
            not_judged=0,
            stale=0,
        )
        for number, judged in enumerate(iterations, 1)
    ]
    return final_metrics(per_iteration, iterations, RUBRIC, timestamp="t")


def test_the_five_figures_are_aggregated_with_the_population_deviation():
    result = final(records((5, 5), (5, 5)), records((5, 5), (3, 5)), records((5, 5), (1, 5)))
    assert list(result)[:4] == ["iterations", "timestamp", "aggregateMetrics", "perIterationMetrics"]
    assert list(result["aggregateMetrics"]) == [
        "averageFaithfulnessScore",
        "faithfulnessPassRate",
        "averageCompletenessScore",
        "completenessPassRate",
        "overallPassRate",
    ]
    assert result["iterations"] == len(result["perIterationMetrics"]) == 3
    # averages 5, 4, 3: population variance 2/3
    assert result["aggregateMetrics"]["averageFaithfulnessScore"] == {
        "mean": 4.0,
        "min": 3.0,
        "max": 5.0,
        "stdDev": pytest.approx((2 / 3) ** 0.5),
    }


def test_an_iteration_without_a_value_is_left_out_and_all_without_are_null():
    result = final(records((5, 5)), [], errors=1)
    assert result["aggregateMetrics"]["averageFaithfulnessScore"]["mean"] == 5
    empty = final([], [], errors=2)["aggregateMetrics"]["averageFaithfulnessScore"]
    assert empty == {"mean": None, "min": None, "max": None, "stdDev": None}


def test_each_sample_shows_its_scores_and_its_flips_across_the_threshold():
    result = final(records((5, 4), (4, 4)), records((3, 4), (5, 4)), records((4, 4), (5, 4)))
    first, second = result["stability"]["samples"]
    assert first == {
        "queryLogId": "q-1",
        "scores": {"faithfulness": [5, 3, 4], "completeness": [4, 4, 4]},
        "passed": [True, False, True],
        "flips": {"faithfulness": 2, "completeness": 0, "overall": 2},
    }
    assert second["flips"] == {"faithfulness": 0, "completeness": 0, "overall": 0}
    assert result["stability"]["flipped"] == {"faithfulness": 1, "completeness": 0, "overall": 1}
    # passes 2 of 3 and 3 of 3
    assert result["stability"]["passHatK"] == {
        "1": pytest.approx(5 / 6),
        "2": pytest.approx((1 + 3) / 6),
        "3": pytest.approx(1 / 2),
    }


def test_a_sample_that_an_iteration_did_not_judge_has_not_passed_there():
    result = final([record("a", 5, 5), record("b", 5, 5)], [record("b", 5, 5)], errors=1)
    first, second = result["stability"]["samples"]
    assert first["passed"] == [True, None]
    assert first["flips"]["overall"] == 0
    assert second["passed"] == [True, True]
    # three samples in the set; passes 1, 2 and 0 of 2
    assert result["stability"]["sampleCount"] == 3
    assert result["stability"]["passHatK"] == {"1": pytest.approx(1 / 2), "2": pytest.approx(1 / 3)}


def test_agreement_is_krippendorffs_alpha_of_each_axis():
    result = final(records((1, 5), (1, 5), (2, 5)), records((1, 5), (2, 5), (2, 5)))
    assert result["agreement"]["faithfulness"] == {"alpha": pytest.approx(1 - 9 / (81 / 5)), "samples": 3}
    assert result["agreement"]["completeness"]["alpha"] is None
    assert "all scores are the same" in result["agreement"]["completeness"]["reason"]


def test_agreement_of_one_iteration_is_null_with_a_reason():
    agreement = final(records((1, 5), (4, 2)))["agreement"]["faithfulness"]
    assert agreement == {
        "alpha": None,
        "samples": 0,
        "reason": "no sample was judged in two or more iterations",
    }
