"""Texts, sets and judges change between runs: nothing passes under a name that is not its own."""

import pytest
from running import config_for, judge, read, results_of, sample_case, sample_cases
from server import JudgeServer

from synthesis.errors import RunFolderError, TestSetError


@pytest.fixture
def server():
    with JudgeServer() as server:
        yield server


def changed(count, *numbers):
    return [sample_case(n, "It leaves at ten." if n in numbers else "The ferry leaves at nine.") for n in range(count)]


def test_a_changed_answer_keeps_its_verdict_is_flagged_counted_and_does_not_pass(server, tmp_path):
    first = judge(sample_cases(20), config_for(server, tmp_path))
    passed = [n for n, record in enumerate(first.records[0]) if record["passed"]]
    result = judge(changed(20, passed[0]), config_for(server, tmp_path))
    record = result.records[0][passed[0]]
    assert record["stale"] is True
    assert record["systemAnswer"] == "The ferry leaves at nine."
    assert result.metrics[0]["stale"] == 1
    assert "1 verdicts are stale" in result.warnings[0]
    assert result.gate_rate == pytest.approx(first.gate_rate - 1 / 20)
    assert (result.calls, len(server.calls)) == (0, 20)


def test_rejudge_judges_only_what_has_changed(server, tmp_path):
    judge(sample_cases(4), config_for(server, tmp_path))
    result = judge(changed(4, 2), config_for(server, tmp_path, on_change="rejudge"))
    assert server.calls[4:] == ["sample-2"]
    assert "stale" not in result.records[0][2]
    assert result.records[0][2]["systemAnswer"] == "It leaves at ten."
    assert result.results.iterations[0].cost["totalTokens"]["input"] == 400 + 401 + 402 + 403 + 402


def test_a_text_that_changes_back_finds_its_old_verdict(server, tmp_path):
    judge(sample_cases(2), config_for(server, tmp_path))
    judge(changed(2, 0), config_for(server, tmp_path, on_change="rejudge"))
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
    assert [record["queryLogId"] for record in result.records[0]] == ["log-4", "log-0"]
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
    assert "--on-change rejudge" in caught.value.hint
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert len(server.calls) == 2


def test_another_rubric_is_another_judge(server, tmp_path):
    from synthesis.judge.rubric import load_rubric

    judge(sample_cases(2), config_for(server, tmp_path))
    with pytest.raises(RunFolderError, match="rubric rag:"):
        judge(sample_cases(2), config_for(server, tmp_path, rubric=load_rubric("course")))


def test_another_judge_may_take_over_and_the_first_finds_its_verdicts_again(server, tmp_path):
    judge(sample_cases(3), config_for(server, tmp_path))
    first = results_of(tmp_path / "run")
    taken = judge(sample_cases(3), config_for(server, tmp_path, judge_model="gpt-4.1-mini", on_change="rejudge"))
    cost = read(tmp_path / "run" / "cost" / "cost-iteration-1.json")
    assert taken.calls == 3
    assert cost["judgeModel"] == "gpt-4.1-mini"
    assert cost["totalCost"] == pytest.approx(1203 * 0.4e-6 + 153 * 1.6e-6)
    back = judge(sample_cases(3), config_for(server, tmp_path, on_change="rejudge"))
    assert back.calls == 0
    assert results_of(tmp_path / "run") == first


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
