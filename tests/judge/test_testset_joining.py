"""Answers and contexts in two files become one test set, joined by id."""

import json
import logging

import pytest

from synthesis.errors import TestSetError
from synthesis.judge import testset
from synthesis.judge.model import Course

COURSE = {"subjectCode": "A", "subjectName": "B", "relevanceScore": 1}


def write(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def answer(name, **fields):
    return {"queryLogId": name, "question": f"question {name}", "answer": f"answer {name}", **fields}


def context(name, **fields):
    return {"queryLogId": name, "rankedCourses": [COURSE], **fields}


def joined(tmp_path, answers, contexts):
    return testset.join(write(tmp_path / "a.json", answers), write(tmp_path / "c.json", contexts))


def refusal(tmp_path, answers, contexts):
    with pytest.raises(TestSetError) as caught:
        joined(tmp_path, answers, contexts)
    return str(caught.value)


def test_each_answer_gets_the_context_of_its_id_in_the_order_of_the_answers(tmp_path):
    answers = [answer("q-2"), answer("q-1", llmModel="m")]
    result = joined(tmp_path, answers, [context("q-1"), context("q-2", rankedCourses=[])])
    assert [case.query_log_id for case in result.cases] == ["q-2", "q-1"]
    assert [case.context for case in result.cases] == [(), (Course("A", "B"),)]
    assert result.cases[1].meta["llmModel"] == "m"
    assert result.notes == ()


def test_the_objects_keep_every_field_so_that_the_set_can_be_written(tmp_path):
    result = joined(tmp_path, [answer("q-1", own=1)], [context("q-1")])
    assert result.objects == ({**answer("q-1", own=1), "context": [COURSE]},)
    assert testset.parse_test_cases(result.objects, "again") == result.cases


def test_passages_and_a_question_may_stand_in_the_context_file(tmp_path):
    answers = [{"queryLogId": "q-1", "answer": "a"}]
    (case,) = joined(tmp_path, answers, [{"queryLogId": "q-1", "question": "q", "context": ["p"]}]).cases
    assert (case.question, case.context) == ("q", ("p",))


def test_answers_without_a_context_are_named_and_stay_as_samples_that_cannot_be_judged(tmp_path):
    result = joined(tmp_path, [answer("q-1"), answer("q-2"), answer("q-3")], [context("q-2")])
    assert [case.query_log_id for case in result.cases if case.problem] == ["q-1", "q-3"]
    assert "2 of 3 samples cannot be judged" in result.notes[-1]
    assert "case 1 (q-1): has no context" in result.notes[-1]


def test_two_files_without_a_common_id_are_refused(tmp_path):
    message = refusal(tmp_path, [answer("q-1"), answer("q-3")], [context("q-2")])
    assert "2 of 2 answers have no context" in message
    assert "q-1, q-3" in message


def test_entries_that_cannot_be_used_are_left_out_and_noted(tmp_path):
    answers = [answer("q-1"), answer("q-1", answer="another"), "text", {"answer": "without id"}]
    result = joined(tmp_path, answers, [context("q-1"), {"queryLogId": "q-2"}])
    assert [case.answer for case in result.cases] == ["answer q-1"]
    assert "left out: 3 (entry 2 (q-1): the same id appears before" in result.notes[0]
    assert "left out: 1 (entry 2 (q-2): has no context)" in result.notes[1]


def test_files_in_other_formats_with_other_names_are_joined(tmp_path):
    (tmp_path / "a.csv").write_text("key,reply,prompt\n7,Nine.,When?\n")
    (tmp_path / "c.jsonl").write_text(json.dumps({"key": 7, "chunks": [{"page_content": "It opens at nine."}]}))
    mapping = {"id": "key", "answer": "reply", "question": "prompt", "context": "chunks"}
    (case,) = testset.join(tmp_path / "a.csv", tmp_path / "c.jsonl", mapping=mapping).cases
    assert (case.query_log_id, case.answer, case.context) == ("7", "Nine.", ("It opens at nine.",))


def test_contexts_without_an_answer_are_left_out_and_noted(tmp_path, caplog):
    answers, contexts = [answer("q-1")], [context("q-1"), context("q-7")]
    assert joined(tmp_path, answers, contexts).notes == ("1 of 2 contexts have no answer, left out: q-7",)
    with caplog.at_level(logging.INFO):
        assert len(testset.join_files(tmp_path / "a.json", tmp_path / "c.json")) == 1
    assert "q-7" in caplog.text


def test_a_context_beside_another_question_is_noted(tmp_path):
    (note,) = joined(tmp_path, [answer("q-1")], [context("q-1", question="another")]).notes
    assert "q-1" in note


@pytest.mark.parametrize(
    ("answers", "contexts", "file", "told"),
    [
        ([], [context("q-1")], "a.json", "the set is empty"),
        ([answer("q-1")], [], "c.json", "the set is empty"),
        (
            [answer("q-1")],
            [{"queryLogId": "q-1"}],
            "c.json",
            "entry 1 (q-1): has no context",
        ),
        ([{"queryLogId": "q-1"}], [context("q-1")], "a.json", "entry 1 (q-1): has no answer"),
        ([answer("q-1")], ["q-1"], "c.json", "entry 1: expected a JSON object"),
        ([answer("q-1", question=" ")], [context("q-1")], "a.json", "case 1 (q-1): the question is empty"),
        ([answer("q-1")], [context("q-1", rankedCourses=3)], "c.json", "the context must be courses"),
    ],
)
def test_what_cannot_be_joined_is_told_with_its_file(tmp_path, answers, contexts, file, told):
    message = refusal(tmp_path, answers, contexts)
    assert told in message
    assert file in message
