"""Sets as people have them: gaps are counted, other names and formats understood, samples refused, not sets."""

import csv
import json

import pytest
from running import config_for, judge, read, sample_case, synthesis
from server import JudgeServer

from synthesis.cli.main import call
from synthesis.judge import testset
from synthesis.judge.model import Course, Skill, TestCase
from synthesis.read.mapping import parse_map

CASE = {"queryLogId": "q-1", "question": "When does it open?", "answer": "At nine.", "context": ["It opens at nine."]}


def loaded(tmp_path, rows, name="set.json", **options):
    path = tmp_path / name
    text = "\n".join(map(json.dumps, rows)) if name.endswith("l") else json.dumps(rows)
    path.write_text(text, encoding="utf-8")
    return testset.read_test_set(path, **options)


def only(tmp_path, **fields):
    (case,) = loaded(tmp_path, [{**CASE, **fields}]).cases
    return case


COURSE = {
    "subjectCode": 101,
    "subjectName": "Cells",
    "matchedSkills": [{"skill": "microscopy", "learningOutcomes": [{"cleanedName": ""}, {"cleanedName": "Focus"}]}, {}],
    "courseLearningOutcomes": [{"cleanedName": None}, {"cleanedName": " "}, {}, {"cleanedName": "Name parts"}],
}


def test_empty_outcomes_and_skills_are_left_out_and_counted(tmp_path):
    found = loaded(tmp_path, [{**CASE, "context": [COURSE, None]}, {**CASE, "queryLogId": "q-2", "context": [COURSE]}])
    assert found.cases[0].context == (Course("101", "Cells", (Skill("microscopy", ("Focus",)),), ("Name parts",)),)
    assert found.notes == (
        "courses that are null, left out: 1 (in q-1)",
        "learning outcomes without a cleanedName, left out: 8 (in q-1, q-2)",
        "matched skills without a name, left out: 2 (in q-1, q-2)",
    )


def test_a_course_without_a_name_is_still_evidence(tmp_path):
    found = loaded(tmp_path, [{**CASE, "context": [{"subjectCode": "A"}]}])
    assert found.cases[0].context == (Course("A", ""),)
    assert found.notes == ("courses without a subjectName: 1 (in q-1)",)


@pytest.mark.parametrize(("value", "name"), [(7, "7"), (7.0, "7"), ("7", "7"), (0, "0"), (1.5, "1.5"), (-3, "-3")])
def test_ids_that_are_numbers(tmp_path, value, name):
    assert only(tmp_path, queryLogId=value).query_log_id == name


@pytest.mark.parametrize(
    "context",
    [
        "one",
        ["one"],
        ["one", None, "", "  "],
        [{"page_content": "one", "metadata": {"source": "x"}}],
        [{"pageContent": "one"}, {"page_content": None}],
        [{"lc": 1, "type": "constructor", "id": ["langchain"], "kwargs": {"page_content": "one", "type": "Document"}}],
        {"text": "one"},
        '["one"]',
        "['one', None]",
        [{"text": "one"}],
    ],
)
def test_contexts_of_every_shape(tmp_path, context):
    assert only(tmp_path, context=context).context == ("one",)


@pytest.mark.parametrize("context", ["[1] It opens at nine.", "{draft} nine", "[broken", "['a' + b]"])
def test_a_text_that_only_looks_like_a_list_is_one_passage(tmp_path, context):
    assert only(tmp_path, context=context).context == (context,)


def test_null_passages_and_null_contexts_are_counted(tmp_path):
    rows = [{**CASE, "context": ["a", None, ""]}, {**CASE, "queryLogId": "q-2", "context": None}]
    found = loaded(tmp_path, rows)
    assert [case.context for case in found.cases] == [("a",), ()]
    assert found.notes == (
        "passages that are null or empty, left out: 2 (in q-1)",
        "samples whose context is null, judged as if nothing had been retrieved: 1 (in q-2)",
    )


RAGAS = {"user_input": "When?", "response": "Nine.", "retrieved_contexts": ["At nine."], "reference": "9"}
DEEPEVAL = {
    "input": "When?",
    "actual_output": "Nine.",
    "retrieval_context": ["At nine."],
    "context": ["what should have been found"],
    "expected_output": "9",
}
OLD_RAGAS = {"question": "When?", "answer": "Nine.", "contexts": ["At nine."], "ground_truth": "9"}


