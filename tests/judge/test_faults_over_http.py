"""Every fault of a judge over HTTP ends as a verdict after retries, or as an error with its reason."""

import json
from datetime import datetime, timedelta

import pytest
from running import config_for, judge, sample_case, sample_cases
from server import JudgeServer, cut_body, drop, good_content, says, scores_of, slow, status

from synthesis.judge.calls import Patience

GOOD = good_content("sample-0")
NONSENSE = [
    "no verdict at all",
    GOOD[: len(GOOD) // 2],
    GOOD.replace('"score": 1', '"score": 0'),
    GOOD.replace('"score": 1', '"score": 6'),
    GOOD.replace('"score": 1', '"score": 3.5'),
    json.dumps({"faithfulness": {"reasoning": "x", "score": 4}}),
]


def judged(tmp_path, script, count=1, **changes):
    with JudgeServer(script) as server:
        result = judge(sample_cases(count), config_for(server, tmp_path, **changes))
    return result, server


@pytest.mark.parametrize(
    "fault",
    [
        status(429, retry_after="0"),
        status(429),
        status(500),
        status(503, retry_after="0.01"),
        drop(),
        cut_body(),
    ],
    ids=["429 told when", "429", "500", "503 with a fraction", "dropped", "cut body"],
)
def test_a_passing_fault_is_tried_again(tmp_path, fault):
    result, server = judged(tmp_path, {"sample-0": [fault]})
    assert result.complete
    assert server.calls == ["sample-0", "sample-0"]


def test_a_slow_reply_is_given_up_after_the_timeout_and_asked_for_again(tmp_path):
    result, server = judged(tmp_path, {"sample-0": [slow(5)]}, timeout=0.3)
    assert result.complete
    assert len(server.calls) == 2
    [call] = result.results.iterations[0].cost["unaccountedCalls"]
    assert call["reason"] == "no reply within 0.3 s"


def test_retry_after_is_honoured(tmp_path):
    result, _ = judged(tmp_path, {"sample-0": [status(429, retry_after="1")]})
    journal = [json.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_text().splitlines()]
    first, second = [datetime.fromisoformat(line["at"]) for line in journal if line["t"] == "call"]
    assert result.complete
    assert second - first >= timedelta(seconds=1)


def test_a_wait_that_is_too_long_becomes_an_error_that_says_so(tmp_path):
    result, server = judged(tmp_path, {"sample-0": [status(429, retry_after="86400")]})
    [error] = result.results.iterations[0].errors
    assert "asks for a wait of 86400 s" in error["reason"]
    assert len(server.calls) == 1


@pytest.mark.parametrize("content", NONSENSE)
def test_an_unusable_reply_is_shown_to_the_judge_with_what_was_wrong(tmp_path, content):
    result, server = judged(tmp_path, {"sample-0": [says(content)]})
    assert result.complete
    said, told = server.bodies[1]["messages"][-2:]
    assert said == {"role": "assistant", "content": content}
    assert told["role"] == "user"
    assert "could not be used" in told["content"]


@pytest.mark.parametrize(
    "content",
    [
        f"```json\n{GOOD}\n```",
        f"Let me think {{about it}}.\n\n{GOOD}\nI hope this helps.",
        GOOD.replace('"score": 1', '"score": "1"'),
        GOOD.replace('"score": 1', '"score": 1.0'),
        GOOD.replace('"score": 1', '"score": "1/5"'),
        json.dumps({"verdict": json.loads(GOOD)}),
        GOOD.replace("faithfulness of", "faithfulness\n of"),
    ],
    ids=["fence", "prose", "text", "float", "of five", "wrapped", "raw line break"],
)
def test_a_reply_whose_meaning_is_certain_is_understood_at_once(tmp_path, content):
    result, server = judged(tmp_path, {"sample-0": [says(content)]})
    verdict = result.records[0][0]["judgeVerdict"]
    assert (verdict["faithfulness"]["score"], verdict["completeness"]["score"]) == scores_of("sample-0")
    assert len(server.calls) == 1


def test_what_cannot_be_judged_is_an_error_and_the_run_goes_on(tmp_path):
    result, _ = judged(tmp_path, {"sample-1": [says("never")] * 9}, count=3)
    iteration = result.results.iterations[0]
    [error] = iteration.errors
    assert error["queryLogId"] == "log-1"
    assert "no verdict after 2 calls" in error["reason"]
    assert error["reason"].endswith("It begins: 'never'")
    assert len(error["tokenUsage"]) == 2
    assert [record["queryLogId"] for record in iteration.records] == ["log-0", "log-2"]
    assert iteration.metrics["errors"] == 1
    assert iteration.metrics["overallPassRate"]["denominator"] == 3
    assert iteration.metrics["overallPassRate"]["judgedOnly"]["denominator"] == 2
    assert not result.complete


def test_a_failed_sample_is_tried_again_by_the_next_run_and_its_tokens_stay_on_the_bill(tmp_path):
    with JudgeServer({"sample-0": [says("never")] * 2}) as server:
        config = config_for(server, tmp_path)
        assert len(judge([sample_case(0)], config).results.iterations[0].errors) == 1
        again = judge([sample_case(0)], config)
    assert again.complete
    assert not again.results.iterations[0].errors
    assert again.results.iterations[0].cost["totalTokens"]["input"] == 3 * 400


def test_tokens_of_rejected_replies_are_billed(tmp_path):
    result, _ = judged(tmp_path, {"sample-0": [says("never"), status(500)]})
    cost = result.results.iterations[0].cost
    assert cost["totalTokens"] == {"input": 800, "output": 100, "total": 900}
    assert cost["totalCost"] == pytest.approx(800 * 0.15e-6 + 100 * 0.60e-6)


@pytest.mark.parametrize("code", [401, 404])
def test_a_judge_that_can_never_answer_stops_the_run(tmp_path, code):
    result, server = judged(tmp_path, {f"sample-{n}": [status(code)] for n in range(50)}, count=50, concurrency=2)
    assert result.stopped is not None
    assert f"HTTP {code}" in result.stopped
    assert len(server.calls) <= 2
    metrics = result.metrics[0]
    assert metrics["errors"] + metrics["notJudged"] == 50


def test_after_a_stop_not_even_a_retry_is_sent(tmp_path):
    script = {"sample-0": [status(500)], "sample-1": [status(401)]}
    patience = Patience(first_wait=1.0)
    result, server = judged(tmp_path, script, count=2, concurrency=2, patience=patience)
    assert sorted(server.calls) == ["sample-0", "sample-1"]
    assert (result.metrics[0]["errors"], result.metrics[0]["notJudged"]) == (1, 1)


def test_a_refused_request_is_sent_once_more_without_a_schema_and_then_no_more(tmp_path):
    result, server = judged(tmp_path, {"sample-0": [status(400)] * 9})
    assert result.results.iterations[0].errors[0]["reason"] == "HTTP 400: no"
    assert ["response_format" in body for body in server.bodies] == [True, False]


def test_once_a_schema_was_accepted_a_refused_request_is_not_sent_again(tmp_path):
    result, server = judged(tmp_path, {"sample-1": [status(400)] * 9}, count=2, concurrency=1)
    assert result.results.iterations[0].errors[0]["reason"] == "HTTP 400: no"
    assert server.calls == ["sample-0", "sample-1"]


def test_a_server_that_is_not_there_is_an_error_for_every_sample(tmp_path):
    with JudgeServer() as server:
        pass
    result = judge(sample_cases(2), config_for(server, tmp_path))
    reasons = [error["reason"] for error in result.results.iterations[0].errors]
    assert len(reasons) == 2
    assert all("no connection" in reason for reason in reasons)
    assert result.results.iterations[0].cost["unaccountedCalls"] == []


def test_a_truncated_reply_says_that_the_output_limit_was_reached(tmp_path):
    cut = says(GOOD[:50], finish_reason="length")
    result, server = judged(tmp_path, {"sample-0": [cut] * 5}, max_output_tokens=64)
    assert "cut off at 256 output tokens" in result.results.iterations[0].errors[0]["reason"]
    assert [body["max_tokens"] for body in server.bodies] == [64, 256]


def test_the_sdk_does_not_retry_behind_our_back(tmp_path):
    result, server = judged(tmp_path, {"sample-0": [status(500)] * 9})
    assert not result.complete
    assert len(server.calls) == 5


def test_the_temperature_is_sent_only_if_given(tmp_path):
    _, silent = judged(tmp_path, {})
    _, told = judged(tmp_path, {}, temperature=0.0, output_dir="warm")
    assert "temperature" not in silent.bodies[0]
    assert told.bodies[0]["temperature"] == 0.0


@pytest.mark.parametrize(
    ("provider", "model", "way"),
    [
        ("openai", "gpt-4o-mini", "response_format"),
        ("openai", "llama3.2", "response_format"),
        ("openai", "meta-llama/llama-3.3", "tools"),
        ("openrouter", "openai/gpt-4o-mini", "response_format"),
    ],
)
def test_every_kind_of_model_is_asked_in_the_way_it_understands(tmp_path, provider, model, way):
    changes = {"judge_provider": provider, "judge_model": model, "api_key_env": "OPENAI_API_KEY"}
    result, server = judged(tmp_path, {}, **changes)
    assert result.complete
    assert way in server.bodies[0]
    assert server.bodies[0]["model"] == model


@pytest.mark.parametrize(("model", "name"), [("llama3.2", "max_tokens"), ("gpt-5-mini", "max_completion_tokens")])
def test_the_output_limit_is_sent_under_the_name_that_is_understood(tmp_path, model, name):
    _, server = judged(tmp_path, {}, judge_model=model)
    assert server.bodies[0][name] >= 1024
