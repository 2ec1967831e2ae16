"""All quantities of a sentence in order, with those that form a range and the bounds that are set to them."""

from collections.abc import Iterator, Sequence

from synthesis.judge.offline.amounts import amount
from synthesis.judge.offline.clock import bare_hour, clock_time
from synthesis.judge.offline.dates import date, weekdays, with_months
from synthesis.judge.offline.lexicon import Lexicon, Phrase
from synthesis.judge.offline.values import (
    CLOCK,
    COUNT,
    DATE,
    DAYS,
    PLACE,
    RESULT,
    Date,
    Lexeme,
    Quantity,
    Values,
    Words,
    times,
)

_READERS = (weekdays, date, clock_time, amount)  # of several that can read a place the first decides
_HYPHENS = frozenset("–—-")
_REACH = 4  # lexemes before a quantity in which a bound is looked for


def quantities(found: Sequence[Lexeme], known: Lexicon) -> list[Quantity]:
    """All that a sentence says, in order; nothing overlaps."""
    words = Words(found, known)
    return [_bounded(one, words) for one in _ranges(with_months(list(_read(words)), words), words)]


def _read(words: Words) -> Iterator[Quantity]:
    at = 0
    while at < len(words):
        one = _quantity_at(words, at)
        if one:
            yield one
        at = one.end if one else at + 1


def _quantity_at(words: Words, at: int) -> Quantity | None:
    return next((one for reader in _READERS if (one := reader(words, at))), None)


# Ranges.


def _ranges(found: Sequence[Quantity], words: Words) -> Iterator[Quantity]:
    """Two that a "to" joins become one range; the first may lack the unit."""
    at = 0
    while at < len(found):
        joined = at + 1 < len(found) and _are_joined(found[at], found[at + 1], words)
        yield _one_range(found[at], found[at + 1], words) if joined else found[at]
        at += 1 + joined


def _are_joined(one: Quantity, other: Quantity, words: Words) -> bool:
    known = words.known
    passed = known.articles | known.ordinal_signs | {"."}
    if not _can_be_ends(one, other):
        return False
    joint = tuple(word.low for word in words.between(one.end, other.start) if word.low not in passed)
    if len(joint) == 1 and joint[0] in known.conjunctions:
        return any(word.low in known.between for word in words.between(one.start - 3, one.start))
    return joint in known.ranges or (len(joint) == 1 and joint[0] in _HYPHENS)


def _can_be_ends(one: Quantity, other: Quantity) -> bool:
    if other.kind == DATE and one.kind in (COUNT, PLACE):
        return other.date is not None and other.date.day is not None
    return one.kind in (other.kind, COUNT) and not {DAYS, RESULT} & {one.kind, other.kind}


def _one_range(one: Quantity, other: Quantity, words: Words) -> Quantity:
    low = _in_year(one, other) if one.kind == other.kind else frozenset(_like(one, other, words))
    return Quantity(other.kind, low, one.start, other.end, high=other.low, noun=other.noun)


def _like(one: Quantity, other: Quantity, words: Words) -> Values:
    """The bare number of the first end, in the unit, the month or the half of the day of the second."""
    if other.kind == CLOCK:
        exact = words.known.day_hours == 24
        return frozenset(minute for value in one.numbers for minute in bare_hour(value, exact))
    if other.kind == DATE:
        day = int(min(one.numbers))
        return frozenset(value._replace(day=day) for value in other.low if isinstance(value, Date))
    return times(one.numbers, other.factor)


def _in_year(one: Quantity, other: Quantity) -> Values:
    """A first day without a year is of the year of the last, or of the one before: 20 December to 5 January 2025."""
    last = other.date
    if not last or not last.year or not one.date or one.date.year or not one.date.month:
        return one.low
    year = last.year - (one.date.month > (last.month or one.date.month))
    return frozenset(value._replace(year=year) for value in one.low if isinstance(value, Date))


# Bounds.


def _bounded(one: Quantity, words: Words) -> Quantity:
    """With the longest bound that is set to it: `at least 5`, `5 or more`."""
    if one.is_range or one.kind == DAYS:
        return one
    known = words.known
    before = ((phrase, bound) for phrase, bound in known.bounds.items() if _stands_before(phrase, one, words))
    after = ((phrase, bound) for phrase, bound in known.bounds_after.items() if _stands_behind(phrase, one, words))
    longest = sorted((*before, *after), key=lambda found: len(found[0]))[-1:]
    return one._replace(bound=longest[0][1]) if longest else one


def _stands_before(phrase: Phrase, one: Quantity, words: Words) -> bool:
    """With nothing of meaning in between."""
    starts = range(max(0, one.start - _REACH), one.start - len(phrase) + 1)
    return any(words.is_at(phrase, at) and words.are_small(at + len(phrase), one.start) for at in starts)


def _stands_behind(phrase: Phrase, one: Quantity, words: Words) -> bool:
    """At once, or behind one more word: "5 persons or more"."""
    return words.is_at(phrase, one.end) or words.is_at(phrase, one.end + 1)
