"""Numbers in figures and in words."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from synthesis.judge.offline.lexicon import Lexicon
from synthesis.judge.offline.values import Words, times

_TENS = range(20, 100, 10)


class Number(NamedTuple):
    """The values that a number can have, and where it ends."""

    values: frozenset[float]
    end: int

    @property
    def value(self) -> float:
        return min(self.values)

    def is_hour(self, most: int = 24) -> bool:
        return self.value == int(self.value) and 0 < self.value <= most


def number(words: Words, at: int) -> Number | None:
    """The number that begins here, in figures or in words."""
    if words[at].kind == "number":
        return _scaled(words, Number(readings(words[at].text, words.known), at + 1))
    return _in_words(words, at)


# Figures.


def readings(figure: str, known: Lexicon) -> frozenset[float]:
    """The values of a figure in a language: `1.250` is one number in German and another in English."""
    plain = re.sub(r"[ \u00a0\u202f]", "", figure)
    marks = [mark for mark in (".", ",") if mark in plain]
    if len(marks) == 2:
        return frozenset([_value(plain, max(marks, key=plain.rfind))])
    if not marks or plain.count(marks[0]) > 1:
        return frozenset([_value(plain, "")])
    if not _is_thousands(plain, marks[0]):
        return frozenset([_value(plain, marks[0])])
    return frozenset(_value(plain, marks[0] if decimal == marks[0] else "") for decimal in known.decimals)


def _is_thousands(plain: str, mark: str) -> bool:
    """Three digits behind the mark and one to three before it."""
    before, _, behind = plain.partition(mark)
    return len(behind) == 3 and len(before) <= 3 and not before.startswith("0")


def _value(plain: str, decimal: str) -> float:
    """`decimal` is the mark of fractions, or nothing where all marks part thousands."""
    whole, _, rest = plain.partition(decimal) if decimal else (plain, "", "")
    return float(f"{re.sub('[.,]', '', whole)}.{rest or 0}")


def _scaled(words: Words, found: Number) -> Number:
    """`2.5 million`, `20 mil millones`."""
    while factor := _scale(words.low(found.end), words.known):
        found = Number(times(found.values, factor), found.end + 1)
    return found


def _scale(word: str, known: Lexicon) -> float:
    """What a number before this word is multiplied by; nothing for other words."""
    value = known.numbers.get(word, 0)
    return value if value >= 100 or word in known.scales else 0


# Words.


def _in_words(words: Words, at: int) -> Number | None:
    parts = _word_parts(words.low(at), words.known)
    end = at + 1 if parts else at
    while parts and (following := _next_part(parts[-1], words, end)):
        more, end = following
        parts += more
    return Number(frozenset([_sum(parts)]), end) if parts else None


class _Part(NamedTuple):
    value: float
    scale: bool  # it multiplies what stands before it


def _next_part(last: _Part, words: Words, at: int) -> tuple[list[_Part], int] | None:
    """`twenty-four`, `treinta y cinco`, `a hundred and five`; not "two and five", and not "two ten-minute breaks"."""
    joined = _is_joint(last, words, at)
    parts = _word_parts(words.low(at + joined), words.known, inside=joined or last.value >= 100)
    return (parts, at + joined + 1) if parts and _fits(last, parts[0]) else None


def _is_joint(last: _Part, words: Words, at: int) -> bool:
    if last.value in _TENS:
        return words.low(at) in words.known.tens_joints
    # "between two hundred and three hundred" are two numbers.
    again = _scale(words.low(at + 2), words.known) == last.value
    return last.value >= 100 and words.low(at) in words.known.hundreds_joints and not again


def _fits(last: _Part, part: _Part) -> bool:
    if part.scale:
        return True
    if last.value >= 100:
        return part.value < last.value
    return last.value % 10 == 0 and last.value > 0 and part.value < 10


def _word_parts(word: str, known: Lexicon, inside: bool = False) -> list[_Part]:
    """`inside` a number, words that are articles elsewhere are numbers too: `twenty-one`."""
    if word in known.numbers:
        return [_part(word, known.numbers[word], known)]
    if inside and word in known.compound:
        return [_part(word, known.compound[word], known)]
    parts = _morphemes(word, known)
    return parts if len(parts) > 1 else []  # a single one is an article


def _part(word: str, value: float, known: Lexicon) -> _Part:
    return _Part(value, bool(_scale(word, known)))


def _morphemes(word: str, known: Lexicon) -> list[_Part]:
    """`vierundzwanzig` as 4 and 20; nothing for a word that is not a number from end to end."""
    parts: list[_Part] = []
    while word:
        found = next((one for one in known.number_morphemes if word.startswith(one)), None)
        if found is None:
            return []
        if found not in known.number_joints:
            parts.append(_part(found, known.number_morphemes[found], known))
        elif not parts:
            return []
        word = word[len(found) :]
    return parts


def _sum(parts: Sequence[_Part]) -> float:
    """`total` has the thousands and more that are complete, `current` what is below."""
    total = current = 0.0
    for value, scale in parts:
        if scale and value >= 1000:
            # What a million multiplies may be in the total already: dos mil millones.
            whole = total if total < value else 0.0
            total, current = total - whole + ((whole + current) or 1) * value, 0.0
        else:
            current = _scaled_up(current, value) if scale else current + value
    return total + current


def _scaled_up(current: float, value: float) -> float:
    """By a hundred all that is below a thousand; by a ten, as in Thai, the last figure alone."""
    if value >= 100:
        return (current or 1) * value
    last = current % 10
    return current - last + (last or 1) * value


# Places in a row.


def ordinal(words: Words, at: int) -> Number | None:
    """`third`, `twenty-first`."""
    known = words.known
    value = known.ordinals.get(words.low(at))
    if value is not None:
        return Number(frozenset([value]), at + 1)
    tens = known.numbers.get(words.low(at), 0)
    last = known.ordinals.get(words.low(at + 2), 0)
    if tens in _TENS and words.low(at + 1) in known.tens_joints and 0 < last < 10:
        return Number(frozenset([tens + last]), at + 3)
    return None