@pytest.mark.parametrize("row", [RAGAS, DEEPEVAL, OLD_RAGAS], ids=["ragas", "deepeval", "old ragas"])
@pytest.mark.parametrize("name", ["set.json", "set.jsonl"])
def test_names_of_other_tools(tmp_path, row, name):
    found = loaded(tmp_path, [row], name)
    (case,) = found.cases
    assert (case.question, case.answer, case.context) == ("When?", "Nine.", ("At nine.",))
    assert "9" in case.meta.values()
    assert found.notes == (f"samples without an id; it is derived from the question: 1 (in {case.query_log_id})",)


def test_a_derived_id_does_not_depend_on_the_order_or_the_answer(tmp_path):
    other = {**RAGAS, "user_input": "Where?"}
    forth = loaded(tmp_path, [RAGAS, other]).cases
    back = loaded(tmp_path, [other, {**RAGAS, "response": "Ten."}]).cases
    assert [case.query_log_id for case in forth] == [case.query_log_id for case in reversed(back)]
    twice = loaded(tmp_path, [RAGAS, {**RAGAS, "response": "Ten."}]).cases
    assert twice[1].query_log_id == f"{twice[0].query_log_id}#2"


def test_a_repeated_id_costs_no_sample(tmp_path):
    found = loaded(tmp_path, [CASE, CASE, {**CASE, "answer": "At ten."}])
    assert [(case.query_log_id, case.answer) for case in found.cases] == [("q-1", "At nine."), ("q-1#2", "At ten.")]
    assert "samples that appear twice word for word, judged once: 1 (in q-1)" in found.notes
    assert "samples whose id was taken by another, judged under an id with #2, #3, ...: 1 (in q-1#2)" in found.notes


def test_the_rest_is_mapped(tmp_path):
    row = {"key": 5, "prompt": {"text": "When?"}, "reply": "Nine.", "found": {"chunks": ["At nine."]}}
    mapping = parse_map("id=key,question=prompt.text,answer=reply,context=found.chunks", testset.NAMES)
    (case,) = loaded(tmp_path, [row], mapping=mapping).cases
    assert (case.query_log_id, case.question, case.answer, case.context) == ("5", "When?", "Nine.", ("At nine.",))


