"""The proofs of a table: the exchanges under `cases`, what they expect, and steps that none of them needs.

cases:
  - {user: Where is my order?, assistant: Hurry up or it is gone!, expect: fail}
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from synthesis.checks.explained import used_names
from synthesis.checks.registry import get_check, shared_table
from synthesis.checks.table import DECISION, STRENGTH, Table
from synthesis.errors import OptionError, Place, did_you_mean
from synthesis.model import Case
from synthesis.model.result import FAIL, NOT_APPLICABLE, PASS
from synthesis.rules.ruleset import RuleSet
from synthesis.run.evaluator import Evaluator
from synthesis.settings import PROFILES, TRAFFIC

EXPECTED = (FAIL, PASS, NOT_APPLICABLE)
_FIELDS = {"user", "assistant", "expect", "profile", "lang"}
_MADE = ("row", DECISION, STRENGTH)


class Proof(NamedTuple):
    """An exchange of a table and the verdict that it expects."""

    number: int
    case: Case
    profile: str
    expected: str


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
    if not all(isinstance(told.get(key), str) for key in ("user", "assistant")) or told.get("expect") not in EXPECTED:
        hint = "For example: {user: Hello, assistant: Go away!, expect: fail}"
        raise OptionError(f"{where} needs `user`, `assistant` and `expect` ({', '.join(EXPECTED)})", hint=hint)
    profile = str(told.get("profile", TRAFFIC))
    if profile not in PROFILES:
        raise OptionError(f"{where} names no profile", hint=did_you_mean(profile, PROFILES))
    asked = Case(f"case {number}", (table.name,), told["user"], told["assistant"], lang=told.get("lang"))
    return Proof(number, asked, profile, told["expect"])


def failed_proofs(table: Table, rules: RuleSet) -> Iterator[Problem]:
    """The cases whose verdict is not the expected one, and verdicts that no case shows."""
    proofs = proofs_of(table)
    place = Place(table.file)
    for expected in (FAIL, PASS):
        if not any(proof.expected == expected for proof in proofs):
            yield Problem(place, f"no case expects '{expected}'")
    for profile in PROFILES:
        own = [proof for proof in proofs if proof.profile == profile]
        results = Evaluator(rules, profile=profile).evaluate([proof.case for proof in own])
        for proof, result in zip(own, results, strict=True):
            found = result.checks[table.name]
            if found.outcome != proof.expected:
                why = f" ({found.reason or found.error})" if found.reason or found.error else ""
                yield Problem(place, f"case {proof.number} expects '{proof.expected}' and gets '{found.outcome}'{why}")


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
