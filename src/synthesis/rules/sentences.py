"""Sentence rules: a sentence by its form and by the words that it has, begins with, or lacks."""

from synthesis.rules.index import Line, PatternIndex
from synthesis.rules.needs import together
from synthesis.rules.schema import Sentence

Span = tuple[int, int]
_MARK = (("?", "か。"),)  # without one of these, a line holds no question


class ReadySentence:
    """A sentence rule with its patterns, and its own number: a line that can hold no such sentence is not looked at."""

    def __init__(self, sentence: Sentence, index: PatternIndex) -> None:
        self._form = sentence.form
        self._index = index
        wanted = (sentence.starts, sentence.has, sentence.also)
        self._starts, self._has, self._also, self._lacks = map(index.set_of, (*wanted, sentence.lacks))
        words = [index.needs_one_of(group) for group in wanted if group]
        self.number = index.add(together([*words, _MARK] if self._form == "question" else words))

    def found(self, line: Line) -> list[Span]:
        """The sentences of a line that fit."""
        return [span for span in line.text.sentences_in(line.start, line.end) if self._fits(line, *span)]

    def _fits(self, line: Line, start: int, end: int) -> bool:
        normal = line.text.normal
        if self._form != "any" and (self._form == "question") != is_question(normal, start, end):
            return False
        if self._starts and not any(
            pattern.begins(normal, start, end) for pattern in self._index.members(self._starts & line.possible)
        ):
            return False
        return (
            (not self._has or self._has_one(self._has, line, start, end))
            and (not self._also or self._has_one(self._also, line, start, end))
            and not self._has_one(self._lacks, line, start, end)
        )

    def _has_one(self, wanted: int, line: Line, start: int, end: int) -> bool:
        patterns = self._index.members(wanted & line.possible)
        return any(pattern.is_in(line.text.normal, start, end) for pattern in patterns)


def is_question(normal: str, start: int, end: int) -> bool:
    """By its mark, or by the Japanese particle that asks before a full stop."""
    return normal[max(start, end - 4) : end].rstrip("\"')").endswith(("?", "か。"))
