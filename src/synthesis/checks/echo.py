"""Which of the user's own words a reply takes up: a sign that both speak of the same thing."""

from collections.abc import Iterator

from synthesis.checks.everyday_words import EVERYDAY, EVERYDAY_CHARACTERS
from synthesis.rules.reading import Reading

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


def taken_up(user: Reading, reply: Reading) -> list[str]:
    """The user's telling words that the reply uses, or kindred ones, each once; none if it only repeats."""
    told = {family for family, _ in _telling(user)}
    words: dict[str, None] = {}
    for family, word in _telling(reply):
        if family in told:
            words.setdefault(word)
    return [] if not words or _is_parrot(told, reply) else list(words)


def only_repeats(user: Reading, reply: Reading) -> bool:
    """Whether a reply has no telling word of its own: alike, and yet it takes nothing up."""
    return _is_parrot({family for family, _ in _telling(user)}, reply)


def _is_parrot(told: set[str], reply: Reading) -> bool:
    telling = 0
    for family, _ in _telling(reply):
        if family not in told:
            return False
        telling += 1
    return telling >= PARROT


def _telling(reading: Reading) -> Iterator[tuple[str, str]]:
    """The family of each telling word, and the word."""
    if not reading.language.spaced:
        yield from _telling_characters(reading)
        return
    everyday = EVERYDAY.get(reading.language.code, frozenset())
    for word in reading.words:
        if len(word) >= SHORTEST and word not in everyday:
            yield _family(word), word


def _telling_characters(reading: Reading) -> Iterator[tuple[str, str]]:
    """The same where no space shows the words: single ideographs beside kana, or else pairs of them."""
    everyday = EVERYDAY_CHARACTERS.get(reading.language.code, frozenset())
    before = ""
    for char in reading.original:
        telling = char if ord(char) in _IDEOGRAPHS and char not in everyday else ""
        if telling and reading.language.code == "ja":
            yield char, char
        elif telling and before:
            yield before + char, before + char
        before = telling


def _family(word: str) -> str:
    """The beginning that kindred forms share: `lonely` and `loneliness`, `depressed` and `depression`."""
    return word[: max(SHORTEST + 1, len(word) - ENDING)]
