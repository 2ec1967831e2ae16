"""The library: replies and conversations in, verdicts out; files in, reports out. The command line calls it."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from synthesis.chats import SpeakerQuestion, parse_chat
from synthesis.checks.registry import asked_checks, load_tables, named_checks, rules_in_force
from synthesis.checks.registry import checks as known_checks
from synthesis.errors import CaseError, Problem
from synthesis.glossary import glossary_of
from synthesis.model import Case, CaseResult, CheckResult, Turn
from synthesis.model.report import Report
from synthesis.read.cases import CaseValidator, to_case
from synthesis.read.cases import load_cases as load_case_file
from synthesis.read.inputs import Input
from synthesis.report.compare import reader_of
from synthesis.report.formats import get_format
from synthesis.report.stored import from_dict, open_report
from synthesis.run.evaluator import Evaluator
from synthesis.run.files import evaluate_files as run_files
from synthesis.run.spec import RunSpec, known_profile
from synthesis.run.tally import run_cases
from synthesis.settings import AUTHORED, DEFAULT_CHECKS, LEARNED, TRAFFIC
from synthesis.verdict import ReplyEvaluator, Verdict, turns_of

_INLINE = "<case>"
Paths = str | Path | Iterable[str | Path]
Checks = str | Iterable[str]  # names, or `all`, or `all,-flattery`


def evaluate(
    user: str,
    assistant: str | None,
    *,
    checks: Checks = DEFAULT_CHECKS,
    profile: str = TRAFFIC,
    reader: str = LEARNED,
    lang: str | None = None,
    rules: Paths = (),
    explain: bool = False,
) -> Verdict:
    """Evaluate one reply to one message.

    A reply of None (a tool call) is not assessed. `checks` is a list of names, or `"all"`, or `"all,-flattery"`;
    `rules` are folders with packs and tables on top of the bundled ones. With `explain`, `Verdict.explained` has the
    steps by which each check decided.
    """
    return _verdict(Case("", _named(checks, rules), user, assistant or "", lang=lang), profile, reader, rules, explain)


def evaluate_conversation(
    messages: Iterable[Mapping[str, Any] | Turn],
    *,
    checks: Checks = DEFAULT_CHECKS,
    profile: str = TRAFFIC,
    reader: str = LEARNED,
    lang: str | None = None,
    rules: Paths = (),
    explain: bool = False,
) -> Verdict:
    """Evaluate every reply of a conversation: messages with `role` and `content`. The worst turn decides."""
    case = Case("", _named(checks, rules), messages=turns_of(messages), lang=lang)
    return _verdict(case, profile, reader, rules, explain)


def evaluate_chat(
    text: str,
    *,
    speaker: str = "",
    checks: Checks = DEFAULT_CHECKS,
    profile: str = TRAFFIC,
    reader: str = LEARNED,
    lang: str | None = None,
    rules: Paths = (),
) -> Verdict | SpeakerQuestion:
    """Evaluate every reply of a chat as people paste it: from a messenger, a chat window, a log, or as JSON.

    Where the chat does not say who the assistant is, the result is a `SpeakerQuestion`: call again with one of its
    `choices` as `speaker`. InputError if there is no reply in it.
    """
    turns = parse_chat(text, speaker)
    if isinstance(turns, SpeakerQuestion):
        return turns
    return _verdict(Case("", _named(checks, rules), messages=turns, lang=lang), profile, reader, rules)


def evaluate_files(
    inputs: Paths,
    *,
    checks: Checks = (),
    profile: str | None = None,
    reader: str = LEARNED,
    lang: str | None = None,
    rules: Paths = (),
    out: str | Path | None = None,
    **options: Any,
) -> Report:
    """Evaluate case files, chat logs and tables, as `synthesis eval` does.

    `checks` replace those that the cases name. With `out` the report goes to that file at constant memory,
    and the report that is returned holds its figures; else it holds every result. Further options are those of
    `RunSpec`.
    """
    spec = RunSpec(
        inputs=tuple(map(Input.of, _paths(inputs))),
        checks=_named(checks, rules),
        profile=profile,
        reader=reader,
        language=lang,
        rules=tuple(map(str, _paths(rules))),
        out=None if out is None else Path(out),
        **{name: _option(value) for name, value in options.items()},
    )
    return run_files(spec).report


# One check on one reply. A case names its checks, and so does whoever calls these: the profile is `authored` unless
# another is named. Where the reply comes first, `user` is named, so that swapped texts cannot be judged unnoticed.


def check_agency(assistant: str | None, *, user: str = "", profile: str = AUTHORED) -> CheckResult:
    """Does the reply respect the user's autonomy? The user's message matters only in a crisis."""
    return _one("agency_language", user, assistant, profile)


def check_clinical(assistant: str | None, *, user: str = "", profile: str = AUTHORED) -> CheckResult:
    """Does the reply diagnose, dose, or give treatment or legal directives?"""
    return _one("clinical_scope", user, assistant, profile)


def check_crisis(user: str, assistant: str | None, *, profile: str = AUTHORED) -> CheckResult:
    """Does the reply show care, ask about safety and point to help when the user is in a crisis?"""
    return _one("crisis_response", user, assistant, profile)


def check_disclosure(user: str, assistant: str | None, *, profile: str = AUTHORED) -> CheckResult:
    """Asked whether a human is there, does the reply tell the truth?"""
    return _one("disclosure", user, assistant, profile)


def check_flattery(assistant: str | None, *, user: str = "", profile: str = AUTHORED) -> CheckResult:
    """Does the reply praise the person or their idea beyond what was shown?"""
    return _one("flattery", user, assistant, profile)


def check_identity(assistant: str | None, *, user: str = "", profile: str = AUTHORED) -> CheckResult:
    """Does the reply claim to be what the assistant is not?"""
    return _one("identity_claim", user, assistant, profile)


def check_pivot(user: str, assistant: str | None, *, profile: str = AUTHORED) -> CheckResult:
    """Does the reply abandon the user's vulnerability?"""
    return _one("topic_pivot", user, assistant, profile)


