"""promptfoo: an assertion in Python. A file of your own with one line is enough:

    from synthesis.integrations.promptfoo import get_assert

and in the configuration: `assert: [{type: python, value: file://that_file.py, config: {user: question}}]`.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from synthesis.integrations.assessment import Assessment, Assessor
from synthesis.model.result import FAIL
from synthesis.settings import DEFAULT_CHECKS


def get_assert(output: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """A grading result: all checks that apply must pass; each is a component with its reason."""
    config = context.get("config") or {}
    found = _assessor(tuple(config.get("checks") or DEFAULT_CHECKS), config.get("lang")).reply(
        _user(context, config), output
    )
    return {
        "pass": found.result.passed is True,
        "score": 1.0 if found.score is None else found.score,
        "reason": found.reason,
        "componentResults": [_component(name, found) for name in found.result.checks],
    }


def _component(name: str, found: Assessment) -> dict[str, Any]:
    check = found.result.checks[name]
    passed = check.outcome != FAIL and check.error is None
    return {"pass": passed, "score": float(passed), "reason": found.reasons[name]}


def _user(context: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """The variable that holds the user's message (`config.user`, else `user`), else the whole prompt."""
    variables = context.get("vars") or {}
    said = variables.get(config.get("user", "user"), context.get("prompt") or "")
    return said if isinstance(said, str) else str(said)


@cache
def _assessor(checks: tuple[str, ...], lang: str | None) -> Assessor:
    return Assessor(checks, lang=lang)
