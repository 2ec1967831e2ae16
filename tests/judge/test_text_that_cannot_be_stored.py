"""A lone surrogate has no place in UTF-8: it becomes U+FFFD, and the verdict around it counts."""

import pytest
from running import config_for, judge, read, sample_cases
from server import JudgeServer, good_content, says

from synthesis.judge.journal import read_ledger

ESCAPED = good_content("sample-0").replace("faithfulness of", r"half \ud800 a pair, \udc00\ud83d\ude00 of")
RAW = good_content("sample-0").replace("faithfulness of", "half \ud800 of")


@pytest.mark.parametrize("content", [ESCAPED, RAW], ids=["escaped in the verdict", "escaped in the completion"])
def test_a_reply_with_a_lone_surrogate_counts_and_is_flagged(tmp_path, content):
    with JudgeServer({"sample-0": [says(content)]}) as server:
        result = judge(sample_cases(2), config_for(server, tmp_path))
        again = judge(sample_cases(2), config_for(server, tmp_path))
        assert len(server.calls) == 2
    assert result.complete
    assert again.complete
    first, second = read(tmp_path / "run" / "records" / "records-iteration-1.json")
    assert first["judgeVerdict"]["faithfulness"]["score"] == 1
    assert "half \ufffd" in first["judgeVerdict"]["faithfulness"]["reasoning"]
    assert first["flags"] == ["repaired"]
    assert "flags" not in second
    if content == ESCAPED:
        assert "\ufffd\U0001f600" in first["judgeVerdict"]["faithfulness"]["reasoning"]


def test_what_the_file_holds_is_what_the_run_has_in_memory(tmp_path):
    with JudgeServer({"sample-0": [says(ESCAPED)]}) as server:
        result = judge(sample_cases(1), config_for(server, tmp_path))
    ledger = read_ledger(tmp_path / "run")
    assert ledger.iteration(1).verdict(ledger.samples[0]).record == result.records[0][0]


def test_without_a_readable_score_the_judge_is_asked_again(tmp_path):
    unreadable = ESCAPED.replace('"score": 1', r'"score": "\ud800"')
    with JudgeServer({"sample-0": [says(unreadable)] * 9, "sample-1": [says(unreadable)]}) as server:
        result = judge(sample_cases(2), config_for(server, tmp_path))
    [error] = result.results.iterations[0].errors
    assert error["queryLogId"] == "log-0"
    assert "must be a whole number from 1 to 5" in error["reason"]
    assert [record["id"] for record in result.records[0]] == ["log-1"]


def test_an_unusable_reply_with_a_raw_surrogate_can_be_shown_to_the_judge(tmp_path):
    with JudgeServer({"sample-0": [says("never \ud800")]}) as server:
        assert judge(sample_cases(1), config_for(server, tmp_path)).complete
        assert server.bodies[1]["messages"][-2]["content"] == "never \ufffd"