def test_a_table_with_lists_as_texts(tmp_path):
    with (tmp_path / "set.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "user_input", "response", "retrieved_contexts"])
        writer.writerow(["1", "When?", "Nine,\nas ever.", '["At nine.", "Closed on Sundays."]'])
        writer.writerow(["2", "When?", "", "['It''s at nine.']".replace("''", "\\'")])
        writer.writerow(["3", "When?", "Nine.", "At nine."])
    cases = testset.load_test_set(tmp_path / "set.csv")
    assert [case.context for case in cases] == [
        ("At nine.", "Closed on Sundays."),
        ("It's at nine.",),
        ("At nine.",),
    ]
    assert [case.answer for case in cases] == ["Nine,\nas ever.", "", "Nine."]


def test_a_line_that_cannot_be_read_is_one_sample_that_cannot_be_judged(tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(CASE) + "\n{broken\n" + json.dumps({**CASE, "id": "x" * 3000}) + "\n")
    found = testset.read_test_set(path, most_line=1000)
    assert [(case.query_log_id, bool(case.problem)) for case in found.cases][:2] == [("q-1", False), ("line-2", True)]
    assert "line 2: is not valid JSON" in found.notes[-1]


def test_a_sample_that_cannot_be_judged_does_not_stop_the_others(tmp_path):
    bad = [{**CASE, "queryLogId": "b", "question": ""}, 7, {**CASE, "queryLogId": "c", "context": [{"title": "x"}]}]
    found = loaded(tmp_path, [CASE, *bad])
    assert [case.problem for case in found.cases] == [
        "",
        "cannot be judged: the question is empty",
        "cannot be judged: expected a JSON object, found a number",
        "cannot be judged: passage 1 must be a text or an object with one of text, content, page_content, "
        "pageContent, not an object",
    ]
    assert found.notes[-1].startswith("3 of 4 samples cannot be judged and end as errors: case 2 (b): the question")


def test_such_samples_are_errors_of_the_run_without_a_call(tmp_path):
    cases = [sample_case(0), TestCase("bad", "", "a", (), problem="cannot be judged: the question is empty")]
    with JudgeServer() as server:
        result = judge(cases, config_for(server, tmp_path))
    [error] = result.results.iterations[0].errors
    assert (error["queryLogId"], error["reason"]) == ("bad", "cannot be judged: the question is empty")
    assert server.calls == ["sample-0"]
    assert not result.complete
    assert result.metrics[0]["overallPassRate"]["denominator"] == 2


@pytest.mark.parametrize("answer", ["", " \n\t"])
def test_an_empty_answer_is_judged_without_a_call_and_shown_apart(tmp_path, answer):
    cases = [sample_case(0), sample_case(1, answer)]
    with JudgeServer() as server:
        result = judge(cases, config_for(server, tmp_path))
    record = result.records[0][1]
    assert {name: axis["score"] for name, axis in record["judgeVerdict"].items()} == {
        "faithfulness": 1,
        "completeness": 1,
    }
    assert (record["flags"], record["tokenUsage"], record["passed"]) == (["empty answer"], [], False)
    assert server.calls == ["sample-0"]
    assert result.complete
    analysis = result.results.iterations[0].analysis
    assert analysis["emptyAnswers"]["count"] == 1
    assert analysis["emptyAnswers"]["examples"][0]["queryLogId"] == "log-1"
    # sample-0 has 1 and 1 as well, from the judge: that is a contradiction
    assert analysis["byFaithfulnessReason"]["completelyFalse"]["count"] == 1
    assert "1 of 2 failed records (1 of 2 in all) has an empty answer" in analysis["insights"]["systemWeakness"]
    assert result.metrics[0]["callsPerSample"]["distribution"] == {"0": 1, "1": 1}


def test_the_command_says_what_it_left_out_and_judges_the_rest(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"query": "When does it open?", "out": "At nine.", "docs": ["It opens at nine.", None]},
        {"query": "When does it close?", "out": "", "docs": "It closes at six."},
        {"query": "Where is it?", "docs": []},
    ]
    (tmp_path / "real.jsonl").write_text("\n".join(map(json.dumps, rows)))
    code = call(["judge", "run", "real.jsonl", "--map", "answer=out,context=docs"])
    out, err = capsys.readouterr()
    assert code == 3
    assert "warning: passages that are null or empty, left out: 1" in err
    assert "warning: 1 of 3 samples cannot be judged and end as errors: line 3" in err
    assert "1 answers are empty" in out
    folder = tmp_path / "data/evaluation/answer-synthesis/real"
    assert len(read(folder / "records/records-iteration-1.json")) == 2
    assert read(folder / "records/errors-iteration-1.json")[0]["reason"] == "cannot be judged: has no answer"


def test_limit_and_ids_judge_a_part_and_the_whole_later_judges_the_rest(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "set.json").write_text(json.dumps([{**CASE, "queryLogId": f"q-{n}"} for n in range(5)]))
    folder = tmp_path / "data/evaluation/answer-synthesis/set"

    def judged(*options):
        assert call(["judge", "run", "set.json", *options]) == 0
        capsys.readouterr()
        return [record["id"] for record in read(folder / "records/records-iteration-1.json")]

    assert judged("--limit", "2") == ["q-0", "q-1"]
    assert judged("--id", "q-3,q-1", "--id", "q-4") == ["q-1", "q-3", "q-4"]
    assert judged() == [f"q-{n}" for n in range(5)]
    journal = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    assert sum(line["t"] == "verdict" for line in journal) == 5


def test_an_estimate_counts_only_samples_that_a_judge_is_asked_about(tmp_path):
    rows = [CASE, {**CASE, "queryLogId": "e", "answer": ""}, {**CASE, "queryLogId": "b", "question": ""}]
    (tmp_path / "set.json").write_text(json.dumps(rows))
    done = synthesis("judge", "estimate", "set.json", "--judge-provider", "openai", cwd=tmp_path)
    assert "3 samples, 1 verdicts to request" in done.stdout
