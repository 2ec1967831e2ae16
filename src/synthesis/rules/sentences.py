"""Sentence rules: a sentence by its form and by the words that it has, begins with, or lacks."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from synthesis.rules.pattern import Pattern, PreparedPattern
from synthesis.rules.schema import Sentence
from synthesis.rules.text import Text

Span = tuple[int, int]


class ReadySentence(NamedTuple):
    """A sentence rule with its patterns; `trigger` are those to look for first, the rarest that it needs."""

    form: str
    trigger: tuple[str, ...]
    starts: list[Pattern]
    has: list[Pattern]
    also: list[Pattern]
    lacks: list[Pattern]

    @classmethod
    def of(cls, sentence: Sentence, prepared: Mapping[str, PreparedPattern]) -> "ReadySentence":
        groups = [group for group in (sentence.starts, sentence.has, sentence.also) if group]
        trigger = min(groups, key=lambda group: sum(prepared[source].frequency for source in group))
        parts = (sentence.starts, sentence.has, sentence.also, sentence.lacks)
        return cls(sentence.form, trigger, *([Pattern(prepared[source]) for source in part] for part in parts))

    def found(self, text: Text, triggers: Iterable[Span]) -> list[Span]:
        """The sentences that fit, of those in which a trigger stands."""
        candidates = dict.fromkeys(text.sentence_at(start) for start, _ in triggers)
        return [span for span in candidates if self._fits(text.normal, *span)]

    def _fits(self, normal: str, start: int, end: int) -> bool:
        def has_one(patterns: list[Pattern]) -> bool:
            return any(pattern.compiled.search(normal, start, end) for pattern in patterns)

        if self.form != "any" and (self.form == "question") != is_question(normal, start, end):
            return False
        if self.starts and not any(pattern.compiled.match(normal, start, end) for pattern in self.starts):
            return False
        return all(map(has_one, filter(None, (self.has, self.also)))) and not has_one(self.lacks)


def is_question(normal: str, start: int, end: int) -> bool:
    """By its mark, or by the Japanese particle that asks before a full stop."""
    return normal[max(start, end - 4) : end].rstrip("\"')").endswith(("?", "か。"))
