"""A pattern made ready: the words that it needs, and the expression to try where they stand."""

import re
from functools import cached_property

import msgspec

from synthesis.rules.ambiguity import ways
from synthesis.rules.detection import common_words
from synthesis.rules.expression import expression
from synthesis.rules.language import WORD_CHARACTERS, Language
from synthesis.rules.needs import Needs, NeedsFinder
from synthesis.rules.syntax import Node, PatternError, WordLists, parse, width

_is_inside_word = re.compile(rf"(?<=[{WORD_CHARACTERS}])[{WORD_CHARACTERS}]").match


MOST_WAYS = 50_000


class PreparedPattern(msgspec.Struct, frozen=True):
    """All that matching needs of one wording; made once from its source, and kept with the pack."""

    source: str
    expression: str
    bounded: bool  # whether a match must not begin inside a word
    longest: int
    needs: Needs


def prepare(source: str, language: Language, lists: WordLists, finder: NeedsFinder | None = None) -> PreparedPattern:
    """A pattern made ready; PatternError if it cannot be used.

    A `finder` that is used for all patterns of a pack looks at each list only once.
    """
    node = checked(source, lists)
    needs = (finder or needs_finder(language)).needs_of(node)
    return PreparedPattern(source, expression(node, language), language.spaced, width(node)[1], needs)


def checked(source: str, lists: WordLists) -> Node:
    """The tree of a pattern that is sure to take linear time; PatternError for any other."""
    node = parse(source, lists)
    count = ways(node)
    if count > MOST_WAYS:
        raise PatternError(
            f"could match in {count:,} ways at one place (at most {MOST_WAYS:,} are allowed), so its time is not "
            "bounded well: use fewer or shorter gaps",
            1,
        )
    return node


def needs_finder(language: Language) -> NeedsFinder:
    return NeedsFinder(spaced=language.spaced, common=common_words(language.code))


class Pattern:
    """One wording of a rule. Its expression is compiled when it is first needed: most never are."""

    def __init__(self, prepared: PreparedPattern) -> None:
        self.source = prepared.source
        self.longest = prepared.longest
        self._expression = prepared.expression
        self._bounded = prepared.bounded

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._expression)

    @cached_property
    def _at_end(self) -> re.Pattern[str]:
        """The same, but only at the end of what it is given."""
        return re.compile(rf"{self._expression}[ ,:\"']{{0,2}}\Z")

    def spans(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        """Every match from left to right, none overlapping."""
        found: list[tuple[int, int]] = []
        search = self._compiled.search
        while match := search(text, start, end):
            if self._begins_badly(text, match):
                start = match.start() + 1
            else:
                found.append(match.span())
                start = match.end()
        return found

    def is_in(self, text: str, start: int, end: int) -> bool:
        return self._is_found(self._compiled, text, start, end)

    def begins(self, text: str, start: int, end: int) -> bool:
        """Whether it matches at the very start."""
        match = self._compiled.match(text, start, end)
        return match is not None and not self._begins_badly(text, match)

    def ends(self, words: str) -> bool:
        """Whether it matches at the very end of some words, a comma, colon or quote behind it apart."""
        return self._is_found(self._at_end, words, 0, len(words))

    def _is_found(self, expression: re.Pattern[str], text: str, start: int, end: int) -> bool:
        while match := expression.search(text, start, end):
            if not self._begins_badly(text, match):
                return True
            start = match.start() + 1
        return False

    def _begins_badly(self, text: str, match: re.Match[str]) -> bool:
        return self._bounded and _is_inside_word(text, match.start()) is not None
