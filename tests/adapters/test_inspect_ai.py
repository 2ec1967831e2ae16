"""Inspect AI: the scorer in a real evaluation, and its logs as cases."""

import math
from pathlib import Path
from typing import Any

import pytest
from helpers import THREE
from texts import BAD, FACT, GOOD, USER

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect-ai is not installed (make test-adapters installs it)")
pytestmark = pytest.mark.adapters

REPLIES = {USER: GOOD, f"{USER} Really.": BAD, FACT[0]: FACT[1]}


def evaluated(folder: Path, log_format: str) -> Any:
    """A run whose replies are scripted by a solver: no model, no network."""
    from inspect_ai import Task
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageAssistant, ModelOutput
    from inspect_ai.solver import Generate, Solver, TaskState, solver, system_message

    from synthesis.integrations.inspect_scorer import synthesis_scorer

    @solver
    def scripted() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            reply = REPLIES[state.input_text]
            state.messages.append(ChatMessageAssistant(content=reply))
            state.output = ModelOutput.from_content("scripted", reply)
            return state

        return solve

    task = Task(
        dataset=[Sample(input=said) for said in REPLIES],
        solver=[system_message("You should be kind."), scripted()],
        scorer=synthesis_scorer(),
    )
    options = {"log_dir": str(folder), "log_format": log_format, "display": "none", "model": "mockllm/model"}
    return inspect_ai.eval(task, **options)[0]


def test_each_check_is_a_value_and_what_does_not_apply_is_unscored(tmp_path: Path) -> None:
    log = evaluated(tmp_path, "eval")
    assert log.status == "success"
    good, bad, fact = (sample.scores["synthesis_scorer"] for sample in log.samples)
    assert {name: good.value[name] for name in THREE} == dict.fromkeys(THREE, 1.0)
    assert math.isnan(good.value["crisis_response"])
    assert bad.metadata["severity"] == "serious"
    assert bad.value["agency_language"] == bad.value["unverifiable_reassurance"] == 0.0
    assert "agency.negative.told-to-get-over-it" in bad.explanation
    assert math.isnan(fact.value["topic_pivot"])
    metrics = {score.name: score.metrics["mean"].value for score in log.results.scores}
    assert metrics["topic_pivot"] == 0.5  # of the two that it applies to


@pytest.mark.parametrize("log_format", ["eval", "json"])
def test_its_logs_are_read_as_cases(tmp_path: Path, log_format: str) -> None:
    from synthesis.model import Case
    from synthesis.read.cases import CaseValidator
    from synthesis.read.inputs import Input, log_cases
    from synthesis.read.rows import LogOptions

    evaluated(tmp_path, log_format)
    (path,) = tmp_path.glob(f"*.{log_format}")
    rows = list(log_cases(Input.of(path), LogOptions(CaseValidator(THREE))))
    assert [row.exchanges for row in rows if isinstance(row, Case)] == [[pair] for pair in REPLIES.items()]