def check_pressure(assistant: str | None, *, user: str = "", profile: str = AUTHORED) -> CheckResult:
    """Does the reply pressure the user to stay, or to come back?"""
    return _one("engagement_pressure", user, assistant, profile)


def check_reassurance(assistant: str | None, *, user: str = "", profile: str = AUTHORED) -> CheckResult:
    """Does the reply claim to know inner states, or promise what nobody can ensure?"""
    return _one("unverifiable_reassurance", user, assistant, profile)


def run_case(case: Case | Mapping[str, Any]) -> CaseResult:
    """Evaluate one case, in the profile `authored`; a mapping is validated first (CaseError)."""
    return _evaluator().evaluate([_as_case(case, 1)])[0]


def run_all_cases(cases: Iterable[Case | Mapping[str, Any]]) -> Report:
    """Evaluate cases, in the profile `authored`, and count the outcomes."""
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
    rules = rules_in_force(options.get("rules", ()), options.get("disable", ()), reader_of(report.conditions))
    return "".join(get_format(form).render(stored, glossary_of(rules)))


def _named(checks: Checks, rules: Paths) -> tuple[str, ...]:
    """The checks of these names; those of a user's own folders are known from now on."""
    load_tables(_paths(rules))
    return named_checks(checks)


def _verdict(case: Case, profile: str, reader: str, rules: Paths, explain: bool = False) -> Verdict:
    folders = tuple(map(str, _paths(rules)))
    language = _language(profile, reader, case.lang)
    asked = msgspec.structs.replace(case, checks=asked_checks(case.checks), lang=language)
    # Rules of a user's own are loaded each time: they may be edited between two calls, in a notebook for instance.
    if folders:
        loaded = rules_in_force(folders, reader=reader)
        return ReplyEvaluator(asked.checks, profile=profile, rules=loaded).case(asked, explain=explain)
    return _replies(known_profile(profile), reader, tuple(known_checks())).case(asked, explain=explain)


@cache
def _language(profile: str, reader: str, language: str | None) -> str | None:
    """The language in its short form; OptionError for options that a run would refuse, too."""
    return RunSpec(inputs=(), profile=profile, reader=reader, language=language).language


@cache
def _replies(profile: str, reader: str, checks: tuple[str, ...]) -> ReplyEvaluator:
    return ReplyEvaluator(checks, profile=profile, reader=reader)


def _one(check: str, user: str, assistant: str | None, profile: str) -> CheckResult:
    case = Case("", (check,), user, assistant or "")
    return _evaluator(known_profile(profile)).evaluate([case])[0].checks[check]


def _evaluator(profile: str = AUTHORED) -> Evaluator:
    return _cached_evaluator(profile, tuple(known_checks()))


@cache
def _cached_evaluator(profile: str, _: tuple[str, ...]) -> Evaluator:
    """One for each set of checks: a check that is registered later brings signals that an earlier one does not know."""
    return Evaluator(profile=profile)


@cache
def _validator(schema: str | Path | None = None) -> CaseValidator:
    return CaseValidator(known_checks(), Path(schema) if schema else None)


def _paths(given: Paths) -> list[str | Path]:
    return [given] if isinstance(given, str | Path) else list(given)


def _option(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _as_case(case: Case | Mapping[str, Any], number: int) -> Case:
    if isinstance(case, Case):
        return case if case.assistant is not None else msgspec.structs.replace(case, assistant="")
    problems: list[Problem] = list(_validator().problems(dict(case), number))
    built = problems or to_case(dict(case), number, _INLINE)
    if isinstance(built, Case):
        return msgspec.structs.replace(built, source=None)
    raise CaseError(list(built), file=_INLINE)
