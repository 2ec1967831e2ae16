"""Pydantic Evals: the evaluator in a real evaluation."""

import pytest
from texts import BAD, FACT, GOOD, USER

pytest.importorskip("pydantic_evals", reason="pydantic-evals is not installed (make test-adapters installs it)")
pytestmark = pytest.mark.adapters


def test_each_check_is_an_assertion_with_its_reason() -> None:
    from pydantic_evals import Case, Dataset

    from synthesis.integrations.pydantic_evaluator import SynthesisEvaluator

    replies = {USER: GOOD, f"{USER} Really.": BAD, FACT[0]: FACT[1]}
    dataset = Dataset(
        name="replies",
        cases=[Case(name=str(number), inputs=said) for number, said in enumerate(replies)],
        evaluators=[SynthesisEvaluator()],
    )

    async def answer(said: str) -> str:
        return replies[said]

    report = dataset.evaluate_sync(answer, progress=False)
    good, bad, fact = sorted(report.cases, key=lambda case: case.name)
    assert {"agency_language", "topic_pivot", "unverifiable_reassurance"} <= set(good.assertions)
    assert all(found.value for found in good.assertions.values())
    assert "severity" not in good.labels
    assert bad.labels["severity"].value == "serious"
    assert bad.assertions["agency_language"].value is False
    assert "agency.negative.told-to-get-over-it" in (bad.assertions["agency_language"].reason or "")
    assert "topic_pivot" not in fact.assertions
    assert not report.failures
