"""Endpoints as they are: on this machine without a key, behind gateways with names and options of their own."""

import asyncio
import json

import pytest
from running import KEY, QUICK, config_for, judge, sample_cases
from server import JudgeServer, status

from synthesis.errors import OptionError, RunFolderError
from synthesis.judge.clients import is_loopback, masked
from synthesis.judge.cost import find_price
from synthesis.judge.prompt import load_prompt, prompt_source
from synthesis.judge.run import EvaluationConfig, run_evaluation


def run(config):
    return asyncio.run(run_evaluation(sample_cases(1), config))


def bodies(tmp_path, **changes):
    with JudgeServer() as server:
        result = judge(sample_cases(1), config_for(server, tmp_path, **changes))
    assert result.complete
    return server, result


def test_a_server_on_this_machine_needs_no_key(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with JudgeServer() as server:
        assert run(config_for(server, tmp_path)).complete
    assert server.keys == {"not-needed"}


@pytest.mark.parametrize(
    "url", ["http://localhost:1/v1", "http://127.0.0.9/v1", "http://[::1]:8/v1", "http://a.localhost"]
)
def test_this_machine(url):
    assert is_loopback(url)


@pytest.mark.parametrize(
    "url", [None, "http://10.0.0.1/v1", "https://localhost.example/v1", "http://127.0.0.1.nip.io", ""]
)
def test_other_machines(url):
    assert not is_loopback(url)


def test_a_gateway_takes_any_model_name_and_it_is_named_as_given(tmp_path):
    with JudgeServer() as server:
        config = config_for(server, tmp_path, judge_provider="openrouter", judge_model="gpt-4.1-mini")
        result = judge(sample_cases(1), config)
    cost = result.results.iterations[0].cost
    assert server.bodies[0]["model"] == cost["judgeModel"] == cost["tokenUsage"][0]["model"] == "gpt-4.1-mini"
    assert cost["totalCost"] == pytest.approx((400 * 0.40 + 50 * 1.60) / 1e6)


def test_the_average_cost_is_not_rounded(tmp_path):
    with JudgeServer() as server:
        result = judge(sample_cases(7), config_for(server, tmp_path))
    stats = result.results.final_cost["aggregateStats"]
    assert stats["averageCostPerSample"] == stats["totalCost"] / 7
    assert stats["averageCostPerSample"] != round(stats["averageCostPerSample"], 10)


def test_a_bare_name_costs_what_its_vendor_asks():
    assert find_price("gpt-4.1-mini", "openrouter") == find_price("gpt-4.1-mini", "openai")


@pytest.mark.parametrize(
    ("text", "secret", "shown"),
    [
        ("maximum context length", "x", "maximum context length"),
        ("bad key 'sk-1234567890'.", "sk-1234567890", "bad key '***'."),
        ("sk-1234567890-and-more", "sk-1234567890", "sk-1234567890-and-more"),
        ("Bearer abcdefgh", "abcdefgh", "Bearer ***"),
        ("the short one", "short", "the short one"),
    ],
)
def test_only_long_secrets_are_masked_and_only_as_whole_words(text, secret, shown):
    assert masked(text, [secret]) == shown


def test_a_secret_in_a_header_is_masked_as_well(tmp_path):
    echo = status(500, body=json.dumps({"error": {"message": "wrong token 0123456789abcdef"}}))
    with JudgeServer({"sample-0": [echo] * 9}) as server:
        headers = {"X-Token": "0123456789abcdef"}
        result = judge(sample_cases(1), config_for(server, tmp_path, headers=headers))
    assert "wrong token ***" in result.results.iterations[0].errors[0]["reason"]
    assert "0123456789abcdef" not in (tmp_path / "run" / "journal.jsonl").read_text()


def test_options_of_ones_own_are_sent(tmp_path):
    server, _ = bodies(
        tmp_path,
        seed=11,
        reasoning_effort="low",
        extra_body={"top_k": 5, "provider": {"order": ["x"]}},
        headers={"X-Team": "evaluation"},
        max_output_tokens=333,
    )
    (body,) = server.bodies
    assert (body["seed"], body["reasoning_effort"], body["top_k"]) == (11, "low", 5)
    assert body["provider"] == {"order": ["x"]}
    assert body["max_tokens"] == 333
    assert "x-team: evaluation" in server.heads[0].lower()


def test_what_is_not_given_is_not_sent(tmp_path):
    server, _ = bodies(tmp_path, seed=None)
    assert not {"seed", "reasoning_effort", "temperature"} & server.bodies[0].keys()


CHANGES = [{"seed": 8}, {"temperature": 0.5}, {"reasoning_effort": "low"}, {"extra_body": {"top_k": 5}}]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_what_changes_the_judge_makes_another_judge(tmp_path, change):
    with JudgeServer() as server:
        judge(sample_cases(1), config_for(server, tmp_path, seed=7))
        with pytest.raises(RunFolderError, match="belongs to another judge: it has settings seed=7, not"):
            judge(sample_cases(1), config_for(server, tmp_path, **{"seed": 7, **change}))
    assert len(server.calls) == 1


@pytest.mark.parametrize("change", [{"max_output_tokens": 50}, {"headers": {"X-A": "b"}}, {"timeout": 3.0}])
def test_what_does_not_change_it_resumes(tmp_path, change):
    with JudgeServer() as server:
        judge(sample_cases(1), config_for(server, tmp_path))
        assert judge(sample_cases(2), config_for(server, tmp_path, **change)).complete
    assert server.calls == ["sample-0", "sample-1"]


def test_a_journal_of_0_1_recorded_no_settings_and_is_resumed(tmp_path):
    journal = tmp_path / "run" / "journal.jsonl"
    with JudgeServer() as server:
        judge(sample_cases(1), config_for(server, tmp_path, seed=7))
        lines = [json.loads(line) for line in journal.read_text().splitlines()]
        del lines[0]["judge"]["settings"]
        for line in lines:
            line.pop("sum")
        journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
        result = judge(sample_cases(2), config_for(server, tmp_path, seed=7, temperature=0.0))
    assert server.calls == ["sample-0", "sample-1"]
    assert len(result.records[0]) == 2


def test_a_prompt_of_ones_own(tmp_path):
    own = tmp_path / "mine.yaml"
    own.write_text(
        prompt_source("v1").replace("version: v1", "version: mine").replace("Judge the answer above.", "Well?")
    )
    server, result = bodies(tmp_path, system_prompt_version=str(own))
    assert server.bodies[0]["messages"][-1]["content"].rstrip().endswith("Well?")
    assert result.run.judge.prompt.startswith("mine:")
    own.write_text(own.read_text().replace("Well?", "And?"))
    with JudgeServer() as again, pytest.raises(RunFolderError, match="prompt mine:"):
        judge(sample_cases(1), config_for(again, tmp_path, system_prompt_version=str(own)))


@pytest.mark.parametrize("slot", ["fence", "question", "context", "answer", "axes", "shape", "problem"])
def test_a_prompt_without_a_place_for_what_it_needs_is_refused_with_its_line(tmp_path, slot):
    own = tmp_path / "mine.yaml"
    own.write_text(prompt_source("v1").replace(f"{{{slot}}}", ""))
    with pytest.raises(Exception, match=rf"mine.yaml:\d+:\d+: \w+: has no place for {{{slot}}}"):
        load_prompt(str(own))


@pytest.mark.parametrize("url", ["localhost:8000/v1", "//host/v1", "host", "https://", "file:///etc"])
def test_a_url_that_reaches_nothing_is_refused_before_anything_is_read(tmp_path, url):
    config = EvaluationConfig(output_dir="x", root=tmp_path, judge_provider="openai", base_url=url, patience=QUICK)
    with pytest.raises(OptionError, match="Write --base-url http"):
        run(config)
    assert KEY not in str(list(tmp_path.iterdir()))
