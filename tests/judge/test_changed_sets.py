"""Texts, sets and judges change between runs: nothing passes under a name that is not its own."""

import pytest
from running import config_for, judge, read, results_of, sample_case, sample_cases
from server import JudgeServer

from synthesis.errors import RunFolderError, TestSetError
from synthesis.judge import clients
from synthesis.judge.rubric import load_rubric
from synthesis.judge.run import EvaluationConfig


@pytest.fixture
def server():
    with JudgeServer() as server:
        yield server


def changed(count, *numbers):
    return [sample_case(n, "It leaves at ten." if n in numbers else "The ferry leaves at nine.") for n in range(count)]


def test_on_request_a_changed_answer_keeps_its_verdict_which_is_flagged_and_does_not_count(server, tmp_path):
    first = judge(sample_cases(20), config_for(server, tmp_path))
    passed = [n for n, record in enumerate(first.records[0]) if record["passed"]]
    result = judge(changed(20, passed[0]), config_for(server, tmp_path, on_change="keep"))
    record = result.records[0][passed[0]]
    assert record["stale"] is True
    assert record["systemAnswer"] == "The ferry leaves at nine."
    assert result.metrics[0]["stale"] == 1
    assert "1 verdicts are stale" in result.warnings[0]
    assert result.gate_rate == pytest.approx(first.gate_rate - 1 / 20)
    assert not result.complete
    assert (result.calls, len(server.calls)) == (0, 20)


def test_what_has_changed_is_judged_again_and_nothing_else(server, tmp_path):
    judge(sample_cases(4), config_for(server, tmp_path))
    result = judge(changed(4, 2), config_for(server, tmp_path))
    assert result.complete
    assert result.warnings == ()
    assert server.calls[4:] == ["sample-2"]
    assert "stale" not in result.records[0][2]
    assert result.records[0][2]["systemAnswer"] == "It leaves at ten."
    assert result.results.iterations[0].cost["totalTokens"]["input"] == 400 + 401 + 402 + 403 + 402


def test_a_text_that_changes_back_finds_its_old_verdict(server, tmp_path):
    judge(sample_cases(2), config_for(server, tmp_path))
    judge(changed(2, 0), config_for(server, tmp_path))
    result = judge(sample_cases(2), config_for(server, tmp_path))
    assert result.calls == 0
    assert result.complete
    assert "stale" not in result.records[0][0]


