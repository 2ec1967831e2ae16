"""Which of many patterns a line of text can match at all, told from the words that stand in it.

Patterns are numbered, and a set of patterns is an integer with their bits. Every word carries the set of needs that it
meets; what the words of a line meet together is one `|` per word. Only patterns with all needs met are worth trying:
few, and mostly the right ones, however many rules there are.
"""

import re
from collections.abc import Sequence

import ahocorasick_rs

from synthesis.rules.language import WORD_CHARACTERS
from synthesis.rules.needs import MOST_SETS, STEM, Needs

_words_and_marks = re.compile(f"([{WORD_CHARACTERS}]+)([^{WORD_CHARACTERS}]?)").findall
_is_word = re.compile(f"[{WORD_CHARACTERS}]").match


class Vocabulary:
    """The words that numbered patterns need."""

    def __init__(self, needs: Sequence[Needs]) -> None:
        self._patterns = len(needs)
        self._all = (1 << self._patterns) - 1
        self._nothing = 0  # the bits of needs that do not exist, and so are always met
        meets: dict[str, int] = {}
        for number, sets in enumerate(needs):
            self._learn(number, sets, meets)
        self._keep(_shared(meets))

    def _learn(self, number: int, sets: Needs, meets: dict[str, int]) -> None:
        for rank in range(MOST_SETS):
            bit = 1 << (rank * self._patterns + number)
            if rank >= len(sets):
                self._nothing |= bit
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
        """The patterns all of whose needs some words meet."""
        met = self._met_by(words)
        found = met & self._all
        for rank in range(1, MOST_SETS):
            found &= met >> (rank * self._patterns)
        return found

    def _met_by(self, words: str) -> int:
        met = self._nothing
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


class Pieces(Vocabulary):
    """The pieces of text that numbered patterns need, where a language has no spaces between words."""

    def _keep(self, meets: dict[str, int]) -> None:
        self._meets = list(meets.values())
        self._automaton = ahocorasick_rs.AhoCorasick(list(meets))

    def _met_by(self, words: str) -> int:
        met = self._nothing
        for piece in {piece for piece, _, _ in self._automaton.find_matches_as_indexes(words, overlapping=True)}:
            met |= self._meets[piece]
        return met


def vocabulary_of(needs: Sequence[Needs], *, spaced: bool) -> Vocabulary:
    """The vocabulary of patterns in a language with spaces between words, or without."""
    return Vocabulary(needs) if spaced else Pieces(needs)


def _shared(meets: dict[str, int]) -> dict[str, int]:
    """The words of one list mostly meet the very same needs; kept once, these take a fraction of the memory."""
    seen: dict[int, int] = {}
    return {word: seen.setdefault(met, met) for word, met in meets.items()}
