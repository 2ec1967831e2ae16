"""Which of a matcher's patterns a line of text can match, told from the words in it.

Patterns are numbered, and a set of patterns is an integer with their bits. Every word carries the bits of the
requirements that it meets, so the words of a line together take one `|` each, and "can any of these match here" is
one `&`. Few patterns are left to try, and mostly the right ones, however many rules there are.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import ahocorasick_rs

from synthesis.rules.language import WORD_CHARACTERS
from synthesis.rules.pattern import Pattern, PreparedPattern
from synthesis.rules.required_words import MOST_SETS, STEM, RequiredWords, either
from synthesis.rules.text import Span, Text

_words_and_marks = re.compile(f"([{WORD_CHARACTERS}]+)([^{WORD_CHARACTERS}]?)").findall
_SURROGATE = re.compile("[\ud800-\udfff]")
_is_word = re.compile(f"[{WORD_CHARACTERS}]").match


class WordPrefilter:
    """Rules out numbered patterns by the words that they require."""

    def __init__(self, required: Sequence[RequiredWords]) -> None:
        # One bit per pattern and rank: a pattern has up to MOST_SETS sets, and each must be met by some word.
        self._patterns = len(required)
        self._all = (1 << self._patterns) - 1
        self._absent = 0  # the bits of sets that a pattern does not have: met by any text
        meets: dict[str, int] = {}
        for number, sets in enumerate(required):
            self._add(number, sets, meets)
        self._keep(_shared(meets))

    def _add(self, number: int, sets: RequiredWords, meets: dict[str, int]) -> None:
        for rank in range(MOST_SETS):
            bit = 1 << (rank * self._patterns + number)
            if rank >= len(sets):
                self._absent |= bit
            for word in sets[rank] if rank < len(sets) else ():
                meets[word] = meets.get(word, 0) | bit

    def _keep(self, meets: dict[str, int]) -> None:
        self._words, self._stems, self._marks = {}, {}, {}
        for word, met in meets.items():
            if len(word) == 1 and not _is_word(word):
                self._marks[word] = met
            elif word.endswith("*"):
                self._stems[word[:-1]] = met
            else:
                self._words[word] = met

    def possible(self, words: str) -> int:
        """The patterns all of whose requirements some words meet."""
        met = self._met_by(words)
        found = met & self._all
        for rank in range(1, MOST_SETS):
            found &= met >> (rank * self._patterns)
        return found

    def _met_by(self, words: str) -> int:
        met = self._absent
        for mark in self._marks:
            if mark in words:
                met |= self._marks[mark]
        known, stem = self._words.get, self._stems.get
        before = ""
        for word, mark in _words_and_marks(words):
            if meets := known(word):
                met |= meets
            if meets := known(before + word):
                met |= meets
            if meets := stem(word[:STEM]):
                met |= meets
            before = word + mark
        return met


class SubstringPrefilter(WordPrefilter):
    """The same for a language without spaces between words: any piece of text can be required."""

    def _keep(self, meets: dict[str, int]) -> None:
        self._meets = list(meets.values())
        self._automaton = ahocorasick_rs.AhoCorasick(list(meets))

    def _met_by(self, words: str) -> int:
        met = self._absent
        if not words.isascii():
            words = _SURROGATE.sub("\ufffd", words)  # which JSON lets in, and the automaton does not take
        for piece in {piece for piece, _, _ in self._automaton.find_matches_as_indexes(words, overlapping=True)}:
            met |= self._meets[piece]
        return met


def prefilter_for(required: Sequence[RequiredWords], *, spaced: bool) -> WordPrefilter:
    """The prefilter of patterns in a language with spaces between words, or without."""
    return WordPrefilter(required) if spaced else SubstringPrefilter(required)


def _shared(meets: dict[str, int]) -> dict[str, int]:
    """Equal integers as one object: the words of a list mostly meet the same sets, and the integers are large."""
    seen: dict[int, int] = {}
    return {word: seen.setdefault(met, met) for word, met in meets.items()}


class PatternIndex:
    """Patterns, each searched for once however many rules, guards and sentence rules name it."""

    def __init__(self, prepared: Mapping[str, PreparedPattern], *, spaced: bool) -> None:
        self._prepared = prepared
        self._spaced = spaced
        self._numbers: dict[str, int] = {}
        self.required: list[RequiredWords] = []  # by number
        self.patterns: dict[int, Pattern] = {}

    def numbers(self, sources: Iterable[str]) -> list[int]:
        """The numbers of patterns, in their order."""
        return [self._number(source) for source in sources]

    def set_of(self, sources: Iterable[str]) -> int:
        """Patterns as a set."""
        return sum(1 << number for number in set(self.numbers(sources)))

    def _number(self, source: str) -> int:
        if source not in self._numbers:
            number = self._numbers[source] = self.add(self._prepared[source].required_words)
            self.patterns[number] = Pattern(self._prepared[source])
        return self._numbers[source]

    def add(self, required: RequiredWords) -> int:
        """A number for something that is not a pattern, but that a line must meet requirements for too."""
        self.required.append(required)
        return len(self.required) - 1

    def required_by_one_of(self, sources: Iterable[str]) -> RequiredWords:
        """What a line must hold if one of these patterns is to match."""
        return either(self._prepared[source].required_words for source in sources)

    def members(self, patterns: int) -> list[Pattern]:
        """The patterns of a set."""
        return [self.patterns[number] for number in members(patterns)]

    @cached_property
    def prefilter(self) -> WordPrefilter:
        """Made when the last pattern is in."""
        return prefilter_for(self.required, spaced=self._spaced)


class NormalLine:
    """A line of the normal form: a sentence, or several in a language without spaces. No pattern matches beyond it."""

    __slots__ = ("_before", "_prefilter", "end", "guarded", "possible", "spans", "start", "text")

    def __init__(self, text: Text, start: int, words: str, prefilter: WordPrefilter) -> None:
        self.text = text
        self.start = start
        self.end = start + len(words)
        self.spans: dict[int, list[Span]] = {}  # of the patterns that match, by number
        self.guarded: dict[tuple[object, int], bool] = {}  # what guards have found at which place
        self.possible = prefilter.possible(words)
        self._prefilter = prefilter
        self._before: dict[tuple[int, int], int] = {}

    def possible_before(self, place: int, reach: int) -> int:
        """The patterns that can match in the part of the line that ends at a place, and is `reach` long at most."""
        if (place, reach) not in self._before:
            words = self.text.normal[max(self.start, place - reach) : place]
            self._before[place, reach] = self._prefilter.possible(words)
        return self._before[place, reach]


def members(patterns: int) -> list[int]:
    """The numbers in a set of patterns."""
    found: list[int] = []
    while patterns:
        lowest = patterns & -patterns
        found.append(lowest.bit_length() - 1)
        patterns ^= lowest
    return found
