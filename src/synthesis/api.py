"""The checks and the runner as plain functions for other programs."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from synthesis.cases.jsonl import load_cases as load_case_file
from synthesis.cases.jsonl import to_case
from synthesis.cases.schema import CaseValidator
from synthesis.checks.registry import checks
from synthesis.errors import CaseError, Problem
from synthesis.model import Case, CaseResult, CheckResult
from synthesis.model.report import Report
from synthesis.runner.kernel import Kernel
from synthesis.runner.run import run_cases

_INLINE = "<case>"


@cache
def _kernel() -> Kernel:
    return Kernel()


def check_agency(assistant: str, user: str = "") -> CheckResult:
    """Does the reply respect the user's autonomy? The user message matters only in a crisis."""
    return _one("agency_language", user, assistant)


def check_reassurance(assistant: str) -> CheckResult:
    """Does the reply claim to know inner states, or promise what nobody can ensure?"""
    return _one("unverifiable_reassurance", "", assistant)


def check_pivot(user: str, assistant: str) -> CheckResult:
    """Does the reply abandon the user's vulnerability?"""
    return _one("topic_pivot", user, assistant)


def _one(check: str, user: str, assistant: str) -> CheckResult:
    return _kernel().evaluate([Case("", (check,), user, assistant)])[0].checks[check]


def run_case(case: Case | Mapping[str, Any]) -> CaseResult:
    """Evaluate one case; a mapping is validated first (CaseError)."""
    return _kernel().evaluate([_as_case(case, 1)])[0]


def run_all_cases(cases: Iterable[Case | Mapping[str, Any]]) -> Report:
    """Evaluate cases and count what came of them."""
    return run_cases((_as_case(case, number) for number, case in enumerate(cases, start=1)), _kernel())


def load_cases(path: str | Path, schema: str | Path | None = None) -> list[Case]:
    """The cases of a JSON Lines file; one CaseError holds everything that is wrong with it."""
    return load_case_file(Path(path), CaseValidator(checks(), Path(schema) if schema else None))


def validate_case(obj: Any, schema: str | Path | None = None) -> list[str]:
    """What is wrong with an object as a case; an empty list if nothing is."""
    return [problem.message for problem in _validator(schema).problems(obj, 1)]


@cache
def _validator(schema: str | Path | None = None) -> CaseValidator:
    return CaseValidator(checks(), Path(schema) if schema else None)


def _as_case(case: Case | Mapping[str, Any], number: int) -> Case:
    if isinstance(case, Case):
        return case
    problems: list[Problem] = list(_validator().problems(dict(case), number))
    built = problems or to_case(dict(case), number, _INLINE)
    if isinstance(built, Case):
        return msgspec.structs.replace(built, source=None)
    raise CaseError(list(built), file=_INLINE)
