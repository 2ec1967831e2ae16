"""Where a hit does not count: denied, quoted, reported, supposed, or said with other words around it.

Most hits have no guarding word anywhere near. So the fixed words of all guards are looked for once per text, and a
guard's pattern is tried only where one of its own stands close by.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping

import ahocorasick_rs

from synthesis.rules.pattern import Pattern, PreparedPattern
from synthesis.rules.schema import Guard
from synthesis.rules.text import Text

REACH = 300  # characters of a sentence without end that are looked at, so that many hits in it stay cheap


class GuardWords:
    """The patterns of all guards, and an automaton over their literals."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._owners: dict[str, list[int]] = defaultdict(list)
        self._automaton: ahocorasick_rs.AhoCorasick | None = None
        self._by_literal: list[list[int]] = []

    def number(self, prepared: PreparedPattern) -> int:
        """The number of a pattern; -1 for one without literals, which is always tried."""
        if prepared.literals is None:
            return -1
        number = self._numbers.setdefault(prepared.source, len(self._numbers))
        for literal in prepared.literals.texts:
            if number not in self._owners[literal]:
                self._owners[literal].append(number)
        return number

    def places(self, normal: str) -> dict[int, list[int]]:
        """Where the literals of each pattern stand in a text, in order."""
        if self._automaton is None:
            self._automaton = ahocorasick_rs.AhoCorasick(list(self._owners))
            self._by_literal = list(self._owners.values())
        places: dict[int, list[int]] = defaultdict(list)
        for literal, start, _ in self._automaton.find_matches_as_indexes(normal, overlapping=True):
            for number in self._by_literal[literal]:
                places[number].append(start)
        for starts in places.values():
            starts.sort()
        return places


class Surroundings:
    """A text with the places of guarding words, found when first asked for."""

    def __init__(self, text: Text, words: GuardWords) -> None:
        self.text = text
        self._words = words
        self._places: dict[int, list[int]] | None = None

    def may_stand(self, number: int, first: int, last: int) -> bool:
        """Whether a literal of a pattern begins between `first` and `last`."""
        if number < 0:
            return True
        if self._places is None:
            self._places = self._words.places(self.text.normal)
        starts = self._places.get(number)
        if not starts:
            return False
        index = bisect_left(starts, first)
        return index < len(starts) and starts[index] < last


class ReadyGuard:
    """A guard with its patterns."""

    def __init__(self, guard: Guard, prepared: Mapping[str, PreparedPattern], words: GuardWords) -> None:
        self._quoted = guard.quoted
        self._before, self._after, self._sentence = (
            [(words.number(prepared[source]), Pattern(prepared[source])) for source in sources]
            for sources in (guard.before, guard.after, guard.sentence)
        )

    def holds(self, around: Surroundings, start: int, end: int) -> bool:
        """Whether the hit from `start` to `end` must not count."""
        return (
            (self._quoted and around.text.is_quoted(start, end))
            or any(_stands_before(pattern, number, around, start) for number, pattern in self._before)
            or any(_stands_after(pattern, around.text.normal, end) for _, pattern in self._after)
            or any(_in_sentence(pattern, number, around, start) for number, pattern in self._sentence)
        )


def _stands_before(pattern: Pattern, number: int, around: Surroundings, start: int) -> bool:
    first = max(around.text.sentence_at(start)[0], start - pattern.longest - 3)
    if not around.may_stand(number, first, start):
        return False
    return pattern.at_end.search(around.text.normal[max(0, first - 1) : start]) is not None


def _stands_after(pattern: Pattern, normal: str, end: int) -> bool:
    while end < len(normal) and normal[end] in " ,\"'":
        end += 1
    return pattern.compiled.match(normal, end) is not None


def _in_sentence(pattern: Pattern, number: int, around: Surroundings, start: int) -> bool:
    first, last = around.text.sentence_at(start)
    first, last = max(first, start - REACH), min(last, start + REACH)
    return (
        around.may_stand(number, first, last) and pattern.compiled.search(around.text.normal, first, last) is not None
    )
