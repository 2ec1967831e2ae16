"""The failure analysis: categories of the contract, examples in order, insights that carry their counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged_samples import FREE_RUBRIC, RUBRIC, records, toned

from synthesis.judge.metrics import failure_analysis

SCORE = st.integers(1, 5)


def test_the_file_has_the_keys_of_the_contract():
    analysis = failure_analysis(records((5, 5), (1, 5)), RUBRIC)
    assert list(analysis) == [
        "totalLowQuality",
        "totalSamples",
        "lowQualityRate",
        "byFaithfulnessReason",
        "byCompletenessReason",
        "insights",
        "emptyAnswers",
    ]
    assert list(analysis["byFaithfulnessReason"]) == ["completelyFalse", "mostlyFalse", "mixed"]
    assert list(analysis["byCompletenessReason"]) == ["fail", "weak", "descriptiveOnly"]


def test_failed_records_are_counted_by_their_score_on_each_axis():
    analysis = failure_analysis(records((5, 5), (1, 5), (3, 3), (3, 5), (5, 1)), RUBRIC)
    assert (analysis["totalLowQuality"], analysis["totalSamples"], analysis["lowQualityRate"]) == (4, 5, 0.8)
    counts = {name: entry["count"] for name, entry in analysis["byFaithfulnessReason"].items()}
    assert counts == {"completelyFalse": 1, "mostlyFalse": 0, "mixed": 2}
    counts = {name: entry["count"] for name, entry in analysis["byCompletenessReason"].items()}
    assert counts == {"fail": 1, "weak": 0, "descriptiveOnly": 1}
    mixed = analysis["byFaithfulnessReason"]["mixed"]
    assert mixed["percentage"] == 0.5
    assert mixed["description"] == "Label 3: meaning of faithfulness 3"


def test_up_to_three_examples_in_record_order_with_the_reasoning_of_that_axis():
    analysis = failure_analysis(records(*[(3, 5)] * 5), RUBRIC)
    examples = analysis["byFaithfulnessReason"]["mixed"]["examples"]
    assert [example["queryLogId"] for example in examples] == ["q-1", "q-2", "q-3"]
    assert examples[0] == {
        "queryLogId": "q-1",
        "question": "question q-1",
        "overallScore": 4.0,
        "judgeReasoning": "faithfulness of q-1",
    }


def test_without_failures_the_percentages_are_zero_and_without_records_the_rate_is_null():
    analysis = failure_analysis(records((5, 5)), RUBRIC)
    assert analysis["byFaithfulnessReason"]["mixed"]["percentage"] == 0
    empty = failure_analysis([], RUBRIC)
    assert empty["lowQualityRate"] is None
    assert empty["insights"]["systemStrength"] == "No strength stands out: 0 of 0 records failed."


def test_a_rubric_without_keys_names_its_categories_by_score():
    analysis = failure_analysis([toned("a", 1), toned("b", 5)], FREE_RUBRIC)
    assert {name: entry["count"] for name, entry in analysis["byToneOfVoiceReason"].items()} == {
        "score1": 1,
        "score2": 0,
    }
    assert "tone-of-voice 1 (Label 1)" in analysis["insights"]["systemWeakness"]


def test_one_failure_in_26_is_said_with_both_bases():
    insights = failure_analysis(records(*[(5, 5)] * 25, (5, 1)), RUBRIC)["insights"]
    assert insights["systemWeaknesses"] == ["1 of 1 failed records (1 of 26 in all) has completeness 1 (Label 1)."]
    assert insights["systemStrengths"][0] == "25 of 26 records passed."
    assert "frequent" not in str(insights).lower()


@pytest.mark.parametrize(
    ("scores", "strengths"),
    [
        # 4 of 5 passed is no more than 0.8; f1 = f2 = 0, f3 = L; c1 = 0, c2 = c3 = 0
        ([(5, 5)] * 4 + [(3, 5)], {"f1", "f2", "c1", "c23"}),
        ([(5, 5)] * 5 + [(3, 5)], {"passed", "f1", "f2", "c1", "c23"}),
        ([(1, 5), (2, 5), (3, 1), (5, 2)], {"f3"}),  # f3 = 1 of 4 is below 0.3
        ([(5, 5)], {"passed", "f1", "f2", "c1", "c23"}),  # f3 < 0.3 L does not hold for L = 0
        ([(1, 1), (2, 2), (3, 3)], set()),
    ],
)
def test_strengths_hold_under_their_conditions(scores, strengths):
    found = failure_analysis(records(*scores), RUBRIC)["insights"]["systemStrengths"]
    marks = {
        "passed": "records passed",
        "f1": "have faithfulness 1",
        "f2": "have faithfulness 2",
        "f3": "faithfulness 3",
        "c1": "have completeness 1 ",
        "c23": "have completeness 2 (Label 2) or completeness 3",
    }
    assert {name for name, mark in marks.items() if any(mark in line for line in found)} == strengths
    assert len(found) == len(strengths)


@given(st.lists(st.tuples(SCORE, SCORE), max_size=30))
def test_weaknesses_and_recommendations_hold_exactly_under_their_conditions(scores):
    insights = failure_analysis(records(*scores), RUBRIC)["insights"]
    failed = [pair for pair in scores if min(pair) < 4]
    count = {(index, n): sum(pair[index] == n for pair in failed) for index in (0, 1) for n in (1, 2, 3)}
    weak = sum(value > (0.3 if n == 1 else 0.5) * len(failed) for (_, n), value in count.items())
    assert len(insights["systemWeaknesses"]) == weak
    advised = sum((count[index, 1] + count[index, 2] > 0) + (count[index, 3] > 0) for index in (0, 1))
    assert len(insights["recommendations"]) == advised
    for one, many in (
        ("systemStrength", "systemStrengths"),
        ("systemWeakness", "systemWeaknesses"),
        ("recommendation", "recommendations"),
    ):
        assert insights[one] == " ".join(insights[many]) or not insights[many]
        assert insights[one]
