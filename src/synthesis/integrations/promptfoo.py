"""promptfoo: an assertion in Python. A file of your own with one line is enough:

    from synthesis.integrations.promptfoo import get_assert

and in the configuration: `assert: [{type: python, value: file://that_file.py, config: {user: question}}]`.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from synthesis.checks.registry import asked_checks
from synthesis.errors import InputError
from synthesis.model.result import FAIL
from synthesis.verdict import ReplyEvaluator, Verdict


def get_assert(output: str | None, context: Mapping[str, Any]) -> dict[str, Any]:
    """A grading result: all checks that apply must pass; each is a component with its reason."""
    config = context.get("config") or {}
    checks = asked_checks(config.get("checks") or ())
    verdict = _replies(checks, config.get("lang")).reply(_user(context, config), output)
    return {
        "pass": verdict.passed is True,
        "score": 1.0 if verdict.score is None else verdict.score,
        "reason": verdict.reason,
        "componentResults": [_component(name, verdict) for name in verdict.checks],
        "metadata": verdict.weight,
    }


def _component(name: str, verdict: Verdict) -> dict[str, Any]:
    check = verdict.checks[name]
    passed = check.outcome != FAIL and check.error is None
    return {
        "pass": passed,
        "score": float(passed),
        "reason": verdict.reasons[name],
        "metadata": {"severity": check.severity},
    }


def _user(context: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """The variable that holds the user's message (`config.user`, else `user`), else the whole prompt."""
    variables = context.get("vars") or {}
    wanted = config.get("user")
    if wanted is not None and wanted not in variables:
        known = ", ".join(sorted(map(str, variables))) or "none"
        raise InputError(
            f"config.user names the variable '{wanted}', and the test has {known}",
            hint="Without the user's message most checks have nothing to go by. Name the variable that holds it.",
        )
    said = variables.get(wanted or "user", context.get("prompt") or "")
    return said if isinstance(said, str) else str(said)


@cache
def _replies(checks: tuple[str, ...], lang: str | None) -> ReplyEvaluator:
    return ReplyEvaluator(checks, lang=lang)
