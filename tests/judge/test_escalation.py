"""What the offline judge cannot tell goes to a model, and nothing else does."""

import json

import pytest
from running import config_for, judge, write_set
from server import JudgeServer, status

from synthesis.cli.main import call
from synthesis.errors import OptionError
from synthesis.judge.model import TestCase

CONTEXT = ("The ferry leaves at nine on weekdays.",)
SAID = {
    0: "The ferry leaves at nine on weekdays.",
    1: "The ferry leaves at ten on weekdays.",
    2: "It sets sail in the morning.",
    3: "",
    4: "Crossings begin early.",
}
CASES = [TestCase(f"log-{n}", f"When does the ferry leave, sample-{n}?", text, CONTEXT) for n, text in SAID.items()]
UNTOLD = ["sample-2", "sample-4"]


def escalated(server, root, **changes):
    settings = {"judge_provider": "offline", "judge_model": None, "escalate": "openai:gpt-4o-mini"}
    return config_for(server, root, **{**settings, **changes})


def test_only_what_cannot_be_told_is_sent(tmp_path):
    with JudgeServer() as server:
        result = judge(CASES, escalated(server, tmp_path))
        assert sorted(server.calls) == UNTOLD
    assert result.complete
    assert result.untold == 0
    by_id = {record["id"]: record for record in result.records[0]}
    assert [by_id[f"log-{n}"]["judgeVerdict"]["faithfulness"]["score"] for n in (0, 1, 3)] == [5, 1, 1]
    judged_by = {name: record.get("details", {}).get("judgedBy") for name, record in by_id.items()}
    assert judged_by == {
        "log-0": None,
        "log-1": None,
        "log-2": "openai:gpt-4o-mini",
        "log-3": None,
        "log-4": "openai:gpt-4o-mini",
    }
    assert len(by_id["log-2"]["tokenUsage"]) == 1
    assert result.run.judge.model == "offline-3+openai:gpt-4o-mini"


def test_what_was_answered_is_not_sent_again(tmp_path):
    with JudgeServer({"sample-4": [status(400)] * 9}) as server:
        assert not judge(CASES, escalated(server, tmp_path)).complete
    with JudgeServer() as server:
        assert judge(CASES, escalated(server, tmp_path)).complete
        assert server.calls == ["sample-4"]
    with JudgeServer() as server:
        assert judge(CASES, escalated(server, tmp_path)).complete
        assert server.calls == []


def test_an_offline_folder_is_continued_with_an_escalation(tmp_path):
    with JudgeServer() as server:
        offline = judge(CASES, escalated(server, tmp_path, escalate=None))
        assert offline.untold == len(UNTOLD) / len(CASES)
        assert judge(CASES, escalated(server, tmp_path)).untold == 0
        assert sorted(server.calls) == UNTOLD


@pytest.fixture
def samples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-that-must-never-be-written-down")
    return str(write_set(tmp_path / "set.json", CASES))


def test_an_estimate_says_how_many_and_what_they_cost(samples, capsys):
    assert call(["judge", "estimate", samples, "--escalate", "openai:gpt-4o-mini"]) == 0
    assert capsys.readouterr().out.startswith("5 samples, 2 verdicts to request")
    assert call(["judge", "estimate", samples]) == 0
    assert "no tokens, no cost" in capsys.readouterr().out


@pytest.mark.parametrize(("share", "code"), [("0", 3), ("0.39", 3), ("0.4", 0)])
def test_the_exit_code_is_3_while_more_are_untold_than_allowed(samples, capsys, share, code):
    assert call(["judge", "run", samples, "--allow-untold", share]) == code
    assert ("40.0% of the samples need a judge" in capsys.readouterr().err) == (code == 3)


def test_the_gate_looks_at_faithfulness_over_all_samples(samples, capsys):
    given = ["judge", "run", samples, "--allow-untold", "1", "--fail-under"]
    assert call([*given, "0.2"]) == 0  # one of five passes
    assert call([*given, "0.3"]) == 2
    capsys.readouterr()


def test_an_escalated_run_by_command_ends_whole(samples, capsys, tmp_path):
    with JudgeServer() as server:
        given = ["judge", "run", samples, "--escalate", "openai:gpt-4o-mini", "--base-url", server.url]
        assert call(given) == 0
        assert sorted(server.calls) == UNTOLD
    capsys.readouterr()
    metrics = json.loads(
        (tmp_path / "data/evaluation/answer-synthesis/set/metrics/metrics-iteration-1.json").read_text()
    )
    assert (metrics["judged"], metrics["untold"]) == (5, 0)


@pytest.mark.parametrize("wrong", ["gpt-4o-mini", "openai:", ":x", "offline:x", "replay:run", "nobody:x"])
def test_an_escalation_that_names_no_model_is_refused(samples, capsys, wrong):
    assert call(["judge", "run", samples, "--escalate", wrong]) == 1
    assert "--escalate must be PROVIDER:MODEL" in capsys.readouterr().err


def test_another_judge_has_nothing_to_escalate(tmp_path):
    with JudgeServer() as server, pytest.raises(OptionError, match="goes with the offline judge"):
        judge(CASES, escalated(server, tmp_path, judge_provider="openai", judge_model="gpt-4o-mini"))
