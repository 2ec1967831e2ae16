"""The rules in force, browsed and searched; and a rule tried on the bundled cases of its language."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from synthesis.checks.registry import checks, rules_in_force
from synthesis.glossary import explain_rule
from synthesis.io import CASES
from synthesis.model import Case
from synthesis.read.cases import CaseValidator, load_cases
from synthesis.rules.analysis import cost
from synthesis.rules.matcher import Matcher, prefilter_for
from synthesis.rules.pattern import PreparedPattern, checked, prepare
from synthesis.rules.prose import prose
from synthesis.rules.reading import Hit
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.schema import Rule
from synthesis.rules.syntax import PatternError, WordLists
from synthesis.rules.text import UNDETERMINED, Language, Text, language_of
from synthesis.server.http import ApiError, not_found
from synthesis.settings import LEARNED


@cache
def cases_by_language() -> dict[str, tuple[Case, ...]]:
    """All of them by language, in file order: the one that the case or its file names, else that of the last reply."""
    validator, detector = CaseValidator(checks()), rules_in_force().detector
    found: dict[str, list[Case]] = {}
    for path in sorted(CASES.parent.glob("evals*.jsonl")):
        named = path.suffixes[0].lstrip(".")
        for case in load_cases(path, validator):
            language = case.lang or (named if len(named) == 2 else detector.detect(case.exchanges[-1][1]).language)
            found.setdefault(language, []).append(case)
    return {language: tuple(cases) for language, cases in sorted(found.items())}


def find_case(case_id: str) -> Case | None:
    return next((case for cases in cases_by_language().values() for case in cases if case.id == case_id), None)


# The rules in force: loaded once per process, browsed and searched.


SHARED = "shared"  # for signals that several checks read


@cache
def loaded_rules(folders: tuple[str, ...], disabled: tuple[str, ...], reader: str = LEARNED) -> RuleSet:
    """The rules of these folders; cached, since the server, its uploads and its start each ask for them."""
    return rules_in_force(folders, disabled, reader)


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
        self._by_name = {(rule.language, rule.id): rule for rule in (*rules.rules, *rules.learned_rules)}

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
        found = self._by_name.get((language, rule_id)) or self._by_name.get(("", rule_id))  # of any language
        if found is None:
            raise not_found("There is no such rule in that language.", "/api/v1/rules lists them all.")
        return found

    def languages_of(self, rule_id: str) -> list[str]:
        """The languages that have a rule with this id."""
        return [language for language in self._rules.languages if (language, rule_id) in self._by_name]

    def check_of(self, rule: Rule) -> str:
        return self._check_of.get(rule.signal, SHARED)

    def summary(self, rule: Rule) -> RuleSummary:
        explained = explain_rule(rule)
        known = {name: explained[name] for name in RuleSummary.__struct_fields__ if name != "check"}
        return RuleSummary(check=self.check_of(rule), **known)

    def detail(self, rule: Rule) -> RuleDetail:
        guards = self._rules.packs[rule.language].guards if rule.language else {}
        notes = [GuardNote(name, guards[name].why) for name in rule.guards]
        if rule.exception:
            notes.append(GuardNote("words around it", "Words before or after it rule it out."))
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
    yield from rule.finds
    yield from rule.match


# Trying a rule: what it matches in the bundled cases of its language.


MOST_STEPS = 100_000_000  # of matching, about half a second
MOST_HITS = 500
OWN = "own.rule.tried"
Pattern = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class OwnRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule of your own: one or several wordings in the pattern language of the packs."""

    patterns: Annotated[tuple[Pattern, ...], msgspec.Meta(min_length=1, max_length=20)]
    language: str = "en"
    where: Literal["user", "assistant"] = "assistant"


class OwnHit(msgspec.Struct, frozen=True):
    """The words that a rule matched (offsets in code points of the original text)."""

    case: str
    turn: int
    start: int
    end: int
    text: str


class Trial(msgspec.Struct, frozen=True):
    """What a rule matched in `searched` messages."""

    language: str
    where: str
    searched: int
    hits: list[OwnHit]
    left_out: Annotated[int, msgspec.Meta(description=f"Hits beyond the first {MOST_HITS}.")] = 0


class _Message(NamedTuple):
    case: Case
    turn: int
    text: Text


def try_rule(own: OwnRule, rules: RuleSet) -> Trial:
    """The hits of a user's own rule; ApiError for a pattern that is not valid."""
    if own.language not in rules.packs:
        raise not_found("There are no rules for that language.", f"Known: {', '.join(rules.languages)}.")
    messages = list(_messages(own.language, own.where))
    lists = WordLists(rules.packs[own.language].lists)
    prepared = {source: _prepared(source, rules.language(own.language), lists, messages) for source in own.patterns}
    nothing = {"en": ""}
    rule = Rule(OWN, own.language, "own", nothing, nothing, patterns=tuple(prepared))
    matcher = Matcher([rule], {}, prepared, spaced=rules.language(own.language).spaced)
    return _trial(own.language, own.where, matcher, messages)


def try_bundled(rule: Rule, where: str, rules: RuleSet) -> Trial:
    """The hits of a rule in force; its guards apply."""
    pack = rules.packs[rule.language]
    matcher = Matcher([rule], pack.guards, rules.patterns(rule.language), spaced=pack.spoken.spaced)
    return _trial(rule.language, where, matcher, list(_messages(rule.language, where)))


def _trial(language: str, where: str, matcher: Matcher, messages: list[_Message]) -> Trial:
    found = matcher.scan([message.text for message in messages])
    hits = [own for message, hits in zip(messages, found, strict=True) for own in _own_hits(message, hits)]
    return Trial(language, where, len(messages), hits[:MOST_HITS], max(0, len(hits) - MOST_HITS))


def _own_hits(message: _Message, hits: list[Hit]) -> Iterator[OwnHit]:
    for hit in hits:
        yield OwnHit(message.case.id, message.turn, hit.start, hit.end, hit.words)


def _messages(language: str, where: str) -> Iterator[_Message]:
    for case in cases_by_language().get(language, ()):
        for turn, (user, assistant) in enumerate(case.exchanges):
            message = user if where == "user" else prose(assistant, user)
            if message:
                yield _Message(case, turn, Text(message, language_of(language)))


def _prepared(source: str, language: Language, lists: WordLists, messages: list[_Message]) -> PreparedPattern:
    try:
        steps_at_one_place = cost(checked(source, lists))
        prepared = prepare(source, language, lists)
    except PatternError as error:
        message = f"The pattern is not valid: {error.message} (column {error.column})."
        raise ApiError(422, "invalid_pattern", message, f"In: {source}") from None
    if steps_at_one_place * _places(prepared, messages) > MOST_STEPS:
        message = "The pattern would take too long to match here."
        raise ApiError(422, "invalid_pattern", message, "Begin with a rarer word, or use shorter gaps.")
    return prepared


def _places(prepared: PreparedPattern, messages: list[_Message]) -> int:
    """At how many places of the texts the pattern may be tried."""
    language = messages[0].text.language if messages else language_of(UNDETERMINED)
    prefilter = prefilter_for([prepared.required_words], spaced=language.spaced)
    return sum(len(message.text.normal) for message in messages if prefilter.possible(message.text.normal))
