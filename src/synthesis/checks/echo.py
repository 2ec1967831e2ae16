"""Which of the user's own words a reply takes up: a sign that both speak of the same thing."""

from collections.abc import Iterator
from itertools import pairwise

from synthesis.checks.everyday_words import EVERYDAY, EVERYDAY_CHARACTERS
from synthesis.rules.reading import Reading
from synthesis.rules.text import Span

SHORTEST = 3
ENDING = 3  # letters that may differ between kindred forms of a long word
PARROT = 5  # so many telling words and none of its own: the reply only repeats

CONSTANTS = {
    "shortest": SHORTEST,
    "ending": ENDING,
    "parrot": PARROT,
    "everyday": EVERYDAY,
    "everyday_characters": EVERYDAY_CHARACTERS,
}
_IDEOGRAPHS = range(0x4E00, 0xA000)


def taken_up(user: Reading, reply: Reading) -> list[Span]:
    """Where the reply uses a telling word of the user's, or a kindred one; nowhere if it only repeats."""
    told = {family for family, _ in _telling(user)}
    families = list(_telling(reply))
    return [] if _is_parrot(told, families) else [span for family, span in families if family in told]


def only_repeats(user: Reading, reply: Reading) -> bool:
    """Whether a reply has no telling word of its own: alike, and yet it takes nothing up."""
    return _is_parrot({family for family, _ in _telling(user)}, list(_telling(reply)))


def _is_parrot(told: set[str], families: list[tuple[str, Span]]) -> bool:
    return len(families) >= PARROT and all(family in told for family, _ in families)


def _telling(reading: Reading) -> Iterator[tuple[str, Span]]:
    """The family of each telling word, and where it stands."""
    if not reading.language.spaced:
        yield from _telling_characters(reading)
        return
    everyday = EVERYDAY.get(reading.language.code, frozenset())
    for number, word in enumerate(reading.words):
        if len(word) >= SHORTEST and word not in everyday:
            yield _family(word), reading.word_span(number)


def _telling_characters(reading: Reading) -> Iterator[tuple[str, Span]]:
    """The same where no space shows the words: single ideographs beside kana, or else pairs of them."""
    everyday = EVERYDAY_CHARACTERS.get(reading.language.code, frozenset())
    places = [at for at, char in enumerate(reading.original) if ord(char) in _IDEOGRAPHS and char not in everyday]
    if reading.language.code == "ja":
        yield from ((reading.original[at], (at, at + 1)) for at in places)
        return
    for first, second in pairwise(places):
        if second == first + 1:
            yield reading.original[first : second + 1], (first, second + 1)


def _family(word: str) -> str:
    """The beginning that kindred forms share: `lonely` and `loneliness`, `depressed` and `depression`."""
    return word[: max(SHORTEST + 1, len(word) - ENDING)]
