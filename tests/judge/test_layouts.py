"""Sets of courses have the fields that the specification names; no other set ever reads of courses or query logs."""

import json
import re

import pytest
from running import config_for, files_under, judge, read, sample_case, sample_cases, write_set
from server import JudgeServer, drop, says

from synthesis.cli.main import call
from synthesis.history import Provenance, open_history
from synthesis.io import TEST_SETS
from synthesis.judge import load_test_set
from synthesis.judge.calibration import calibrate, load_labels
from synthesis.judge.journal import read_ledger
from synthesis.judge.metrics import failure_analysis, iteration_metrics
from synthesis.judge.results import read_run
from synthesis.judge.rubric import load_rubric
from synthesis.judge.run import EvaluationConfig
from synthesis.report.judged.layout import COURSES, PASSAGES, canonical, canonical_record, in_words, told

OF_COURSES = re.compile("queryLog|query_log|courseCount|CourseCount|rankedCourses")
REPLAYED = ("--judge-provider", "replay", "--judge-model", "passages")
LABELS = [{"id": f"passage-00{number}", "faithfulness": number, "completeness": 4} for number in range(1, 6)]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys, *args, code=0):
    capsys.readouterr()
    assert call([str(arg) for arg in args]) == code
    captured = capsys.readouterr()
    return captured.out + captured.err


def offline(root, name="run", **changes):
    return EvaluationConfig(output_dir=name, root=root, **changes)


def passages():
    return list(load_test_set(TEST_SETS / "passages.json"))


def courses():
    return list(load_test_set(TEST_SETS / "courses.json"))


def test_no_file_of_a_run_of_passages_speaks_of_courses(tmp_path):
    with JudgeServer({"sample-1": [says("no")] * 9, "sample-2": [drop()]}) as server:
        judge(sample_cases(5), config_for(server, tmp_path, iterations=2))
    judge([*passages(), sample_case(0, "")], offline(tmp_path, "offline"))
    for path in files_under(tmp_path):
        assert not OF_COURSES.search(path.read_text()), path
    record = read(tmp_path / "run" / "records" / "records-iteration-1.json")[0]
    assert (next(iter(record)), record["passageCount"]) == ("id", 1)
    metrics = read(tmp_path / "run" / "metrics" / "metrics-iteration-1.json")
    assert metrics["averagePassageCount"]["value"] == 1
    assert read(tmp_path / "run" / "records" / "errors-iteration-1.json")[0]["id"] == "log-1"
    assert [call["id"] for call in read(tmp_path / "run" / "cost" / "cost-iteration-1.json")["unaccountedCalls"]] == [
        "log-2"
    ]


def test_a_run_of_courses_has_the_fields_of_the_specification(tmp_path):
    result = judge(courses(), offline(tmp_path))
    record = read(result.folder / "records" / "records-iteration-1.json")[0]
    assert (next(iter(record)), record["courseCount"]) == ("queryLogId", len(courses()[0].context))
    assert "averageCourseCount" in read(result.folder / "metrics" / "metrics-iteration-1.json")
    analysis = read(result.folder / "low-faithfulness" / "low-faithfulness-iteration-1.json")
    examples = [example for kind in analysis["byCompletenessReason"].values() for example in kind["examples"]]
    assert {next(iter(example)) for example in examples} == {"queryLogId"}
    assert "queryLogId" in read(result.folder / "iteration-1" / ".progress.json")["entries"][0]
    for path in files_under(result.folder):
        assert "passageCount" not in path.read_text()
        assert '"id"' not in path.read_text()


def test_courses_under_another_rubric_keep_their_fields(tmp_path):
    result = judge(courses(), offline(tmp_path, rubric=load_rubric("rag")))
    assert "queryLogId" in result.records[0][0]
    with open_history(tmp_path / "history.db") as history:
        document = "".join(history.export(history.add_judged(result.folder)))
    assert "queryLogId" in json.loads(document)["results"][0]["record"]


