"""A test-set file becomes cases, and a judge sees nothing of it but question, answer and evidence."""

import json

import pytest

from synthesis.errors import TestSetError
from synthesis.judge import testset
from synthesis.judge.model import Course, Skill

COURSE = {
    "subjectCode": "BIO-101",
    "subjectName": "Cells",
    "maxRelevanceScore": 3,
    "matchedSkills": [
        {
            "skill": "microscopy",
            "relevanceScore": 2,
            "learningOutcomes": [{"cleanedName": "Focus a microscope"}],
        }
    ],
    "courseLearningOutcomes": [{"cleanedName": "Name the parts of a cell", "loId": 7}],
}
CASE = {"queryLogId": "q-1", "question": "What can I learn?", "answer": "Cells.", "context": [COURSE]}


def load(tmp_path, content):
    path = tmp_path / "set.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return testset.load_test_set(path)


def refusal(tmp_path, content):
    with pytest.raises(TestSetError) as caught:
        load(tmp_path, content)
    assert str(tmp_path / "set.json") in str(caught.value)
    return str(caught.value)


def test_a_course_is_reduced_to_its_evidence(tmp_path):
    (case,) = load(tmp_path, [CASE])
    assert case.context == (
        Course(
            "BIO-101",
            "Cells",
            (Skill("microscopy", ("Focus a microscope",)),),
            ("Name the parts of a cell",),
        ),
    )


@pytest.mark.parametrize("field", ["relevanceScore", "maxRelevanceScore"])
def test_relevance_scores_of_old_and_new_files_are_kept_apart(tmp_path, field):
    course = {"subjectCode": "A", "subjectName": "B", field: 2.5}
    (case,) = load(tmp_path, [{**CASE, "context": [course]}])
    assert case.context == (Course("A", "B"),)
    assert case.meta == {"contextFields": [{field: 2.5}]}


def test_further_fields_are_kept_in_meta(tmp_path):
    (case,) = load(tmp_path, [{**CASE, "context": ["p"], "llmModel": "m", "duration": 4, "own": [1]}])
    assert case.meta == {"llmModel": "m", "duration": 4, "own": [1]}


@pytest.mark.parametrize(
    "context",
    [["one", "two"], [{"text": "one", "source": "x"}, "two"], [{"content": "one"}, {"text": "two"}]],
)
def test_passages_are_texts_or_objects_with_a_text(tmp_path, context):
    (case,) = load(tmp_path, [{**CASE, "context": context}])
    assert case.context == ("one", "two")


def test_an_empty_context_is_a_context(tmp_path):
    assert load(tmp_path, [{**CASE, "context": []}])[0].context == ()


def test_a_byte_order_mark_is_no_trouble(tmp_path):
    assert len(load(tmp_path, b"\xef\xbb\xbf" + json.dumps([CASE]).encode())) == 1


def test_cases_keep_the_order_of_the_file(tmp_path):
    ids = ["q-9", "q-1", "q-5"]
    cases = load(tmp_path, [{**CASE, "queryLogId": name} for name in ids])
    assert [case.query_log_id for case in cases] == ids


def test_all_problems_are_told_together_with_their_places(tmp_path):
    bad = [
        {**CASE, "answer": ["  "]},
        {**CASE, "queryLogId": "q-2", "question": True},
        "text",
        {"queryLogId": "q-5", "question": "q"},
    ]
    message = refusal(tmp_path, bad)
    assert "5 problems" in message
    assert "case 1 (q-1): the answer must be a text, not an array" in message
    assert "case 2 (q-2): the question must be a text, not a boolean" in message
    assert "case 3: expected a JSON object, found a string" in message
    assert "case 4 (q-5): has no answer" in message
    assert "case 4 (q-5): has no context" in message
    assert "The first has: queryLogId, question, answer, context." in message


def test_problems_beyond_a_hundred_are_counted(tmp_path):
    message = refusal(tmp_path, [{**CASE, "queryLogId": f"q-{n}", "question": ""} for n in range(130)])
    assert "130 problems" in message
    assert "... and 30 more" in message
    assert message.count("the question is empty") == 100


@pytest.mark.parametrize(
    ("context", "told"),
    [
        (7, "the context must be courses"),
        (True, "not a boolean"),
        ([COURSE, "passage"], "mixes courses and passages (entries 1 and 2)"),
        (["passage", "other", COURSE], "mixes courses and passages (entries 1 and 3)"),
        ([["text"]], "passage 1 must be a text or an object with one of text, content"),
        ([{"title": "x"}], "passage 1 must be a text or an object"),
        ([{**COURSE, "matchedSkills": "x"}], "course 1: matchedSkills must be an array, not a string"),
    ],
)
def test_a_context_of_the_wrong_shape_is_told_by_its_entry(tmp_path, context, told):
    message = refusal(tmp_path, [{**CASE, "context": context}])
    assert told in message
    assert "case 1 (q-1)" in message


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[]", "the set is empty"),
        (b"{}", "is not a list, and no list of rows is in it"),
        (b"", "not valid JSON"),
        (b"[\n{\n  nonsense", ":3:3: is not valid JSON"),
        (b'["\xff"]', ":1:3: is not UTF-8"),
        (b"[\n\xff]", ":2:1: is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[NaN]", "case 1: expected a JSON object, found null"),
        (b'["\\ud800"]', "case 1: expected a JSON object, found a string"),
        (b'[{"question": "\\ud800"}]', "case 1: holds half a character"),
    ],
)
def test_a_file_that_is_no_test_set_is_refused_with_its_place(tmp_path, content, told):
    assert told in refusal(tmp_path, content)


def test_a_missing_file_and_a_directory_are_told_apart(tmp_path):
    with pytest.raises(TestSetError, match="no such file"):
        testset.load_test_set(tmp_path / "absent.json")
    with pytest.raises(TestSetError, match="is a folder"):
        testset.load_test_set(tmp_path)