def test_error_stops_names_the_sample_and_writes_nothing(server, tmp_path):
    judge(sample_cases(3), config_for(server, tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(RunFolderError, match="1 samples have changed since they were judged: log-1"):
        judge(changed(3, 1), config_for(server, tmp_path, on_change="error"))
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_grown_set_judges_only_what_is_new(server, tmp_path):
    judge(sample_cases(3), config_for(server, tmp_path))
    result = judge(sample_cases(5), config_for(server, tmp_path))
    assert server.calls[3:] in (["sample-3", "sample-4"], ["sample-4", "sample-3"])
    assert len(result.records[0]) == 5


def test_a_shrunk_and_reordered_set_is_reported_as_it_is_now(server, tmp_path):
    judge(sample_cases(5), config_for(server, tmp_path))
    result = judge([sample_case(4), sample_case(0)], config_for(server, tmp_path))
    assert [record["id"] for record in result.records[0]] == ["log-4", "log-0"]
    assert result.metrics[0]["sampleCount"] == 2
    assert result.complete
    assert result.results.iterations[0].cost["totalTokens"]["input"] == sum(range(400, 405))


@pytest.mark.parametrize(
    "other",
    [
        {"judge_model": "gpt-4.1-mini"},
        {
            "judge_provider": "openrouter",
            "judge_model": "openai/gpt-4o-mini",
            "api_key_env": "OPENAI_API_KEY",
        },
    ],
)
def test_another_judge_is_turned_away_with_an_offer(server, tmp_path, other):
    judge(sample_cases(2), config_for(server, tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(RunFolderError, match="another judge") as caught:
        judge(sample_cases(2), config_for(server, tmp_path, **other))
    assert "--output-dir" in caught.value.hint
    assert "--replace-judge" in caught.value.hint
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert len(server.calls) == 2
    with pytest.raises(RunFolderError, match="another judge"):
        judge(sample_cases(2), config_for(server, tmp_path, on_change="keep", **other))


def test_another_rubric_is_another_judge(server, tmp_path):
    judge(sample_cases(2), config_for(server, tmp_path))
    with pytest.raises(RunFolderError, match="rubric rag:"):
        judge(sample_cases(2), config_for(server, tmp_path, rubric=load_rubric("course")))


def test_another_judge_may_take_over_and_the_first_finds_its_verdicts_again(server, tmp_path):
    judge(sample_cases(3), config_for(server, tmp_path))
    first = results_of(tmp_path / "run")
    taken = judge(sample_cases(3), config_for(server, tmp_path, judge_model="gpt-4.1-mini", replace_judge=True))
    cost = read(tmp_path / "run" / "cost" / "cost-iteration-1.json")
    assert taken.calls == 3
    assert cost["judgeModel"] == "gpt-4.1-mini"
    assert cost["totalCost"] == pytest.approx(1203 * 0.4e-6 + 153 * 1.6e-6)
    back = judge(sample_cases(3), config_for(server, tmp_path, replace_judge=True))
    assert back.calls == 0
    assert results_of(tmp_path / "run") == first


def test_no_result_of_the_judge_before_stays_beside_those_of_the_new_one(server, tmp_path):
    judge(sample_cases(2), config_for(server, tmp_path, iterations=3))
    before = (tmp_path / "run" / "journal.jsonl").read_bytes()
    judge(sample_cases(2), config_for(server, tmp_path, judge_model="gpt-4.1-mini", replace_judge=True))
    files = {path.name for path in (tmp_path / "run").rglob("*.json")}
    assert not {name for name in files if "-2" in name or "-3" in name}
    assert (tmp_path / "run" / "journal.jsonl").read_bytes().startswith(before)


def offline(root, **changes):
    return EvaluationConfig(output_dir="run", root=root, **changes)


@pytest.fixture
def older_judge(monkeypatch):
    """Until it is called, the offline judge is an older one."""
    newer = clients.VERSION
    monkeypatch.setattr(clients, "VERSION", "1")
    return lambda: monkeypatch.setattr(clients, "VERSION", newer)


def test_a_newer_offline_judge_continues_the_folder_of_an_older_one(tmp_path, older_judge):
    judge(sample_cases(3), offline(tmp_path))
    older_judge()
    result = judge(sample_cases(3), offline(tmp_path))
    assert result.complete
    assert (result.run.judge.model, result.metrics[0]["judged"]) != ("offline-1", 0)


@pytest.mark.parametrize("policy", ["keep", "error"])
def test_a_newer_offline_judge_is_a_change_that_the_policy_decides(tmp_path, older_judge, policy):
    judge(sample_cases(3), offline(tmp_path))
    older_judge()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(RunFolderError, match="another judge") as caught:
        judge(sample_cases(3), offline(tmp_path, on_change=policy))
    assert "--on-change rejudge" in caught.value.hint
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_chat_judge_does_not_continue_an_offline_folder_nor_the_reverse(server, tmp_path):
    judge(sample_cases(1), offline(tmp_path))
    with pytest.raises(RunFolderError, match="provider offline, not openai"):
        judge(sample_cases(1), config_for(server, tmp_path))
    judge(sample_cases(1), config_for(server, tmp_path, replace_judge=True))
    with pytest.raises(RunFolderError, match="provider openai, not offline"):
        judge(sample_cases(1), offline(tmp_path))


def test_another_rubric_is_no_newer_offline_judge(tmp_path):
    judge(sample_cases(1), offline(tmp_path))
    with pytest.raises(RunFolderError, match="another judge"):
        judge(sample_cases(1), offline(tmp_path, rubric=load_rubric("course")))


def test_an_id_that_stands_twice_is_an_error_that_names_both_places(server, tmp_path):
    with pytest.raises(TestSetError, match="'log-1' appears twice: cases 2 and 4"):
        judge([*sample_cases(3), sample_case(1)], config_for(server, tmp_path))
    with pytest.raises(TestSetError, match="empty"):
        judge([], config_for(server, tmp_path))


def test_more_iterations_are_added_to_those_that_are_there(server, tmp_path):
    judge(sample_cases(2), config_for(server, tmp_path))
    result = judge(sample_cases(2), config_for(server, tmp_path, iterations=3))
    assert result.calls == 4
    assert len(result.records) == 3
    assert result.final_metrics["iterations"] == 3
    assert (tmp_path / "run" / "final-metrics" / "final-metrics-3.json").exists()
