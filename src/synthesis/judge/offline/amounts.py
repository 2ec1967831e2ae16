"""Amounts with units, shares and counts."""

import re
from collections.abc import Iterable

from synthesis.judge.offline.figures import Number, number, ordinal
from synthesis.judge.offline.lexicon import Unit, family, units
from synthesis.judge.offline.values import COUNT, DATE, PLACE, RESULT, Date, Quantity, Words, times

_ONE = frozenset([1.0])
_EARLIEST, _LATEST = 1500, 2100  # a figure of four digits in between is a year
_LARGEST_SHARE = 20  # of what is counted in thirds, quarters and so on


def amount(words: Words, at: int) -> Quantity | None:
    """What is counted or measured here."""
    return (
        _unit_first(words, at)
        or _one_and_a_half(words, at)
        or _share(words, at)
        or _place_in_a_row(words, at)
        or _result(words, at)
        or _counted(words, at)
        or _single(words, at)
    )


def _unit_first(words: Words, at: int) -> Quantity | None:
    """`€ 12`, `ร้อยละ 25`."""
    led = words.find(units().leading, at)
    found = number(words, led[1]) if led else None
    if not led or not found:
        return None
    return Quantity(led[0].kind, times(found.values, led[0].factor), at, found.end, factor=led[0].factor)


def _one_and_a_half(words: Words, at: int) -> Quantity | None:
    """`one and a half hours`, where "one" by itself is no number."""
    half = words.phrase_end(words.known.half, at + 1) if words.low(at) in words.known.one else None
    unit = units().get(words.low(half)) if half else None
    return _measured(frozenset([1.5]), unit, words, at, half + 1) if half and unit else None


# Shares.


def _share(words: Words, at: int) -> Quantity | None:
    """`half`, `a third`, `three quarters`, `tres cuartos` as per cent; `half an hour` as a part of its unit."""
    found = number(words, at)
    part = _part(words, at, found)
    if not part:
        return None
    share, end = part
    place = words.skip(words.known.one | words.known.share_of, end, 2)
    if unit := units().get(words.low(place)):
        return _measured(frozenset([share]), unit, words, at, place + 1)
    if share > 1 or (found and found.value >= _LARGEST_SHARE):
        return None
    return Quantity("percent", frozenset([share * 100]), at, end)


def _part(words: Words, at: int, found: Number | None) -> tuple[float, int] | None:
    """The share that is said here, and where its words end."""
    known = words.known
    if found and words.low(found.end) in known.share_joints:
        return _one_of_several(found, number(words, found.end + 1))
    place = found.end if found else words.skip(known.one, at, 1)
    part = words.find(known.fractions, place)
    if not part or (not found and words.low(place) in known.numbers):
        return None
    return (found.value if found else 1.0) * part[0], part[1]


def _one_of_several(some: Number, several: Number | None) -> tuple[float, int] | None:
    """`สามในสี่`: three in four."""
    if not several or not 0 < some.value < several.value:
        return None
    return some.value / several.value, several.end


# Counts and places in a row.


def _place_in_a_row(words: Words, at: int) -> Quantity | None:
    found = ordinal(words, at)
    return Quantity(PLACE, found.values, at, found.end) if found else None


def _result(words: Words, at: int) -> Quantity | None:
    """`drei zu vier Stimmen`: two counts, of which each has its own place."""
    one = number(words, at)
    other = number(words, one.end + 1) if one and words.low(one.end) in words.known.versus else None
    if not one or not other or units().get(words.low(other.end)):
        return None
    return Quantity(RESULT, one.values, at, other.end, high=other.values, noun=_noun(words, other.end))


def _counted(words: Words, at: int) -> Quantity | None:
    """A number with what it counts or measures."""
    found = number(words, at)
    if not found:
        return None
    values, place = _before_unit(words, found)
    if unit := units().get(words.low(place)):
        return _measured(values, unit, words, at, place + 1)
    if re.fullmatch(r"\d{4}", words[at].text) and found.end == at + 1 and is_year(found.value, words):
        return Quantity(DATE, frozenset([Date(year(found.value, words))]), at, found.end)
    end = words.skip(words.known.ordinal_signs, found.end, 1) if words[at].kind == "number" else found.end
    return Quantity(COUNT, found.values, at, end, noun=_noun(words, end))


def _before_unit(words: Words, found: Number) -> tuple[frozenset[float], int]:
    """The values and the place where a unit may stand: `10-minute`, `dos y media horas`."""
    half = words.phrase_end(words.known.half, found.end)
    if half and words.low(half) in units():
        return frozenset(value + 0.5 for value in found.values), half
    hyphen = words[found.end].text == "-" and words[found.end + 1].kind == "word"
    return found.values, found.end + hyphen


def is_year(value: float, words: Words) -> bool:
    """Of the common era, or of another that the language counts by."""
    return _EARLIEST <= value <= _LATEST or _is_of_other_era(value, words)


def _is_of_other_era(value: float, words: Words) -> bool:
    """Buddhist years are 543 ahead."""
    offset = words.known.year_offset
    return bool(offset) and _LATEST < value <= _LATEST + offset


def year(value: float, words: Words) -> int:
    """The year in the common era."""
    return int(value) - (words.known.year_offset if _is_of_other_era(value, words) else 0)


def _noun(words: Words, end: int) -> str:
    """The family of the first word of meaning behind a number, if one follows at once."""
    for word in words.between(end, end + 2):
        if word.kind != "word" or word.low in words.known.numbers:
            return ""
        if word.low not in words.known.function:
            return family(word.low, words.known.name)
    return ""


def _single(words: Words, at: int) -> Quantity | None:
    """`a year`, `one hour`: soft, since "a day" is often no amount."""
    unit = units().get(words.low(at + 1)) if words.low(at) in words.known.one else None
    if not unit or unit.kind not in units().time:
        return None
    found = _measured(_ONE, unit, words, at, at + 2)
    return found._replace(soft=found.end == at + 2)


# Units.


def _measured(values: Iterable[float], unit: Unit, words: Words, at: int, end: int) -> Quantity:
    """With the half or the smaller unit that may follow: `dos horas y media`, `2 hours 30 minutes`."""
    half = words.phrase_end(words.known.half, end)
    if half:
        values, end = [value + 0.5 for value in values], half
    more, end = _smaller(unit, words, end) or (0.0, end)
    return Quantity(unit.kind, frozenset(value * unit.factor + more for value in values), at, end, factor=unit.factor)


def _smaller(unit: Unit, words: Words, end: int) -> tuple[float, int] | None:
    """The amount in a smaller unit of the same kind that follows, and where it ends."""
    at = words.skip(words.known.conjunctions, end, 1)
    found = number(words, at)
    if not found:
        return None
    other = units().get(words.low(found.end))
    if other and other.kind == unit.kind and other.factor < unit.factor:
        return found.value * other.factor, found.end + 1
    if not other and at == end and unit.kind in units().money and unit.factor == 1 and 10 <= found.value < 100:
        return found.value / 100, found.end  # seven dollars eighty
    return None
