"""Inspect AI: `Task(..., scorer=synthesis_scorer())`."""

import math
from collections.abc import Iterable

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from synthesis.model import Turn
from synthesis.model.result import FAIL, PASS
from synthesis.settings import DEFAULT_CHECKS
from synthesis.verdict import CRISIS, ReplyEvaluator

_VALUES = {PASS: 1.0, FAIL: 0.0}


@scorer(metrics={"*": [mean(), stderr()]})
def synthesis_scorer(checks: str | Iterable[str] = DEFAULT_CHECKS, lang: str | None = None) -> Scorer:
    """One value per check: 1 passed, 0 failed; a check that gave no verdict is left unscored (NaN).

    The metadata say how bad the failures are, and hold the alert where the user shows signs of a crisis.
    """
    replies = ReplyEvaluator(checks, lang=lang)
    # A cue of a crisis is judged whatever was asked for, and every sample needs the same values.
    names = tuple(dict.fromkeys((*replies.checks, CRISIS)))

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001  the interface has it
        verdict = replies.conversation([Turn(message.role, message.text) for message in state.messages])
        found = {name: _VALUES.get(check.outcome, math.nan) for name, check in verdict.checks.items()}
        values = {name: found.get(name, math.nan) for name in names}
        return Score(value=values, answer=state.output.completion, explanation=verdict.reason, metadata=verdict.weight)

    return score
