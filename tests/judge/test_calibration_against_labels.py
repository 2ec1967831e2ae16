"""A judge's scores compared with people's: agreement, confusion, bias, and what could not be compared."""

import json

import pytest
from judged_samples import RUBRIC, records

from synthesis.errors import TestSetError
from synthesis.judge.calibration import calibrate, load_labels


def write(tmp_path, value):
    path = tmp_path / "labels.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "content",
    [
        [
            {"queryLogId": "q-1", "faithfulness": 5, "note": "sure"},
            {"id": "q-2", "tone": 1, "x": None},
        ],
        {"q-1": {"faithfulness": 5}, "q-2": {"tone": 1}},
    ],
)
def test_labels_come_as_a_list_or_by_id_with_free_axes(tmp_path, content):
    assert load_labels(write(tmp_path, content)) == {"q-1": {"faithfulness": 5}, "q-2": {"tone": 1}}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ([], "there are no labels"),
        ({}, "there are no labels"),
        ("3", "expected labels, found a number"),
        ("[", "not valid JSON"),
        ([{"faithfulness": 4}], "label 1: has no id"),
        ([7], "label 1: must be an object"),
        (
            [{"queryLogId": "a", "faithfulness": 6}],
            "label 1 (a): faithfulness must be a whole number from 1 to 5",
        ),
        ([{"queryLogId": "a", "faithfulness": 3.5}], "must be a whole number"),
        ([{"queryLogId": "a", "faithfulness": True}], "must be a whole number"),
        ([{"queryLogId": "a", "faithfulness": "4"}], "must be a whole number"),
        ([{"queryLogId": "a", "note": "later"}], "label 1 (a): has no score"),
        (
            [{"queryLogId": "a", "x": 1}, {"queryLogId": "a", "x": 2}],
            "label 2 (a): the same id appears at label 1",
        ),
    ],
)
def test_labels_that_cannot_be_used_are_refused_with_their_place(tmp_path, content, told):
    with pytest.raises(TestSetError) as caught:
        load_labels(write(tmp_path, content))
    assert told in str(caught.value)
    assert "labels.json" in str(caught.value)


def test_all_problems_of_a_label_file_are_told_together(tmp_path):
    with pytest.raises(TestSetError, match="2 problems"):
        load_labels(write(tmp_path, [{"queryLogId": "a", "x": 0}, {"queryLogId": "b", "x": 9}]))


def test_agreement_confusion_and_bias_by_hand():
    # human 1, 2, 3 against judge 1, 3, 3: kappa 1 - 3 * 1 / 15 = 0.8, bias (0 + 1 + 0) / 3
    labels = {"q-1": {"faithfulness": 1}, "q-2": {"faithfulness": 2}, "q-3": {"faithfulness": 3}}
    found = calibrate(records((1, 5), (3, 5), (3, 5)), labels, RUBRIC)["axes"]["faithfulness"]
    assert found["n"] == 3
    assert found["quadraticWeightedKappa"]["value"] == pytest.approx(0.8)
    low, high = found["quadraticWeightedKappa"]["interval"]
    assert -1 <= low <= 0.8 <= high <= 1
    assert found["bias"]["value"] == pytest.approx(1 / 3)
    assert found["exactAgreement"]["numerator"] == 2
    assert found["passAgreement"]["value"] == 1
    assert found["confusion"]["counts"] == [
        [1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
    ]


def test_what_has_no_counterpart_is_named():
    labels = {"q-2": {"faithfulness": 4, "humour": 2}, "q-9": {"faithfulness": 4}}
    result = calibrate(records((5, 5), (4, 4)), labels, RUBRIC)
    assert (result["n"], result["records"], result["labels"]) == (1, 2, 2)
    assert result["labelsWithoutRecord"] == ["q-9"]
    assert result["recordsWithoutLabel"] == ["q-1"]
    assert result["unknownAxes"] == ["humour"]


def test_an_undefined_agreement_is_null_with_a_reason():
    result = calibrate(records((4, 4)), {"q-1": {"faithfulness": 4}}, RUBRIC)
    json.dumps(result, allow_nan=False)
    same, none = result["axes"]["faithfulness"], result["axes"]["completeness"]
    assert same["quadraticWeightedKappa"]["value"] is None
    assert "the same score throughout" in same["reason"]
    assert none["bias"]["value"] is None
    assert "no sample has both" in none["reason"]
