"""The rules in force: loaded once per process, browsed and searched."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec

from synthesis.checks.registry import checks, rules_in_force
from synthesis.glossary import explain_rule
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.schema import Rule
from synthesis.server.errors import not_found

SHARED = "shared"  # for signals that several checks read


@cache
def loaded_rules(folders: tuple[str, ...], disabled: tuple[str, ...]) -> RuleSet:
    """The rules of these folders; cached, since the server, its uploads and its start each ask for them."""
    return rules_in_force(folders, disabled)


class RuleSummary(msgspec.Struct, frozen=True):
    """A rule in brief."""

    id: str
    language: str
    check: Annotated[str, msgspec.Meta(description="The check that decides by it; `shared` where several do.")]
    signal: str
    group: str
    severity: str
    why: str


class GuardNote(msgspec.Struct, frozen=True):
    """Where a rule does not count."""

    name: str
    why: str


class Measured(msgspec.Struct, frozen=True):
    """On labelled conversations: in how many texts the rule fired, and in how many of them the label agrees."""

    fired: int
    right: int

    @property
    def precision(self) -> float:
        return self.right / self.fired


class RuleDetail(RuleSummary, frozen=True):
    """A rule in full: what it finds, where it does not count, and the sentences that prove it."""

    instead: str
    finds: list[str]
    guards: list[GuardNote]
    match: list[str]
    miss: list[str]
    measured: Annotated[Measured | None, msgspec.Meta(description="Null where it was not measured.")] = None


class Rulebook:
    """Finds rules by language, check and words."""

    def __init__(self, rules: RuleSet) -> None:
        self._rules = rules
        self._check_of = {signal.name: check.name for check in checks().values() for signal in check.signals}
        self._by_name = {(rule.language, rule.id): rule for rule in rules.rules}

    def find(self, language: str = "", check: str = "", words: str = "") -> list[Rule]:
        """The rules that match every given filter, by language and id."""
        return [
            rule
            for rule in self._rules.rules
            if (not language or rule.language == language)
            and (not check or self.check_of(rule) == check)
            and (not words or _contains(rule, words))
        ]

    def rule(self, language: str, rule_id: str) -> Rule:
        found = self._by_name.get((language, rule_id))
        if found is None:
            raise not_found("There is no such rule in that language.", "/api/v1/rules lists them all.")
        return found

    def languages_of(self, rule_id: str) -> list[str]:
        """The languages that have a rule with this id."""
        return [language for language in self._rules.languages if (language, rule_id) in self._by_name]

    def check_of(self, rule: Rule) -> str:
        return self._check_of.get(rule.signal, SHARED)

    def summary(self, rule: Rule) -> RuleSummary:
        told = explain_rule(rule)
        known = {name: told[name] for name in RuleSummary.__struct_fields__ if name != "check"}
        return RuleSummary(check=self.check_of(rule), **known)

    def detail(self, rule: Rule) -> RuleDetail:
        guards = self._rules.packs[rule.language].guards
        notes = [GuardNote(name, guards[name].why) for name in rule.guards]
        if rule.unless:
            notes.append(GuardNote("words around it", "The words before or after it say otherwise."))
        return RuleDetail(
            **explain_rule(rule),
            check=self.check_of(rule),
            guards=notes,
            measured=measured(rule),
        )


@cache
def _figures() -> dict[str, dict[str, list[int]]]:
    found: dict[str, dict[str, list[int]]] = json.loads(
        (Path(__file__).parent / "measured.json").read_text(encoding="utf-8")
    )
    return found


def measured(rule: Rule) -> Measured | None:
    """The measured precision of a rule; None if it fired in no labelled text."""
    figures = _figures().get(rule.language, {}).get(rule.id)
    return Measured(*figures) if figures else None


def _contains(rule: Rule, words: str) -> bool:
    wanted = words.casefold().split()
    return all(any(word in text.casefold() for text in _texts(rule)) for word in wanted)


def _texts(rule: Rule) -> Iterator[str]:
    yield from (rule.id, rule.group, rule.text("why"), rule.text("instead"), rule.label)
    yield from rule.patterns
    yield from rule.match
