"""Times of day, as minutes since midnight."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from synthesis.judge.offline.figures import Number, number
from synthesis.judge.offline.lexicon import units
from synthesis.judge.offline.values import CLOCK, MIDNIGHT, NOON, Quantity, Words
from synthesis.lazy import regex

_HALF_HOUR = 30
_FIGURES = regex(r"(\d{1,2})[.,](\d{2})$")
_MINUTES = regex(r"[0-5]\d$")
_FAR = 3  # lexemes between an hour and the part of the day: "at 9 on Monday, in the morning"
_HYPHENS = frozenset("–-")


def clock_time(words: Words, at: int) -> Quantity | None:
    """`9.30 am`, `halb acht`, `las 9 y media de la noche`, `noon`, `บ่ายสามโมงครึ่ง`."""
    return (
        _counted_hours(words, at)
        or _named(words, at)
        or _spoken(words, at)
        or _from_hour(words, at)
        or _written(words, at)
    )


def minutes_of(hour: int, minute: int, half: int | None, exact: bool) -> frozenset[float]:
    """What an hour can mean: without a half of the day both, unless it is `exact`.

    `half` is 0 or NOON. MIDNIGHT is the night, which has the last hours of one half and the first of the other.
    """
    since = hour * 60 + minute
    if hour > 12 or (half is None and exact):
        return frozenset([since, since % MIDNIGHT])
    if half is None:
        return _either_half(since)
    if half == MIDNIGHT:
        return frozenset([since % NOON + (NOON if 6 <= hour < 12 else 0)])
    return frozenset([since % NOON + half])


def _either_half(since: int) -> frozenset[float]:
    return frozenset([since % NOON, since % NOON + NOON])


def bare_hour(value: float, known_24: bool) -> Iterable[float]:
    """`9` or `9.30` before "to 5 pm"."""
    since = int(value) * 60 + round(value % 1 * 100)
    yield since
    if value < 13 and not known_24:
        yield from _either_half(since)


# Times that have a name: noon, midnight.


def _named(words: Words, at: int) -> Quantity | None:
    known = words.known
    place = at + (words[at].text == "12" and words.find(known.clock_words, at + 1) is not None)  # 12 noon
    named = words.find(known.clock_words, place)
    if not named:
        return None
    minutes, end = named
    if half := words.phrase_end(known.half, end):
        minutes, end = minutes + _HALF_HOUR, half
    return Quantity(CLOCK, frozenset([minutes, minutes % MIDNIGHT]), at, end)


# Times in words, with the part of an hour before or behind the hour.


def _spoken(words: Words, at: int) -> Quantity | None:
    """`half past seven`, `a quarter to ten`, `Viertel nach neun`, `halb acht`."""
    known = words.known
    if known.clock_half_before and words.low(at) == known.clock_half_before:
        return _shifted(words, at + 1, at, -_HALF_HOUR)
    place = words.skip(known.one, at, 1)
    part = known.clock_parts.get(words.low(place))
    if not part or known.clock_before:
        return None  # with an article before the hour, the part comes behind it
    sign = _sign(words, place + 1)
    return _shifted(words, place + 2, at, sign * part) if sign else None


def _sign(words: Words, at: int) -> int:
    """Whether the part of an hour is added or taken away; 0 for any other word."""
    if not words.low(at):
        return 0
    return {words.known.clock_past: 1, words.known.clock_to: -1}.get(words.low(at), 0)


def _shifted(words: Words, at: int, start: int, shift: int) -> Quantity | None:
    found = number(words, at) or _one(words, at)
    if not found or not found.is_hour() or words.low(found.end) in units():
        return None  # "a quarter to three years" is no time
    return _told(words, start, found.end, int(found.value) * 60 + shift)


def _told(words: Words, start: int, at: int, since: int) -> Quantity:
    half, end, _ = _half_of_day(words, at)
    return Quantity(CLOCK, minutes_of(since // 60, since % 60, half, exact=False), start, end)


def _from_hour(words: Words, at: int) -> Quantity | None:
    """`las nueve y media`, `las 9 menos cuarto`: the hour first, behind an article."""
    known = words.known
    found = number(words, at) or _one(words, at)
    if words.low(at - 1) not in known.clock_before or not found or not found.is_hour():
        return None
    sign, part = _sign(words, found.end), known.clock_parts.get(words.low(found.end + 1))
    if not sign or not part:
        return None
    return _told(words, at, found.end + 2, int(found.value) * 60 + sign * part)


def _one(words: Words, at: int) -> Number | None:
    """`half past one`: the word is an article elsewhere."""
    value = words.known.compound.get(words.low(at))
    return Number(frozenset([value]), at + 1) if value else None


def _one_oclock(words: Words, at: int) -> Number | None:
    """`one o'clock`, `la una de la tarde`, but not "one of the morning classes"."""
    known = words.known
    told = words.low(at + 1) in known.clock or words.find(known.day_parts, at + 1)
    return _one(words, at) if told else None


# Times in figures, and hours with a word that says that they are some.


class _Hour(NamedTuple):
    """An hour as it is written; `exact` ones are of 24, and the form of `sure` ones alone says that it is a time."""

    hour: int
    minute: int
    end: int
    exact: bool = False
    sure: bool = False
    figures: bool = False  # hour and minutes, as in 9.30


def _written(words: Words, at: int) -> Quantity | None:
    """`17:30`, `9 am`, `9 Uhr 30`, `a las 9`, `de 9 a 17 h`."""
    read = _hour(words, at)
    if not read:
        return None
    half, end, told = _half_of_day(words, read.end)
    named = words.low(at - 1) in words.known.clock_before
    if not (read.sure or told or named) or read.hour > 24:
        return None
    if not (read.sure or named) and _measures_hours(words, at, end, read):
        return None
    minute, end = _minutes_behind(words, end) if told and not read.minute else (read.minute, end)
    return Quantity(CLOCK, minutes_of(read.hour, minute, half, read.exact or words.known.day_hours == 24), at, end)


def _measures_hours(words: Words, at: int, end: int, read: _Hour) -> bool:
    """`24 h` is a duration in languages where the word is both, but not in `de 9 a 17 h` and `9.30 h`."""
    ranged = words[at - 2].kind == "number" and (_is_range_joint(words, at - 1) or words.low(at - 1) in _HYPHENS)
    minutes = read.figures and "." in words[at].text
    return words.low(end - 1) in words.known.clock_durations and not ranged and not minutes


def _is_range_joint(words: Words, at: int) -> bool:
    return (words.low(at),) in words.known.ranges or words.low(at) in words.known.conjunctions


def _hour(words: Words, at: int) -> _Hour | None:
    if words[at].kind == "word":
        found = number(words, at) or _one_oclock(words, at)
        return _Hour(int(found.value), 0, found.end) if found and found.is_hour() else None
    if words[at].kind != "number":
        return None
    return _with_minutes(words, at) or _whole_hour(words, at)


def _with_minutes(words: Words, at: int) -> _Hour | None:
    """`9:30`, `9.30`."""
    text = words[at].text
    if words[at + 1].text == ":" and _MINUTES.match(words[at + 2].text):
        return _in_figures(text, words[at + 2].text, at + 3, sure=True)
    match = _FIGURES.match(text)
    return _in_figures(match[1], match[2], at + 1, sure=False) if match else None


def _in_figures(hour: str, minute: str, end: int, sure: bool) -> _Hour | None:
    if not re.fullmatch(r"\d{1,2}", hour) or int(hour) > 24 or int(minute) >= 60:
        return None
    return _Hour(int(hour), int(minute), end, hour.startswith("0") or int(hour) > 12, sure, figures=True)


def _whole_hour(words: Words, at: int) -> _Hour | None:
    text = words[at].text
    if not re.fullmatch(r"\d{1,2}", text):
        return None
    return _Hour(int(text), 0, at + 1, text.startswith("0") or int(text) > 12)


def _half_of_day(words: Words, at: int) -> tuple[int | None, int, bool]:
    """What follows an hour: the half of the day, where it ends, and whether it says that this is a time."""
    known = words.known
    half, end, told = None, at, False
    if words.low(at) in known.clock:
        half, end, told = known.clock[words.low(at)], at + 1, True
        end += _is_stop_of(words, at)
    for step in range(_FAR):
        part = words.find(known.day_parts, end + step)
        if part and all(word.low in known.function or word.low == "," for word in words.between(end, end + step)):
            return part[0], part[1], True
    return half, end, told


def _is_stop_of(words: Words, at: int) -> bool:
    """The full stop of an abbreviation that goes on: a.m., น."""
    short = len(words.low(at)) < 3 or "." in words.low(at)
    return short and words.low(at + 1) == "." and at + 2 < len(words)


def _minutes_behind(words: Words, at: int) -> tuple[int, int]:
    """`9 Uhr 30`, `9 นาฬิกา 30 นาที`: the minutes and where they end."""
    if words.low(at - 1) not in words.known.minutes_follow or not _MINUTES.match(words[at].text):
        return 0, at
    return int(words[at].text), at + 1 + _is_minute(words, at + 1)


def _is_minute(words: Words, at: int) -> bool:
    unit = units().get(words.low(at))
    return unit is not None and unit.kind == "duration" and unit.factor == 1


# Hours that are counted anew in each part of the day, as in Thai.


_QUARTER = 6 * 60  # minutes of a quarter of the day


def _counted_hours(words: Words, at: int) -> Quantity | None:
    """`ตีสอง`, `บ่ายสามโมงครึ่ง`, `เก้าโมงเช้า`, `สองทุ่ม`."""
    known = words.known
    led = words.find(known.hours_before, at)
    if led:
        return _behind_part(words, at, *led)
    found = number(words, at)
    part = words.find(known.hours_after, found.end) if found and found.is_hour(12) else None
    if found and part:
        return _to_minutes(words, at, part[1], _in_part(int(found.value), part[0]))
    return _first_hour(words, at)


def _first_hour(words: Words, at: int) -> Quantity | None:
    """`ทุ่มครึ่ง`: half past the first hour of the evening. The word alone means other things as well."""
    known = words.known
    part = words.find(known.hours_after, at)
    if not part or not (words.low(part[1]) in known.hour_exact or words.phrase_end(known.half, part[1])):
        return None
    return _to_minutes(words, at, part[1], _in_part(1, part[0]))


def _behind_part(words: Words, start: int, since: int, at: int) -> Quantity | None:
    """`บ่ายสาม`; without a number it is the first hour: `บ่ายโมง`."""
    found = number(words, at)
    if found and found.is_hour(6):
        hour, end = int(found.value), found.end
    elif not found and words.low(at) in words.known.hour_words:
        hour, end = 1, at
    else:
        return None
    return _to_minutes(words, start, words.skip(words.known.hour_words, end, 1), [hour * 60 + since])


def _in_part(hour: int, since: int | None) -> list[int]:
    """Minutes of the hour in a part of the day that begins at `since`, or in any where it is not told."""
    if since is None:
        return [hour * 60] if hour > 6 else [hour * 60 + _QUARTER * part for part in (1, 2)]
    return [hour * 60 + since + (_QUARTER if since == 0 and hour < 6 else 0)]


def _to_minutes(words: Words, start: int, at: int, since: Iterable[int]) -> Quantity:
    """With the half hour or the minutes that follow: `แปดโมงครึ่ง`, `แปดโมงสิบห้า`."""
    end = words.skip(words.known.hour_exact, at, 1)
    more, end = _half_or_minutes(words, end)
    return Quantity(CLOCK, frozenset(minutes + more for minutes in since), start, end)


def _half_or_minutes(words: Words, at: int) -> tuple[int, int]:
    if half := words.phrase_end(words.known.half, at):
        return _HALF_HOUR, half
    found = number(words, at)
    # A number that stands apart counts something else: "at eight, ten people".
    if found and 0 < found.value < 60 and (words.adjoins(at) or _is_minute(words, found.end)):
        return int(found.value), found.end + _is_minute(words, found.end)
    return 0, at