def test_the_console_speaks_of_neither(here, capsys):
    (here / "labels.json").write_text(json.dumps(LABELS))
    runs = here / "runs"
    shown = said(capsys, "judge", "run", "passages", "--allow-untold", 1, "--root", runs, "--iterations", 2)
    for words in (
        ("run", "passages", "--root", runs, "--iterations", 2, "--json", "--allow-untold", 1),
        ("status", "passages", "--root", runs),
        ("status", "passages", "--root", runs, "--json"),
        ("report", "passages", "--root", runs),
        ("report", "passages", "--root", runs, "--format", "html"),
        ("report", "passages", "--root", runs, "--format", "markdown"),
        ("calibrate", "passages", "labels.json", "--root", runs),
        ("calibrate", "passages", "labels.json", "--root", runs, "--json"),
        (*("run", "passages", "--root", runs, "--output-dir", "other", "--allow-untold", 1), *REPLAYED),
        ("panel", "passages", "other", "--root", runs, "--out", here / "panel.json"),
        ("panel", "passages", "other", "--root", runs, "--json"),
        ("run", "--help-all"),
        ("calibrate", "--help"),
    ):
        shown += said(capsys, "judge", *words, code=3 if words[0] == "panel" else 0)  # not every sample is told
    assert '"averagePassageCount"' in shown
    assert not OF_COURSES.search(shown)
    for path in files_under(here):
        assert not OF_COURSES.search(path.read_text()), path
    assert read(here / "panel.json")["samples"][0]["id"] == "passage-001"


def test_a_history_of_passages_speaks_of_neither(here, capsys):
    said(
        capsys,
        "judge",
        "run",
        "passages",
        "--allow-untold",
        1,
        "--root",
        here,
        "--save-text",
        "--save",
        "--history",
        here / "h.db",
    )
    for words in (("show", "latest"), ("show", "latest", "--json"), ("export", "latest"), ("list", "--json")):
        shown = said(capsys, "history", *words, "--history", here / "h.db")
        assert not OF_COURSES.search(shown), words
    (here / "run.json").write_text(said(capsys, "history", "export", "latest", "--history", here / "h.db"))
    said(capsys, "history", "add", here / "run.json", "--history", here / "other.db", "--save-text")
    again = said(capsys, "history", "export", "latest", "--history", here / "other.db")
    assert json.loads(again)["results"] == json.loads((here / "run.json").read_text())["results"]


def test_an_export_with_the_names_of_courses_is_taken_and_told_in_ones_own(tmp_path):
    judge(passages(), offline(tmp_path))
    with open_history(tmp_path / "history.db") as history:
        document = json.loads("".join(history.export(history.add_judged(tmp_path / "run", Provenance(with_text=True)))))
    document = {**canonical({**document, "results": []}), "history": document["history"]} | {
        "results": [{**one, "record": canonical_record(one["record"])} for one in document["results"]]
    }
    assert "queryLogId" in document["results"][0]["record"]
    assert "averageCourseCount" in document["summary"]["iterations"][0]["metrics"]
    (tmp_path / "old.json").write_text(json.dumps(document))
    with open_history(tmp_path / "other.db") as history:
        run_id = history.add(tmp_path / "old.json", Provenance(with_text=True))
        assert history.judged(run_id).last.records == read_run(tmp_path / "run").last.records
        assert not OF_COURSES.search("".join(history.export(run_id)))


@pytest.mark.parametrize(
    ("content", "told_as"),
    [
        ([{"question": 7, "context": 3}], "A case has id, question"),
        ([{"id": "a", "question": "", "answer": "b", "context": []}], "the question is empty"),
    ],
)
def test_a_set_that_cannot_be_judged_is_refused_in_plain_words(here, capsys, content, told_as):
    (here / "set.json").write_text(json.dumps(content))
    shown = said(capsys, "judge", "run", "set.json", code=1)
    assert told_as in shown
    assert not OF_COURSES.search(shown)


def test_a_damaged_journal_is_named_by_the_fields_that_it_has(tmp_path):
    judge(passages(), offline(tmp_path))
    path = tmp_path / "run" / "journal.jsonl"
    lines = [re.sub(r',"sum":"[0-9a-f]{8}"', "", line) for line in path.read_text().splitlines()]
    for field in ('"id":"passage-001",', '"passageCount":2,'):
        path.write_text("\n".join(line.replace(field, "") for line in lines) + "\n")
        with pytest.raises(Exception, match=f"missing required field `{field.split(chr(34))[1]}`") as caught:
            read_ledger(tmp_path / "run")
        assert not OF_COURSES.search(str(caught.value))


