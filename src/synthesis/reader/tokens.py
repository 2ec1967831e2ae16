"""Tokens of a text and the pieces of a token: what the learned reader sees of a text. The reference for all engines."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

FOLDED = 0x250  # code points below it are folded by a table of the weights
MOST_TOKENS = 512
FIRST, LAST = 384, 128  # of a longer text, as one sequence

IGNORED, SPACE, DIGIT, SINGLE, LETTER, SYMBOL = range(6)
RUNS = (DIGIT, LETTER)
APOSTROPHE = 0x27
SOFT_HYPHEN = 0xAD
APOSTROPHES = (0x2018, 0x2019, 0x02BC)
WIDE_FIRST, WIDE_LAST, WIDE = 0xFF01, 0xFF5E, 0xFEE0  # full-width forms of ASCII, and how far they are from it

# In the order in which they are asked: what an earlier line has, a later one does not get.
_KINDS: tuple[tuple[int, tuple[tuple[int, int], ...]], ...] = (
    (
        IGNORED,
        (
            (SOFT_HYPHEN, SOFT_HYPHEN),
            (0x0300, 0x036F),
            (0x200B, 0x200F),
            (0x2060, 0x2060),
            (0xFE00, 0xFE0F),
            (0xFEFF, 0xFEFF),
        ),
    ),
    (
        SPACE,
        (
            (0x0000, 0x0020),
            (0x007F, 0x00A0),
            (0x1680, 0x1680),
            (0x2000, 0x200A),
            (0x2028, 0x2029),
            (0x202F, 0x202F),
            (0x205F, 0x205F),
            (0x3000, 0x3000),
        ),
    ),
    (DIGIT, ((0x0030, 0x0039),)),
    (
        SINGLE,
        (
            (0x1100, 0x11FF),
            (0x3040, 0x30FF),
            (0x31F0, 0x31FF),
            (0x3400, 0x4DBF),
            (0x4E00, 0x9FFF),
            (0xAC00, 0xD7A3),
            (0xF900, 0xFAFF),
            (0x20000, 0x3FFFF),
        ),
    ),
    (SYMBOL, ((0x00F7, 0x00F7), (0x0964, 0x0965))),  # inside the ranges of letters
    (
        LETTER,
        (
            (APOSTROPHE, APOSTROPHE),
            (0x0061, 0x007A),
            (0x00DF, 0x024F),
            (0x0250, 0x1FFF),
            (0x2C00, 0x2DFF),
            (0xA640, 0xABFF),
        ),
    ),
)

WORD, GRAM, NEAR, LENGTH, BEFORE = 1, 2, 3, 4, 5  # the first number of a piece: what it is
OPENING, CLOSING = 60, 62  # around a word: < and >
GRAMS = (3, 4, 5)
START, PRIME, MIXER, BITS = 2166136261, 16777619, 0x85EBCA6B, 0xFFFFFFFF
_KEPT = 1 << 16  # characters, and words, whose result is kept: more than a language has in use
_LONG = 32  # letters: a word beyond that is not kept


class Token(NamedTuple):
    """A word, a number or one character; its code points are folded, its place is in the text as given."""

    kind: int
    codes: tuple[int, ...]
    start: int
    end: int


def kind_of(code: int) -> int:
    """The class of a folded code point."""
    for kind, ranges in _KINDS:
        if any(first <= code <= last for first, last in ranges):
            return kind
    return SYMBOL


def folded(code: int, fold: Sequence[int]) -> int:
    if code in APOSTROPHES:
        return APOSTROPHE
    if WIDE_FIRST <= code <= WIDE_LAST:
        code -= WIDE
    return fold[code] if code < FOLDED else code


class Alphabet(dict[str, tuple[int, int]]):
    """The folded code point and the class of a character, by the folding of some weights."""

    def __init__(self, fold: Sequence[int]) -> None:
        super().__init__()
        self._fold = fold

    def __missing__(self, char: str) -> tuple[int, int]:
        code = folded(ord(char), self._fold)
        found = code, kind_of(code)
        if len(self) < _KEPT:
            self[char] = found
        return found


def tokens(text: str, alphabet: Alphabet) -> list[Token]:
    """The tokens that are used of a text, in its order."""
    found: list[tuple[int, list[int], int, int]] = []
    running = SPACE  # the class of the run that the next character may continue
    for place, char in enumerate(text):
        code, kind = alphabet[char]
        if kind == IGNORED:
            continue
        if kind == running and kind in RUNS:
            _, codes, start, _ = found[-1]
            codes.append(code)
            found[-1] = kind, codes, start, place + 1
        elif kind != SPACE:
            found.append((kind, [code], place, place + 1))
        running = kind
    return [Token(kind, tuple(codes), start, end) for kind, codes, start, end in _used(found)]


def _used(found: list[tuple[int, list[int], int, int]]) -> list[tuple[int, list[int], int, int]]:
    return found if len(found) <= MOST_TOKENS else found[:FIRST] + found[-LAST:]


def bucket(numbers: Sequence[int], buckets: int) -> int:
    """FNV-1a over the numbers, mixed once more since its low bits alone are weak."""
    value = START
    for number in numbers:
        value = ((value ^ number) * PRIME) & BITS
    value ^= value >> 16
    value = (value * MIXER) & BITS
    value ^= value >> 13
    return value & (buckets - 1)


def pieces(sequence: Sequence[Token], most: int, buckets: int) -> list[tuple[int, ...]]:
    """For each token the rows of the embedding that it is made of."""
    return [_pieces(sequence, place, most, buckets) for place in range(len(sequence))]


def _pieces(sequence: Sequence[Token], place: int, most: int, buckets: int) -> tuple[int, ...]:
    kind, codes, _, _ = sequence[place]
    if kind == LETTER:
        made_by = _of_word if len(codes) <= _LONG else _of_word.__wrapped__
        return made_by(codes, most, buckets)
    if kind == DIGIT:
        return bucket((WORD, *codes), buckets), bucket((LENGTH, len(codes)), buckets)
    if kind == SINGLE:
        return _of_single(sequence, place, buckets)
    return (bucket((WORD, *codes), buckets),)


@lru_cache(maxsize=_KEPT)
def _of_word(codes: tuple[int, ...], most: int, buckets: int) -> tuple[int, ...]:
    framed = (OPENING, *codes, CLOSING)
    found = [bucket((WORD, *codes), buckets)]
    for size in GRAMS:
        # Only as many as can count: a word may be as long as its text.
        last = min(len(framed) - size + 1, most - len(found))
        found += [bucket((GRAM, *framed[first : first + size]), buckets) for first in range(last)]
    return tuple(found)


def _of_single(sequence: Sequence[Token], place: int, buckets: int) -> tuple[int, ...]:
    """A character of a script without spaces, and what it stands beside: words are not known there."""
    ahead = [sequence[place].codes[0]]
    for token in sequence[place + 1 : place + 3]:
        if token.kind != SINGLE:
            break
        ahead.append(token.codes[0])
    found = [bucket((NEAR, *ahead[:size]), buckets) for size in range(1, len(ahead) + 1)]
    if place and sequence[place - 1].kind == SINGLE:
        found.append(bucket((BEFORE, sequence[place - 1].codes[0], ahead[0]), buckets))
    return tuple(found)


def is_sane_folding(fold: Sequence[int]) -> bool:
    """Whether apostrophes stay what they are, and nothing but the soft hyphen is or becomes an ignored character."""
    kind, ignored = _KINDS[0]  # which no other class comes before
    assert kind == IGNORED
    codes = {code for first, last in ignored for code in range(first, last + 1)}
    return fold[APOSTROPHE] == APOSTROPHE and [place for place, code in enumerate(fold) if code in codes] == [
        SOFT_HYPHEN
    ]
