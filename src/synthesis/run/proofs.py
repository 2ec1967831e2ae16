"""The proofs of a table: the exchanges under `cases`, what they expect, and steps that none of them needs.

cases:
  - {user: Where is my order?, assistant: Hurry up or it is gone!, expect: fail}
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from synthesis.checks.explained import used_names
from synthesis.checks.registry import get_check, shared_table
from synthesis.checks.table import DECISION, STRENGTH, Table
from synthesis.errors import OptionError, Place, did_you_mean, shorten
from synthesis.model import Case
from synthesis.model.result import FAIL, NOT_APPLICABLE, PASS, SEVERITIES
from synthesis.rules.ruleset import RuleSet
from synthesis.run.evaluator import Evaluator
from synthesis.settings import PROFILES, TRAFFIC

EXPECTED = (FAIL, PASS, NOT_APPLICABLE)
_FIELDS = {"user", "assistant", "expect", "severity", "profile", "lang"}
_SHOWN = 60  # characters of a reply
_MADE = ("row", DECISION, STRENGTH)


class Proof(NamedTuple):
    """An exchange of a table and the verdict that it expects."""

    number: int
    case: Case
    profile: str
    expected: str
    severity: str = ""


class Problem(NamedTuple):
    """Something that is wrong or weak in a table."""

    place: Place
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


def proofs_of(table: Table) -> list[Proof]:
    """The proofs that a table holds; OptionError if one cannot be read."""
    return [_proof(table, number, case) for number, case in enumerate(table.cases, 1)]


def _proof(table: Table, number: int, case: Any) -> Proof:
    told: Mapping[str, Any] = case if isinstance(case, dict) else {}
    where = f"{table.file}: case {number}"
    for key in sorted(set(told) - _FIELDS):
        raise OptionError(f"{where} has the unknown field '{key}'", hint=did_you_mean(key, _FIELDS))
    for key in ("user", "assistant", "expect"):
        if not isinstance(told.get(key), str):
            hint = "For example: {user: Hello, assistant: Go away!, expect: fail}"
            raise OptionError(f"{where} needs `{key}`", hint=hint)
    if told["expect"] not in EXPECTED:
        raise OptionError(f"{where} expects '{told['expect']}'", hint=did_you_mean(told["expect"], EXPECTED))
    severity = str(told.get("severity", ""))
    if severity and severity not in SEVERITIES:
        raise OptionError(f"{where} expects the severity '{severity}'", hint=did_you_mean(severity, SEVERITIES))
    profile = str(told.get("profile", TRAFFIC))
    if profile not in PROFILES:
        raise OptionError(f"{where} names no profile", hint=did_you_mean(profile, PROFILES))
    asked = Case(f"case {number}", (table.name,), told["user"], told["assistant"], lang=told.get("lang"))
    return Proof(number, asked, profile, told["expect"], severity)


def failed_proofs(table: Table, rules: RuleSet) -> Iterator[Problem]:
    """The cases whose verdict is not the expected one, and verdicts that no case shows."""
    proofs = proofs_of(table)
    place = Place(table.file)
    for expected in (FAIL, PASS):
        if not any(proof.expected == expected for proof in proofs):
            yield Problem(place, f"no case expects '{expected}'")
    for profile in PROFILES:
        own = [proof for proof in proofs if proof.profile == profile]
        evaluator = Evaluator(rules, profile=profile)
        for proof, result in zip(own, evaluator.evaluate([proof.case for proof in own]), strict=True):
            found = result.checks[table.name]
            named = f"case {proof.number} (“{shorten(proof.case.assistant, _SHOWN)}”)"
            if found.outcome != proof.expected:
                (told,) = evaluator.explain(proof.case)[table.name]
                why = f"by {told.decided_by}: {told.because}"
                yield Problem(place, f"{named} expects '{proof.expected}' and gets '{found.outcome}', {why}")
            elif proof.severity and found.severity != proof.severity:
                yield Problem(place, f"{named} expects the severity '{proof.severity}' and gets '{found.severity}'")


def weak_steps(table: Table, rules: RuleSet) -> Iterator[Problem]:
    """Steps and constants that nothing uses, and steps that hold in no case."""
    used = used_names(table)
    for name in table.constants:
        if name not in used:
            yield Problem(Place(table.file), f"nothing uses the constant '{name}'")
    steps = [name for name in table.steps if name not in _MADE]
    holding = _holding(table, rules)
    for name in steps:
        place = Place(table.file, table.lines[name])
        if name not in used:
            yield Problem(place, f"nothing uses the step '{name}'")
        elif name not in holding:
            yield Problem(place, f"the step '{name}' holds in no case: add one, or take the step away")


def _holding(table: Table, rules: RuleSet) -> set[str]:
    """The steps that hold in some case."""
    found: set[str] = set()
    for profile in PROFILES:
        evaluator = Evaluator(rules, profile=profile)
        for proof in proofs_of(table):
            if proof.profile == profile:
                for each in evaluator.explain(proof.case)[table.name]:
                    found |= {step.name for step in each.steps if step.holds}
    return found


def own_tables(names: Iterable[str]) -> list[Table]:
    """The tables of a user's own among these checks."""
    found = [get_check(name).table for name in names]
    return [table for table in found if table and table.is_own and table is not shared_table()]
