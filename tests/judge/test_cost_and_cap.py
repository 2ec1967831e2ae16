"""Costs are known or said to be unknown, never zero by mistake; a cap is never broken."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from running import config_for, judge, read, sample_cases
from server import JudgeServer, says

from synthesis.errors import OptionError, TestSetError
from synthesis.judge.cost import find_price, total

KNOWN = {
    "gpt-4o-mini": (0.15, 0.60),
    "gpt-4.1-mini": (0.40, 1.60),
    "gpt-4.1-nano": (0.10, 0.40),
    "gpt-5-mini": (0.25, 2.00),
    "gpt-5-nano": (0.05, 0.40),
}


@pytest.mark.parametrize(("provider", "vendor"), [("openai", ""), ("openai", "openai/"), ("openrouter", "openai/")])
@pytest.mark.parametrize("model", KNOWN)
def test_reference_prices_with_and_without_a_vendor(model, provider, vendor):
    price = find_price(vendor + model, provider)
    assert (price.input_per_million, price.output_per_million) == pytest.approx(KNOWN[model])


@pytest.mark.parametrize("model", ["my-finetune", "", "nobody/knows", "openai/nothing-like-it"])
def test_an_unknown_model_has_no_price(model):
    assert find_price(model, "openai") is None


def test_an_unknown_price_is_null_in_the_files_and_said(tmp_path):
    with JudgeServer() as server:
        judge(sample_cases(2), config_for(server, tmp_path, judge_model="my-finetune"))
    cost = read(tmp_path / "run" / "cost" / "cost-iteration-1.json")
    final = read(tmp_path / "run" / "final-cost" / "final-cost-1.json")
    assert cost["totalCost"] is None
    assert "not known" in cost["note"]
    assert cost["totalTokens"]["input"] == 801
    assert final["aggregateStats"]["totalCost"] is None
    assert final["aggregateStats"]["averageCostPerSample"] is None


def test_a_price_file_tells_it_also_afterwards(tmp_path):
    prices = tmp_path / "prices.yaml"
    prices.write_text("my-finetune: {input: 1.0, output: 2.0}\n")
    with JudgeServer() as server:
        judge(sample_cases(2), config_for(server, tmp_path, judge_model="my-finetune"))
        config = config_for(server, tmp_path, judge_model="my-finetune", price_file=prices)
        result = judge(sample_cases(2), config)
    assert result.calls == 0
    assert result.results.iterations[0].cost["totalCost"] == pytest.approx((801 * 1.0 + 101 * 2.0) / 1e6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpt-4o-mini: {input: -1, output: 2}", "must be 0 or more"),
        ("gpt-4o-mini: {input: .nan, output: 2}", "must be 0 or more"),
        ("gpt-4o-mini: {input: 1}", "output"),
        ("gpt-4o-mini: 3", "Expected"),
        ("- 1", "Expected"),
        ("", "empty"),
        ("a: {input: 1, output: 1}\na: {input: 2, output: 2}", "appears twice"),
    ],
)
def test_a_wrong_price_file_is_refused_with_its_place(tmp_path, text, message):
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(TestSetError, match=message) as caught:
        find_price("gpt-4o-mini", "openai", path)
    assert caught.value.place.file == str(path)


def spent(server):
    return sum(
        0.15e-6 * (400 + int(s.split("-")[1])) + 0.6e-6 * (50 + int(s.split("-")[1]) % 9) for s in server.answered
    )


def test_the_cap_is_never_broken_and_a_higher_one_goes_on(tmp_path):
    with JudgeServer() as server:
        config = config_for(server, tmp_path, max_cost=0.003, concurrency=4)
        stopped = judge(sample_cases(40), config)
        assert "cap of 0.003 USD" in stopped.stopped
        assert 0 < len(server.answered) < 40
        assert spent(server) <= 0.003
        assert stopped.metrics[0]["notJudged"] == 40 - len(server.answered)
        assert stopped.metrics[0]["errors"] == 0
        again = judge(sample_cases(40), config)
        assert again.stopped is not None
        assert again.calls == 0
        done = judge(sample_cases(40), config_for(server, tmp_path, max_cost=1.0))
    assert done.complete
    assert len(server.answered) == 40
    assert done.results.iterations[0].cost["totalCost"] == pytest.approx(spent(server))


def test_rejected_replies_count_against_the_cap(tmp_path):
    with JudgeServer({f"sample-{n}": [says("no")] * 99 for n in range(99)}) as server:
        result = judge(sample_cases(99), config_for(server, tmp_path, max_cost=0.004))
    assert result.stopped is not None
    assert spent(server) <= 0.004


def test_a_cap_with_an_unknown_price_is_refused_before_anything_is_written(tmp_path):
    with JudgeServer() as server, pytest.raises(OptionError, match="price of 'my-finetune' is not known"):
        judge(sample_cases(2), config_for(server, tmp_path / "r", judge_model="my-finetune", max_cost=1.0))
    assert not (tmp_path / "r").exists()
    assert server.calls == []


class SilentServer(JudgeServer):
    """Judges, but does not count tokens."""

    async def _send(self, writer, code, body, retry_after):
        body = json.dumps({key: value for key, value in json.loads(body).items() if key != "usage"}).encode()
        return await super()._send(writer, code, body, retry_after)


def test_replies_without_a_count_of_tokens_make_the_cost_unknown_not_zero(tmp_path):
    with SilentServer() as server:
        result = judge(sample_cases(2), config_for(server, tmp_path))
    cost = result.results.iterations[0].cost
    assert result.complete
    assert cost["totalCost"] is None
    assert cost["callsWithoutUsage"] == 2


def test_the_cost_files_have_the_shape_of_the_contract(tmp_path):
    with JudgeServer() as server:
        judge(sample_cases(3), config_for(server, tmp_path, iterations=2))
    cost = read(tmp_path / "run" / "cost" / "cost-iteration-2.json")
    final = read(tmp_path / "run" / "final-cost" / "final-cost-2.json")
    assert list(cost)[:9] == [
        "iteration",
        "timestamp",
        "testSetName",
        "judgeModel",
        "judgeProvider",
        "samples",
        "totalTokens",
        "totalCost",
        "tokenUsage",
    ]
    assert (cost["iteration"], cost["testSetName"], cost["samples"]) == (2, "run", 3)
    assert final["aggregateStats"]["totalSamples"] == 6
    assert final["aggregateStats"]["totalTokens"]["input"] == 2 * cost["totalTokens"]["input"]
    assert final["aggregateStats"]["averageCostPerSample"] == pytest.approx(cost["totalCost"] / 3)
    assert final["perIterationCosts"][1] == cost


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 10_000), st.integers(0, 10_000))))
def test_the_total_is_linear_in_the_tokens(calls):
    from synthesis.judge.ledger import Price
    from synthesis.judge.model import TokenUsage

    usage = [TokenUsage("m", *call) for call in calls]
    price = Price(0.15, 0.60, "test")
    assert total(price, usage) == pytest.approx(sum(total(price, [u]) for u in usage), abs=1e-9)
    assert total(None, usage) == (None if usage else 0.0)