def test_joined_and_built_sets_have_the_words_of_what_they_hold(here, capsys):
    (here / "answers.json").write_text('[{"queryLogId": "q-1", "question": "When?", "answer": "At nine."}]')
    (here / "passages.json").write_text('[{"id": "q-1", "passages": ["It opens at nine."]}]')
    (here / "courses.json").write_text('[{"id": "q-1", "rankedCourses": [{"subjectCode": "A-1", "subjectName": "B"}]}]')
    for kind, name in (("passages", "id"), ("courses", "queryLogId")):
        said(capsys, "testset", "join", "answers.json", f"{kind}.json", "--out", f"{kind}-set.json")
        assert next(iter(read(here / f"{kind}-set.json")[0])) == name
        (here / f"{kind}.jsonl").write_text(
            json.dumps(json.loads((here / f"{kind}.json").read_text())[0] | {"question": "When?", "answer": "At nine."})
        )
        said(capsys, "testset", "build", f"{kind}.jsonl", "--out", f"{kind}-built.json")
        assert next(iter(read(here / f"{kind}-built.json")[0])) == name
        assert read(here / f"{kind}-set.json")[0][name] == read(here / f"{kind}-built.json")[0][name] == "q-1"


# What is read may have either.


def test_labels_may_have_either(tmp_path):
    for name in ("id", "queryLogId"):
        (tmp_path / "labels.json").write_text(json.dumps([{name: "q-1", "faithfulness": 4}]))
        assert load_labels(tmp_path / "labels.json") == {"q-1": {"faithfulness": 4}}


@pytest.mark.parametrize("layout", [COURSES, PASSAGES])
def test_stages_and_recordings_read_either(tmp_path, layout):
    result = judge(passages(), offline(tmp_path))
    rubric = load_rubric("rag")
    records = told([canonical_record(record) for record in result.records[0]], layout)
    counts = {"total": len(records), "errors": 0, "not_judged": 0, "stale": 0}
    assert iteration_metrics(records, rubric, iteration=1, timestamp="now", **counts)["judged"] == 4
    assert failure_analysis(records, rubric)["totalSamples"] == 4
    assert calibrate(records, {records[1].get("id") or records[1]["queryLogId"]: {"faithfulness": 5}}, rubric)["n"] == 1
    (tmp_path / "recorded.json").write_text(json.dumps(records))
    replay = offline(tmp_path, "again", judge_provider="replay", judge_model=str(tmp_path / "recorded.json"))
    assert judge(passages(), replay).complete


def test_a_journal_with_the_names_of_courses_goes_on_in_the_words_of_its_set(tmp_path):
    """As versions before 0.2 wrote it for passages, too."""
    judge(passages(), offline(tmp_path))
    path = tmp_path / "run" / "journal.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line.pop("sum")
        if "record" in line:
            line["record"] = canonical_record(line["record"])
    path.write_text("".join(json.dumps(line) + "\n" for line in lines[:6]))
    result = judge(passages(), offline(tmp_path))
    assert result.complete
    assert [record["id"] for record in result.records[0]] == [case.query_log_id for case in passages()]
    assert "queryLogId" not in (tmp_path / "run" / "records" / "records-iteration-1.json").read_text()


# The renaming itself.


def test_telling_and_reading_are_inverse_and_leave_what_is_not_theirs():
    record = {"queryLogId": "a", "courseCount": 2, "judgeVerdict": {"id": {"score": 1}}, "details": {"queryLogId": 1}}
    plain = told(record, PASSAGES)
    assert plain == {"id": "a", "passageCount": 2, "judgeVerdict": {"id": {"score": 1}}, "details": {"queryLogId": 1}}
    assert canonical(plain) == canonical_record(plain) == record
    assert told(record, COURSES) is record
    assert told({"queryLogId": "a", "id": "mine"}, PASSAGES) == {"queryLogId": "a", "id": "mine"}
    assert in_words("field `courseCount`", PASSAGES) == "field `passageCount`"
    assert in_words("field `courseCount`", COURSES) == "field `courseCount`"


def test_a_set_file_may_say_either_in_any_way(tmp_path):
    row = {"question": "When?", "answer": "At nine."}
    for name in ("id", "queryLogId", "query_log_id"):
        for field in ("context", "passages"):
            path = write_set(tmp_path / "set.json", [])
            path.write_text(json.dumps([{name: "q-1", field: ["It opens at nine."], **row}]))
            (case,) = load_test_set(path)
            assert (case.query_log_id, case.context, case.meta) == ("q-1", ("It opens at nine.",), {})
