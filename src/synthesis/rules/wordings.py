"""Each wording of a rule by itself: which of the rule's examples it finds, and what it finds in other texts.

A rule stops at its outermost hit, so a reading does not say which of its wordings would have found it, too. Here every
wording is a rule of its own, with the guards of the rule that it comes from.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from synthesis.rules.detection import Detected
from synthesis.rules.reading import Message
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.schema import Pack, Rule, SentenceRule, Signal

_MARK = "--"  # no id of a rule holds it twice in a row


class Wording(NamedTuple):
    """One way in which a rule may be met: one of its patterns, or of the words that a sentence starts with or has."""

    language: str
    rule: str
    field: str  # patterns | starts | has | also
    number: int
    source: str

    @property
    def name(self) -> str:
        return f"{self.rule}{_MARK}{self.field}{self.number}"


def wordings_of(rule: Rule) -> Iterator[Wording]:
    """Every wording of a rule, in the order of its pack."""
    for number, source in enumerate(rule.patterns):
        yield Wording(rule.language, rule.id, "patterns", number, source)
    for field in _SENTENCE:
        for number, source in enumerate(getattr(rule.sentence, field, ())):
            yield Wording(rule.language, rule.id, field, number, source)


_SENTENCE = ("starts", "has", "also")


def alone(rule: Rule, wording: Wording) -> Rule:
    """The rule with one wording in place of all of its kind."""
    if wording.field == "patterns":
        parts: dict[str, object] = {"patterns": (wording.source,), "sentence": None, "list_items": 0}
    else:
        assert rule.sentence
        parts = {"patterns": (), "list_items": 0, "sentence": _only(rule.sentence, wording)}
    return msgspec.structs.replace(rule, id=wording.name, **parts)


def _only(sentence: SentenceRule, wording: Wording) -> SentenceRule:
    """What else the rule asks of a sentence stays."""
    return msgspec.structs.replace(sentence, **{wording.field: (wording.source,)})


def apart(pack: Pack) -> Pack:
    """A pack in which every wording is a rule."""
    split = (alone(rule, wording) for rule in pack.rules for wording in wordings_of(rule))
    return msgspec.structs.replace(pack, rules=tuple(split))


class Proof(NamedTuple):
    """A wording and the examples of its rule that it finds."""

    wording: Wording
    examples: tuple[str, ...]


def proofs(rules: RuleSet, signals: Mapping[str, Signal]) -> Iterator[Proof]:
    """Every wording with the examples that prove it, in the order of the packs."""
    split = rules.arranged(apart, "apart")
    for language, pack in rules.packs.items():
        texts = list(dict.fromkeys((signals[rule.signal].where, text) for rule in pack.rules for text in rule.match))
        found = _found(split, language, texts)
        for rule in pack.rules:
            where = signals[rule.signal].where
            for wording in wordings_of(rule):
                yield Proof(wording, tuple(text for text in rule.match if wording.name in found[where, text]))


def _found(rules: RuleSet, language: str, texts: Sequence[tuple[str, str]]) -> dict[tuple[str, str], set[str]]:
    declared = Detected(language, "declared")
    readings = rules.read([Message(text, where, language=declared) for where, text in texts])
    return {key: {hit.rule.id for hit in reading.hits} for key, reading in zip(texts, readings, strict=True)}
