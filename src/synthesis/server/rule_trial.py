"""Trying a rule: what it matches in the bundled cases of its language.

The pattern language refuses patterns that take more than linear time. Of the rest, those that would still be slow on
the bundled cases are refused here, because anyone who can reach the server can send one.
"""

from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple

import msgspec

from synthesis.model import Case
from synthesis.rules.analysis import cost
from synthesis.rules.matcher import Matcher, prefilter_for
from synthesis.rules.pattern import PreparedPattern, checked, prepare
from synthesis.rules.reading import Hit
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.schema import Rule
from synthesis.rules.syntax import PatternError, WordLists
from synthesis.rules.text import UNDETERMINED, Text, language_of
from synthesis.server.bundled_cases import cases_by_language
from synthesis.server.errors import ApiError, not_found

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
    prepared = {source: _prepared(source, own.language, lists, messages) for source in own.patterns}
    nothing = {"en": ""}
    rule = Rule(OWN, own.language, "own", nothing, nothing, patterns=tuple(prepared))
    matcher = Matcher([rule], {}, prepared, spaced=language_of(own.language).spaced)
    return _trial(own.language, own.where, matcher, messages)


def try_bundled(rule: Rule, where: str, rules: RuleSet) -> Trial:
    """The hits of a rule in force; its guards apply."""
    pack = rules.packs[rule.language]
    matcher = Matcher([rule], pack.guards, rules.patterns(rule.language), spaced=language_of(rule.language).spaced)
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
            said = user if where == "user" else assistant
            if said:
                yield _Message(case, turn, Text(said, language_of(language)))


def _prepared(source: str, language: str, lists: WordLists, messages: list[_Message]) -> PreparedPattern:
    try:
        steps_at_one_place = cost(checked(source, lists))
        prepared = prepare(source, language_of(language), lists)
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
