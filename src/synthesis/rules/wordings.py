"""Each line of a rule by itself: which of the rule's examples it finds, and what it finds in other texts.

A rule stops at its outermost hit, so a reading does not say which of its lines would have found it, too. Here every
line is a rule of its own, with the guards of the rule that it comes from.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from synthesis.rules.detection import Detected
from synthesis.rules.reading import Message
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.schema import Pack, Rule, SentenceRule, Signal

_MARK = "--"  # no id of a rule holds it twice in a row
_SENTENCE = ("starts", "has", "also")


class Line(NamedTuple):
    """One way in which a rule may be met: a phrase, a pattern, or words that a sentence starts with or has."""

    rule: Rule
    field: str  # patterns | starts | has | also
    number: int
    said: str  # as the pack has it
    pattern: str

    @property
    def name(self) -> str:
        return f"{self.rule.id}{_MARK}{self.field}{self.number}"

    def alone(self) -> Rule:
        """The rule with this line in place of all of its kind; what else it asks of a sentence stays."""
        parts: dict[str, object] = {"patterns": (), "list_items": 0}
        if self.field == "patterns":
            parts |= {"patterns": (self.pattern,), "sentence": None}
        else:
            parts["sentence"] = msgspec.structs.replace(_sentence(self.rule), **{self.field: (self.pattern,)})
        return msgspec.structs.replace(self.rule, id=self.name, wordings=(), **parts)


def _sentence(rule: Rule) -> SentenceRule:
    assert rule.sentence
    return rule.sentence


def lines_of(rule: Rule) -> Iterator[Line]:
    """Every line of a rule, in the order of its pack."""
    for number, (said, pattern) in enumerate(zip(rule.finds, rule.patterns, strict=True)):
        yield Line(rule, "patterns", number, said, pattern)
    for field in _SENTENCE if rule.sentence else ():
        for number, pattern in enumerate(getattr(rule.sentence, field)):
            yield Line(rule, field, number, f"{field} {number + 1}: {pattern}", pattern)


def apart(pack: Pack) -> Pack:
    """A pack in which every line is a rule."""
    return msgspec.structs.replace(pack, rules=tuple(line.alone() for rule in pack.rules for line in lines_of(rule)))


class Proof(NamedTuple):
    """A line and the examples of its rule that it finds."""

    line: Line
    examples: tuple[str, ...]


def proofs(rules: RuleSet, signals: Mapping[str, Signal], own: Collection[Rule] | None = None) -> Iterator[Proof]:
    """Every line with the examples that prove it, in the order of the rules; of some rules only (None: of all)."""
    split = rules.arranged(apart, "apart")
    by_language: dict[str, list[Rule]] = {}
    for rule in rules.rules if own is None else own:
        by_language.setdefault(rule.language, []).append(rule)
    for language, of_language in by_language.items():
        found = _found(
            split, language, [(signals[rule.signal].where, text) for rule in of_language for text in rule.match]
        )
        for rule in of_language:
            where = signals[rule.signal].where
            for line in lines_of(rule):
                yield Proof(line, tuple(text for text in rule.match if line.name in found[where, text]))


def _found(rules: RuleSet, language: str, texts: Sequence[tuple[str, str]]) -> dict[tuple[str, str], set[str]]:
    declared, texts = Detected(language, "declared"), list(dict.fromkeys(texts))
    readings = rules.read([Message(text, where, language=declared) for where, text in texts])
    return {key: {hit.rule.id for hit in reading.hits} for key, reading in zip(texts, readings, strict=True)}
