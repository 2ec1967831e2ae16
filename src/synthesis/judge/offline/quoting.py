"""Where a sentence stands in the text that it was cut from: a claim in the answer, a quote in its passage."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property

from synthesis.judge.offline.tokens import fold_characters, normalise

Place = tuple[int, int]

# What the split into sentences drops although it has letters: addresses of links, and markers of list items.
_DROPPED = re.compile(r"\]\([^()\s]{0,500}\)|^\s*(?:[-*+•·–—>]+\s+|\(?\d{1,3}[.)]\s+|\|+\s*)+", re.MULTILINE)
_OPENING = frozenset("\"'“‘«($€£¥")
_CLOSING = frozenset(".!?…%\"'”’»)。！？।؟」』）")


class Original:
    """A text as it was given. A sentence in it is found by its letters, whatever markup stands between them."""

    def __init__(self, text: str) -> None:
        self.text = text

    def locate(self, sentence: str, after: int = 0) -> Place | None:
        """Where a sentence begins and ends, at or behind `after`; None where it cannot be told."""
        letters, at = self._letters
        wanted = "".join(filter(str.isalnum, sentence))
        starts = [start for start in _finds(letters, wanted) if self._places[at[start]][0] >= after]
        if not starts:
            return None
        whole = (start for start in starts if self._is_whole(at[start], at[start + len(wanted) - 1]))
        start = next(whole, starts[0])  # scripts without spaces have no edges to go by
        first, last = self._with_signs(at[start], at[start + len(wanted) - 1])
        return (first, last) if first < last else None

    @cached_property
    def _plain(self) -> str:
        return normalise(self.text)

    @cached_property
    def _places(self) -> list[Place]:
        """Of each normalised character in the text."""
        if self._plain == self.text:
            return [(at, at + 1) for at in range(len(self.text))]
        folded, places = _folded(self.text), list[Place]()
        for char in self._plain:  # beyond folding, to normalise only leaves spaces out
            places.append(next((place for other, place in folded if other == char), (len(self.text), len(self.text))))
        return places

    @cached_property
    def _letters(self) -> tuple[str, list[int]]:
        """Letters and digits that a sentence can have, and where they are in the normalised text."""
        shown = _DROPPED.sub(lambda found: " " * len(found[0]), self._plain)
        at = [place for place, char in enumerate(shown) if char.isalnum()]
        return "".join(shown[place] for place in at), at

    def _is_whole(self, first: int, last: int) -> bool:
        """Whether no word is cut at either end."""
        before, behind = self._plain[max(0, first - 1) : first], self._plain[last + 1 : last + 2]
        return not before.isalnum() and not behind.isalnum()

    def _with_signs(self, first: int, last: int) -> Place:
        while first > 0 and self._plain[first - 1] in _OPENING:
            first -= 1
        while last + 1 < len(self._plain) and _closes(self._plain[last + 1]):
            last += 1
        return self._places[first][0], self._places[last][1]


def _closes(char: str) -> bool:
    return char in _CLOSING or unicodedata.combining(char) > 0 or unicodedata.category(char) == "Mn"


def _finds(text: str, wanted: str) -> Iterator[int]:
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        yield start
        start = text.find(wanted, start + 1)


def _folded(text: str) -> Iterator[tuple[str, Place]]:
    """The characters in their common form, each with its place; a letter and its accents are folded together."""
    start = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or not unicodedata.combining(text[end]):
            for char in fold_characters(text[start:end]):
                yield char, (start, end)
            start = end
