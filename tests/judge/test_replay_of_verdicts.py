"""Recorded verdicts answer in place of a model."""

import json

import pytest
from running import config_for, judge, sample_case, sample_cases
from server import JudgeServer, says

from synthesis.errors import OptionError, TestSetError
from synthesis.judge.run import EvaluationConfig


def replay(root, source, **changes):
    settings = {
        "output_dir": "replayed",
        "root": root,
        "judge_provider": "replay",
        "judge_model": str(source),
    }
    return EvaluationConfig(**{**settings, **changes})


@pytest.fixture
def recorded(tmp_path):
    """A run of two iterations that differ."""
    harsh = json.dumps({axis: {"reasoning": "no", "score": 1} for axis in ("faithfulness", "completeness")})
    with JudgeServer({"sample-4": [{}, says(harsh)]}) as server:
        return judge(sample_cases(6), config_for(server, tmp_path, iterations=2, concurrency=1))


def verdicts(result):
    return [[record["judgeVerdict"] for record in records] for records in result.records]


@pytest.mark.parametrize("by_name", [True, False])
def test_a_run_is_replayed_iteration_by_iteration_at_no_cost(recorded, tmp_path, by_name):
    source = "run" if by_name else tmp_path / "run"
    result = judge(sample_cases(6), replay(tmp_path, source, iterations=2))
    assert verdicts(result) == verdicts(recorded)
    assert verdicts(result)[0][4] != verdicts(result)[1][4]
    assert result.results.final_cost["aggregateStats"]["totalCost"] == 0
    assert result.final_metrics["aggregateMetrics"] == recorded.final_metrics["aggregateMetrics"]


def test_a_records_file_answers_every_iteration(recorded, tmp_path):
    source = tmp_path / "run" / "records" / "records-iteration-1.json"
    result = judge(sample_cases(6), replay(tmp_path, source, iterations=2))
    assert verdicts(result)[0] == verdicts(result)[1] == verdicts(recorded)[0]


def test_a_verdict_file_by_id(tmp_path):
    verdict = {axis: {"score": 4, "reasoning": "fine"} for axis in ("faithfulness", "completeness")}
    path = tmp_path / "verdicts.json"
    path.write_text(json.dumps({"log-0": verdict}))
    result = judge(sample_cases(2), replay(tmp_path, path))
    assert result.records[0][0]["passed"]
    assert result.results.iterations[0].errors[0]["reason"] == "the recording has no verdict on this sample"


def test_a_verdict_on_another_answer_is_not_replayed(recorded, tmp_path):
    result = judge([sample_case(0, "Another answer.")], replay(tmp_path, tmp_path / "run"))
    assert "another question or answer" in result.results.iterations[0].errors[0]["reason"]


def test_a_recorded_score_off_the_scale_is_an_error(tmp_path):
    path = tmp_path / "verdicts.json"
    path.write_text(json.dumps({"log-0": {"faithfulness": {"score": 6, "reasoning": "x"}}}))
    result = judge(sample_cases(1), replay(tmp_path, path))
    assert "whole number from 1 to 5" in result.results.iterations[0].errors[0]["reason"]


@pytest.mark.parametrize("content", [None, "[1", "7", '{"a": 1}'])
def test_a_wrong_recording_is_refused(tmp_path, content):
    path = tmp_path / "recording.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(TestSetError):
        judge(sample_cases(1), replay(tmp_path, path))


def test_replay_without_a_recording_says_what_it_needs(tmp_path):
    with pytest.raises(OptionError, match="--judge-model PATH"):
        judge(sample_cases(1), replay(tmp_path, ""))
