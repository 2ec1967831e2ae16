"""The hash of a rule set changes with everything that can change a verdict, and with nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from synthesis.rules.ruleset import PatternStore, RuleSet
from synthesis.rules.schema import GuardRule, Pack, Rule, SentenceRule, Signal
from synthesis.rules.text import Language

SIGNAL = Signal("agency.negative", "assistant", "directs")
SENTENCE = SentenceRule(has=("zonk",))
GUARD = GuardRule(name="denied", before=("not",))
RULE = Rule(
    id="agency.negative.zonk",
    language="en",
    group="directive",
    why={"en": "why"},
    instead={"en": "instead"},
    sentence=SENTENCE,
    exception=GUARD,
)
SPOKEN = Language("en", "English")
PACK = Pack("en", "mine", "1", "MIT", (), (RULE,), {"denied": GUARD}, {"verbs": ("go",)}, spoken=SPOKEN)

EXPLAINING = {
    Rule: {"wordings", "why", "instead", "match", "miss", "rare", "file", "line"},
    GuardRule: {"why"},
    SentenceRule: set(),
    Pack: {"name", "version", "licence", "sources", "absent"},
    Signal: {"title"},
    Language: {"name"},
}


def hash_of(pack: Pack = PACK, signal: Signal = SIGNAL, also: dict[str, object] | None = None) -> str:
    signals = {rule.signal: signal for rule in pack.rules}
    return RuleSet([pack], signals, PatternStore(signals), lambda _: also or {}).hash


def hash_with_rule(rule: Rule) -> str:
    return hash_of(replace(PACK, rules=(rule,)))


# How a struct takes part in a rule set.
PLACES: list[tuple[msgspec.Struct, Callable[[Any], str]]] = [
    (RULE, hash_with_rule),
    (SENTENCE, lambda sentence: hash_with_rule(replace(RULE, sentence=sentence))),
    (GUARD, lambda guard: hash_with_rule(replace(RULE, exception=guard))),
    (GUARD, lambda guard: hash_of(replace(PACK, guards={"denied": guard}))),
    (PACK, hash_of),
    (SPOKEN, lambda spoken: hash_of(replace(PACK, spoken=spoken))),
    (SIGNAL, lambda signal: hash_of(signal=signal)),
]


def with_changed(struct: msgspec.Struct, field: str) -> msgspec.Struct:
    """A copy with another value of the same type in one field."""
    copy = replace(struct)
    msgspec.structs.force_setattr(copy, field, changed(getattr(struct, field)))
    return copy


def changed(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return f"{value}x"
        case (Rule(), *_):
            return (*value, replace(RULE, id="agency.negative.second"))
        case Language():
            return replace(value, spaced=not value.spaced)
        case frozenset():
            return value | {"more"}
        case tuple():
            return (*value, "more")
        case dict():
            return {**value, "more": next(iter(value.values()), "")}
        case _:
            return None


@pytest.mark.parametrize(("struct", "hashed"), PLACES)
def test_every_field_but_the_explaining_ones_changes_the_hash(
    struct: msgspec.Struct, hashed: Callable[[Any], str]
) -> None:
    fields = struct.__struct_fields__
    unchanged = {field for field in fields if hashed(with_changed(struct, field)) == hashed(struct)}
    assert unchanged == EXPLAINING[type(struct)]


def test_what_checks_decide_by_beside_the_rules_changes_the_hash() -> None:
    hashes = {hash_of(), *(hash_of(also={"topic_pivot": {"threshold": value}}) for value in (0.45, 0.5))}
    assert len(hashes) == 3


def test_the_order_of_rules_does_not_change_the_hash() -> None:
    rules = (RULE, replace(RULE, id="agency.negative.second"))
    assert hash_of(replace(PACK, rules=rules)) == hash_of(replace(PACK, rules=rules[::-1]))


def test_the_words_of_a_list_and_their_order_change_the_hash() -> None:
    """Alternatives are tried in order, so their order can move the end of a match."""
    hashes = {hash_of(replace(PACK, lists={"verbs": words})) for words in (("go",), ("go", "run"), ("run", "go"))}
    assert len(hashes) == 3


def test_a_list_that_a_higher_pack_replaces_still_changes_the_hash() -> None:
    """Patterns of the lower pack keep its lists."""

    def hash_above(words: tuple[str, ...]) -> str:
        patterns = PatternStore({SIGNAL.name: SIGNAL})
        for pack in (replace(PACK, lists={"verbs": words}), PACK):
            patterns.add(pack, "", Path())
        return RuleSet([PACK], {SIGNAL.name: SIGNAL}, patterns).hash

    assert hash_above(("go",)) != hash_above(("run",))
