"""Inspect AI: `Task(..., scorer=synthesis_scorer())`."""

import math
from collections.abc import Iterable

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from synthesis.model import Turn
from synthesis.model.result import FAIL, PASS
from synthesis.settings import DEFAULT_CHECKS
from synthesis.verdict import ReplyEvaluator

_VALUES = {PASS: 1.0, FAIL: 0.0}


@scorer(metrics={"*": [mean(), stderr()]})
def synthesis_scorer(checks: str | Iterable[str] = DEFAULT_CHECKS, lang: str | None = None) -> Scorer:
    """One value per check: 1 passed, 0 failed; a check that gave no verdict is left unscored (NaN)."""
    replies = ReplyEvaluator(checks, lang=lang)

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001  the interface has it
        verdict = replies.conversation([Turn(message.role, message.text) for message in state.messages])
        values = {name: _VALUES.get(check.outcome, math.nan) for name, check in verdict.checks.items()}
        return Score(value=values, answer=state.output.completion, explanation=verdict.reason)

    return score
