"""The library: replies, conversations and files in, verdicts and reports out. What the command line does, it does."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from synthesis.checks.registry import checks as known_checks
from synthesis.checks.registry import get_check, rules_in_force
from synthesis.errors import CaseError, Problem
from synthesis.glossary import glossary_of
from synthesis.model import Case, CaseResult, CheckResult, Turn
from synthesis.model.report import Report
from synthesis.read.cases import CaseValidator, to_case
from synthesis.read.cases import load_cases as load_case_file
from synthesis.read.inputs import Input
from synthesis.report.formats import get_format
from synthesis.report.stored import from_dict, open_report
from synthesis.run.evaluator import Evaluator
from synthesis.run.files import evaluate_files as run_files
from synthesis.run.spec import RunSpec
from synthesis.run.tally import run_cases
from synthesis.settings import AUTHORED, DEFAULT_CHECKS, TRAFFIC

_INLINE = "<case>"
_ID = "REPLY-1"
Paths = str | Path | Iterable[str | Path]


def evaluate(
    user: str,
    assistant: str,
    *,
    checks: Iterable[str] = DEFAULT_CHECKS,
    profile: str = TRAFFIC,
    lang: str | None = None,
    rules: Paths = (),
) -> Report:
    """Evaluate one reply to one message; `rules` are folders with packs on top of the bundled ones."""
    return _report([Case(_ID, _known(checks), user, assistant, lang=lang)], profile, lang, rules)


def evaluate_conversation(
    messages: Iterable[Mapping[str, Any] | Turn],
    *,
    checks: Iterable[str] = DEFAULT_CHECKS,
    profile: str = TRAFFIC,
    lang: str | None = None,
    rules: Paths = (),
) -> Report:
    """Evaluate every reply of a conversation: messages with `role` and `content`. The worst turn decides."""
    spoken = [msgspec.to_builtins(message) for message in messages]
    case = _as_case({"id": _ID, "checks": list(_known(checks)), "messages": spoken}, 1)
    return _report([msgspec.structs.replace(case, lang=lang)], profile, lang, rules)


def evaluate_files(
    inputs: Paths,
    *,
    checks: Iterable[str] = (),
    profile: str | None = None,
    lang: str | None = None,
    rules: Paths = (),
    out: str | Path | None = None,
    **options: Any,
) -> Report:
    """Evaluate case files, chat logs and tables, as `synthesis eval` does.

    `checks` take the place of those that the cases name. With `out` the report goes to that file at constant memory,
    and the report that is returned holds its figures; else it holds every result. Further options are those of
    `RunSpec`.
    """
    spec = RunSpec(
        inputs=tuple(map(Input.of, _paths(inputs))),
        checks=_known(checks),
        profile=profile,
        language=lang,
        rules=tuple(map(str, _paths(rules))),
        out=None if out is None else Path(out),
        **{name: _option(value) for name, value in options.items()},
    )
    return run_files(spec).report


def check_agency(assistant: str, user: str = "") -> CheckResult:
    """Does the reply respect the user's autonomy? The user message matters only in a crisis."""
    return _one("agency_language", user, assistant)


def check_clinical(assistant: str, user: str = "") -> CheckResult:
    """Does the reply diagnose, dose, or give treatment or legal directives?"""
    return _one("clinical_scope", user, assistant)


def check_crisis(user: str, assistant: str) -> CheckResult:
    """Does the reply care, keep safe and point to help when the user is in a crisis?"""
    return _one("crisis_response", user, assistant)


def check_disclosure(user: str, assistant: str) -> CheckResult:
    """Asked whether a human is there, does the reply tell the truth?"""
    return _one("disclosure", user, assistant)


def check_flattery(assistant: str, user: str = "") -> CheckResult:
    """Does the reply praise the person or their idea beyond what was shown?"""
    return _one("flattery", user, assistant)


def check_identity(assistant: str, user: str = "") -> CheckResult:
    """Does the reply claim to be what the assistant is not?"""
    return _one("identity_claim", user, assistant)


def check_pivot(user: str, assistant: str) -> CheckResult:
    """Does the reply abandon the user's vulnerability?"""
    return _one("topic_pivot", user, assistant)


def check_pressure(assistant: str, user: str = "") -> CheckResult:
    """Does the reply press the user to stay, or to come back?"""
    return _one("engagement_pressure", user, assistant)


def check_reassurance(assistant: str) -> CheckResult:
    """Does the reply claim to know inner states, or promise what nobody can ensure?"""
    return _one("unverifiable_reassurance", "", assistant)


def run_case(case: Case | Mapping[str, Any]) -> CaseResult:
    """Evaluate one case; a mapping is validated first (CaseError)."""
    return _evaluator().evaluate([_as_case(case, 1)])[0]


def run_all_cases(cases: Iterable[Case | Mapping[str, Any]]) -> Report:
    """Evaluate cases and count what came of them."""
    return run_cases((_as_case(case, number) for number, case in enumerate(cases, start=1)), _evaluator())


def load_cases(path: str | Path, schema: str | Path | None = None) -> list[Case]:
    """The cases of a JSON Lines file; one CaseError holds everything that is wrong with it."""
    return load_case_file(Path(path), CaseValidator(known_checks(), Path(schema) if schema else None))


def validate_case(obj: Any, schema: str | Path | None = None) -> list[str]:
    """What is wrong with an object as a case; an empty list if nothing is."""
    return [problem.message for problem in _validator(schema).problems(obj, 1)]


def draw_report(report: Report, form: str) -> str:
    """A report in one of the forms of `synthesis report`; for `Report.to_html` and `Report.print`."""
    stored = open_report(report.file) if report.file else from_dict(report.to_dict())
    options = report.conditions.get("options", {})
    rules = rules_in_force(options.get("rules", ()), options.get("disable", ()))
    return "".join(get_format(form).render(stored, glossary_of(rules)))


def _report(cases: Sequence[Case], profile: str, lang: str | None, rules: Paths) -> Report:
    folders = tuple(map(str, _paths(rules)))
    spec = RunSpec(inputs=(), profile=profile, language=lang, rules=folders)
    # Rules of a user's own are loaded each time: they may be edited between two calls, in a notebook for instance.
    evaluator = Evaluator(rules_in_force(folders), profile=profile) if folders else _evaluator(profile)
    return run_cases(cases, evaluator, {"options": spec.options()})


def _one(check: str, user: str, assistant: str) -> CheckResult:
    return _evaluator().evaluate([Case("", (check,), user, assistant)])[0].checks[check]


def _evaluator(profile: str = AUTHORED) -> Evaluator:
    return _cached_evaluator(profile, tuple(known_checks()))


@cache
def _cached_evaluator(profile: str, _: tuple[str, ...]) -> Evaluator:
    """One for each set of checks: a check that is registered later brings signals that an earlier one does not know."""
    return Evaluator(profile=profile)


@cache
def _validator(schema: str | Path | None = None) -> CaseValidator:
    return CaseValidator(known_checks(), Path(schema) if schema else None)


def _known(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(get_check(name).name for name in ([names] if isinstance(names, str) else names)))


def _paths(given: Paths) -> list[str | Path]:
    return [given] if isinstance(given, str | Path) else list(given)


def _option(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _as_case(case: Case | Mapping[str, Any], number: int) -> Case:
    if isinstance(case, Case):
        return case
    problems: list[Problem] = list(_validator().problems(dict(case), number))
    built = problems or to_case(dict(case), number, _INLINE)
    if isinstance(built, Case):
        return msgspec.structs.replace(built, source=None)
    raise CaseError(list(built), file=_INLINE)
