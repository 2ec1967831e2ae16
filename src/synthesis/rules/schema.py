"""A rule as packs write it: what to look for, where not to count it, why, and what would be better."""

from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec

from synthesis.model.result import AGAINST, CONTEXT, SEVERITIES
from synthesis.rules.text import UNDETERMINED, Language

FAIL, WARNING = "fail", "warning"
RULE_SEVERITIES = (FAIL, WARNING, *SEVERITIES)


class Signal(msgspec.Struct, frozen=True):
    """Something that rules can find and checks decide by: `agency.negative` in the assistant's words."""

    explaining: ClassVar[tuple[str, ...]] = ("title",)

    name: str
    where: str  # user | assistant
    title: str
    anchor: bool = False  # counts only in the reply's first two sentences
    profile: str = ""  # read in this profile only
    role: str = AGAINST  # for | against | context: what it says about the reply; the user's words are always context
    whole: bool = False  # counts in code, tables and quotations, too: a number to call is help wherever it stands

    def __post_init__(self) -> None:
        if self.where == "user":
            msgspec.structs.force_setattr(self, "role", CONTEXT)


class GuardRule(msgspec.Struct, frozen=True):
    """Where a hit does not count: after or before certain words, in certain sentences, inside quotation marks."""

    explaining: ClassVar[tuple[str, ...]] = ("why",)

    name: str = ""
    why: str = ""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    sentence: tuple[str, ...] = ()
    quoted: bool = False

    @property
    def patterns(self) -> tuple[str, ...]:
        return (*self.before, *self.after, *self.sentence)


class SentenceRule(msgspec.Struct, frozen=True):
    """A sentence by its form and its words: has one of `has` and one of `also`, and none of `lacks`."""

    form: str = "any"  # any | question | statement
    starts: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()

    @property
    def patterns(self) -> tuple[str, ...]:
        return (*self.starts, *self.has, *self.also, *self.lacks)


class Wording(msgspec.Struct, frozen=True):
    """One way of saying what a rule looks for: as its pack has it, as a pattern, and the example beside it."""

    said: str
    pattern: str
    proof: str = ""


class Rule(msgspec.Struct, frozen=True):
    """One rule of one pack. `why` and `instead` are texts by language; English is always there."""

    explaining: ClassVar[tuple[str, ...]] = ("wordings", "why", "instead", "match", "miss", "rare", "file", "line")

    id: str
    language: str
    group: str
    why: dict[str, str]
    instead: dict[str, str]
    patterns: tuple[str, ...] = ()
    wordings: tuple[Wording, ...] = ()  # of the patterns, where a pack has them
    sentence: SentenceRule | None = None
    list_items: int = 0  # at least so many items of a list, each on a line of its own
    label: str = ""
    guards: tuple[str, ...] = ()
    exception: GuardRule | None = None  # `except` in a pack
    match: tuple[str, ...] = ()
    miss: tuple[str, ...] = ()
    severity: str = FAIL  # as its check says; or one of its own; or a warning, which fails nothing
    rare: str = ""  # why it stays although no text that we have holds its words
    file: str = ""
    line: int = 0
    signal: str = ""  # from the id: `agency.negative.you-should` belongs to `agency.negative`

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "signal", signal_of(self.id))

    @property
    def source(self) -> str:
        """The rule in one line: its label, or its first wording."""
        return self.label or next(iter(self.finds), self.id)

    @property
    def finds(self) -> tuple[str, ...]:
        """Its wordings as the pack has them."""
        return tuple(wording.said for wording in self.wordings) or self.patterns

    def text(self, field: str, language: str = "en") -> str:
        """`why` or `instead` in a language, else in English."""
        texts: dict[str, str] = getattr(self, field)
        return texts.get(language) or texts["en"]


class DetectionWords(msgspec.Struct, frozen=True):
    """What a language is recognised by: common words, and parts of words (`-ung`, `ge-`, `sch`)."""

    words: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


class Pack(msgspec.Struct, frozen=True, weakref=True):
    """The rules of one language from one folder, with what they share."""

    # `spoken` decides, too; the hash takes it in where it is not as bundled (see RuleSet.hash).
    explaining: ClassVar[tuple[str, ...]] = ("name", "version", "licence", "sources", "absent", "spoken")

    language: str
    name: str
    version: str
    licence: str
    sources: tuple[str, ...]
    rules: tuple[Rule, ...]
    guards: dict[str, GuardRule] = {}
    lists: dict[str, tuple[str, ...]] = {}
    detection: DetectionWords = DetectionWords()
    spoken: Language = Language(UNDETERMINED, UNDETERMINED)
    absent: dict[str, str] = {}  # concepts that the language has no words for: signal/group -> why

    def patterns(self) -> Iterator[str]:
        """Every pattern of its rules and guards."""
        for guard in self.guards.values():
            yield from guard.patterns
        for rule in self.rules:
            yield from rule.patterns
            yield from rule.sentence.patterns if rule.sentence else ()
            yield from rule.exception.patterns if rule.exception else ()


def signal_of(rule_id: str) -> str:
    """The signal that a rule belongs to: the first two parts of its id."""
    return ".".join(rule_id.split(".")[:2])


def deciding_part(value: Signal | GuardRule | Rule | Pack | Language) -> dict[str, Any]:
    """What can change a verdict: every field that is not listed as `explaining`.

    A field counts unless it is excluded, so that a new one cannot be forgotten.
    """
    fields = msgspec.structs.asdict(value)
    for name in value.explaining:
        del fields[name]
    if isinstance(value, Rule) and value.exception:
        fields["exception"] = deciding_part(value.exception)
    if isinstance(value, Pack):
        # The order of the rules decides nothing: hits are sorted by place and id.
        fields["rules"] = [deciding_part(rule) for rule in sorted(value.rules, key=lambda rule: rule.id)]
        fields["guards"] = {name: deciding_part(guard) for name, guard in value.guards.items()}
    return fields


FORMS = ("any", "question", "statement")
