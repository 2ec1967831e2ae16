"""Whatever JSON a file holds, it becomes cases, labels or rows, or an error with a place: never a crash."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesis.errors import TestSetError
from synthesis.judge import querylog, testset
from synthesis.judge.calibration import load_labels

CASE_NAMES = ["queryLogId", "id", "question", "answer", "context", "rankedCourses", "text", "content"]
COURSE_NAMES = ["subjectCode", "subjectName", "matchedSkills", "skill", "learningOutcomes", "cleanedName"]
OTHER_NAMES = ["steps", "output", "status", "createdAt", "faithfulness", "duration", "tokenUsage"]
NAMES = st.sampled_from([*CASE_NAMES, *COURSE_NAMES, *OTHER_NAMES])
TEXTS = st.sampled_from(["q-1", "q-2", "", " ", "[", "{}", "2025-01-01", "5"]) | st.text()
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=25,
)
CONTEXTS = st.lists(TEXTS, max_size=2) | VALUES
LIKELY_CASES = st.fixed_dictionaries(
    {"queryLogId": TEXTS, "question": TEXTS, "answer": TEXTS, "context": CONTEXTS}, optional={"own": VALUES}
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("any")


def stored(folder, value, name):
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def result_or_refusal(function, *args):
    """What the function gives; None if it refuses, which it must do with a place."""
    try:
        return function(*args)
    except TestSetError as error:
        refusal = error
    assert refusal.place is not None
    assert str(refusal).startswith(str(refusal.place))
    return None


@given(objects=st.lists(LIKELY_CASES | VALUES, max_size=3))
def test_test_cases(objects):
    cases = result_or_refusal(testset.parse_test_cases, objects, "file.json")
    if cases is not None:
        assert 0 < len(cases) <= len(objects)
        assert len({case.query_log_id for case in cases}) == len(cases)
        assert all(case.problem or case.question.strip() for case in cases)
        assert not all(case.problem for case in cases)


@given(value=VALUES)
def test_labels(folder, value):
    labels = result_or_refusal(load_labels, stored(folder, value, "labels.json"))
    for scores in (labels or {}).values():
        assert scores
        assert all(score in range(1, 6) for score in scores.values())


@given(answers=st.lists(LIKELY_CASES, max_size=2) | VALUES, contexts=st.lists(LIKELY_CASES, max_size=2) | VALUES)
@settings(max_examples=50)
def test_joined_files(folder, answers, contexts):
    paths = stored(folder, answers, "a.json"), stored(folder, contexts, "c.json")
    joined = result_or_refusal(testset.join, *paths)
    assert joined is None or 0 < len(joined.cases) <= len(answers)


@given(row=LIKELY_CASES | VALUES)
def test_log_rows(folder, row):
    source = str(stored(folder, row, "log.jsonl"))
    built = result_or_refusal(querylog.build_test_set, source, querylog.Selection())
    assert built is None or testset.parse_test_cases(built.objects, "again") == built.cases


@given(objects=st.lists(LIKELY_CASES, max_size=3))
@settings(max_examples=50)
def test_a_set_that_is_written_loads_as_it_was(folder, objects):
    cases = result_or_refusal(testset.parse_test_cases, objects, "file.json")
    if cases is not None:
        testset.write_test_set(objects, folder / "set.json", force=True)
        assert testset.load_test_set(folder / "set.json") == cases
