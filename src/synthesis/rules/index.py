"""All patterns of a matcher by number, and the lines of a text with the patterns that they can match.

A set of patterns is an integer with their bits, so that "can any of these match here" is one `&`.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property

from synthesis.rules.needs import Needs, either
from synthesis.rules.pattern import Pattern, PreparedPattern
from synthesis.rules.text import Text
from synthesis.rules.vocabulary import Vocabulary, vocabulary_of


class PatternIndex:
    """Patterns, each looked for once however many rules, guards and sentence rules name it."""

    def __init__(self, prepared: Mapping[str, PreparedPattern], *, spaced: bool) -> None:
        self._prepared = prepared
        self._spaced = spaced
        self._numbers: dict[str, int] = {}
        self._needs: list[Needs] = []
        self.patterns: dict[int, Pattern] = {}

    def numbers(self, sources: Iterable[str]) -> list[int]:
        """The numbers of patterns, in their order."""
        return [self._number(source) for source in sources]

    def set_of(self, sources: Iterable[str]) -> int:
        """Patterns as a set."""
        return sum(1 << number for number in set(self.numbers(sources)))

    def _number(self, source: str) -> int:
        if source not in self._numbers:
            number = self._numbers[source] = self.add(self._prepared[source].needs)
            self.patterns[number] = Pattern(self._prepared[source])
        return self._numbers[source]

    def add(self, needs: Needs) -> int:
        """A number for something that is no pattern, but has needs that a line must meet too."""
        self._needs.append(needs)
        return len(self._needs) - 1

    def needs_one_of(self, sources: Iterable[str]) -> Needs:
        """What a line must hold if one of these patterns is to match."""
        return either(self._prepared[source].needs for source in sources)

    def members(self, patterns: int) -> list[Pattern]:
        """The patterns of a set."""
        return [self.patterns[number] for number in members(patterns)]

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Made when the last pattern is in."""
        return vocabulary_of(self._needs, spaced=self._spaced)


class Line:
    """A sentence, or several where a language puts no space between them; no pattern matches beyond it."""

    __slots__ = ("_before", "_vocabulary", "end", "guarded", "possible", "spans", "start", "text")

    def __init__(self, text: Text, start: int, words: str, vocabulary: Vocabulary) -> None:
        self.text = text
        self.start = start
        self.end = start + len(words)
        self.spans: dict[int, list[tuple[int, int]]] = {}  # of the patterns that match, by number
        self.guarded: dict[tuple[object, int], bool] = {}  # what guards have found at which place
        self.possible = vocabulary.possible(words)
        self._vocabulary = vocabulary
        self._before: dict[tuple[int, int], int] = {}

    def possible_before(self, place: int, reach: int) -> int:
        """The patterns that can match in the part of the line that ends at a place, and is `reach` long at most."""
        if (place, reach) not in self._before:
            words = self.text.normal[max(self.start, place - reach) : place]
            self._before[place, reach] = self._vocabulary.possible(words)
        return self._before[place, reach]


def members(patterns: int) -> list[int]:
    """The numbers in a set of patterns."""
    found: list[int] = []
    while patterns:
        lowest = patterns & -patterns
        found.append(lowest.bit_length() - 1)
        patterns ^= lowest
    return found
