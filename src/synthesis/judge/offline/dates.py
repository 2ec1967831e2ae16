"""Dates and days of the week."""

from collections.abc import Iterator, Sequence

from synthesis.judge.offline.amounts import is_year, year
from synthesis.judge.offline.figures import ordinal
from synthesis.judge.offline.values import COUNT, DATE, DAYS, PLACE, Date, Quantity, Words
from synthesis.lazy import regex

_DOTTED = regex(r"(\d{1,2})\.(\d{1,2})\.(\d{4}|\d{2})?$")
_THREE_PARTS = regex(r"(\d{1,4}) ([/-]) (\d{1,2}) \2 (\d{1,4})$")
_TWO_PARTS = regex(r"(\d{1,2}) / (\d{1,2})(?!\S)")
_HYPHENS = frozenset("–—-")
_LIST_MARKS = frozenset(",&")
_YEAR_MARKS = frozenset(",.")
_LONGEST_MONTH = 31
_CENTURY_TURN = 50  # of years with two digits: 24 is 2024, 98 is 1998
_BUDDHIST_CENTURY, _BUDDHIST_TURN = 2500, 43  # 67 is 2567, but 24 is 2024 of the common era


# Days of the week.


def weekdays(words: Words, at: int) -> Quantity | None:
    """`Monday to Friday`, `samstags und sonntags`, `weekends`."""
    if group := words.find(words.known.day_groups, at):
        return Quantity(DAYS, frozenset(group[0]), at, group[1])
    if not _is_weekday(words, at):
        return None
    days, end = {words.known.weekdays[words.low(at)]}, at + 1
    while following := _next_day(words, end):
        more, end = following
        days |= more
    return Quantity(DAYS, frozenset(days), at, end)


def _is_weekday(words: Words, at: int) -> bool:
    known = words.known
    if words.low(at) not in known.weekdays or _lacks_capital(words, at):
        return False
    before = words.low(at - 1)
    # The Thai Sunday is the week and the sun as well.
    led = before in known.weekday_leads or before in known.conjunctions | known.alternatives
    return not known.weekdays_need_lead or led or before in _HYPHENS | _LIST_MARKS or (before,) in known.ranges


def _lacks_capital(words: Words, at: int) -> bool:
    """`may`, `sat`, `so`: names of months and days only with a capital."""
    return words.low(at) in words.known.capitalised and not words[at].text[0].isupper()


def _next_day(words: Words, at: int) -> tuple[set[int], int] | None:
    """The days that a joint here adds, and where they end."""
    known, joint = words.known, words.low(at)
    place = words.skip(known.weekday_leads, at + 1, 1)
    day = known.weekdays.get(words.low(place))
    if day is None:
        return None
    if (joint,) in known.ranges or joint in _HYPHENS:
        return _days_to(words, at - 1, day), place + 1
    if joint in known.conjunctions | known.alternatives | _LIST_MARKS:
        return {day}, place + 1
    return None


def _days_to(words: Words, at: int, last: int) -> set[int]:
    first = words.known.weekdays[words.low(at)]
    return {(first + step) % 7 for step in range((last - first) % 7 + 1)}


# Dates.


def date(words: Words, at: int) -> Quantity | None:
    """`2024-05-03`, `3. Mai 2024`, `the fourth of May`, `May 4`, `พ.ศ. 2567`."""
    return (
        _dotted(words, at) or _marked(words, at) or _month_first(words, at) or _day_first(words, at) or _era(words, at)
    )


def _day_first(words: Words, at: int) -> Quantity | None:
    day = _day_number(words, at)
    if not day:
        return None
    known = words.known
    place = words.skip(known.ordinal_signs | known.date_joints | known.articles | {"."}, day[1])
    if words.low(place) not in known.months or _lacks_capital(words, place):
        return None
    found, end = _following_year(words, place + 1)
    return _one_date(Date(found, known.months[words.low(place)], day[0]), at, end)


def _day_number(words: Words, at: int) -> tuple[int, int] | None:
    """A day of a month, in figures or as `fourth`, and where it ends."""
    day, end = _figure(words, at), at + 1
    if day is None and words[at].kind == "word" and (place := ordinal(words, at)):
        day, end = int(place.value), place.end
    return (day, end) if day and day <= _LONGEST_MONTH else None


def _figure(words: Words, at: int) -> int | None:
    """A number of at most two digits."""
    text = words[at].text
    return int(text) if text.isdecimal() and len(text) <= 2 else None


def _month_first(words: Words, at: int) -> Quantity | None:
    known = words.known
    if words.low(at) not in known.months or _lacks_capital(words, at):
        return None
    end = words.skip({"."}, at + 1, 1)
    day = _figure(words, end) if known.day_after_month else None
    if day is not None:
        end = words.skip(known.ordinal_signs, end + 1, 1)
    found, end = _following_year(words, end)
    return _one_date(Date(found, known.months[words.low(at)], day), at, end)


def _one_date(found: Date, start: int, end: int) -> Quantity:
    return Quantity(DATE, frozenset([found]), start, end)


# Years.


def _following_year(words: Words, at: int) -> tuple[int | None, int]:
    """The year of a date whose month ends here, and where it ends."""
    known = words.known
    place = words.skip(known.date_joints | known.eras | known.year_words | _YEAR_MARKS, at)
    text = words[place].text
    if text.isdecimal() and len(text) == 4 and is_year(int(text), words):
        return year(int(text), words), place + 1
    short = _figure(words, place)
    if known.year_offset and short is not None and short >= _BUDDHIST_TURN and words[place - 1].text not in _LIST_MARKS:
        return _whole_year(short, words), place + 1
    return None, at


def _whole_year(value: int, words: Words) -> int:
    """The year that two digits, or all four, stand for."""
    if value >= 100:
        return year(value, words)
    if words.known.year_offset and value >= _BUDDHIST_TURN:
        return year(_BUDDHIST_CENTURY + value, words)
    return value + (2000 if value < _CENTURY_TURN else 1900)


def _era(words: Words, at: int) -> Quantity | None:
    """`พ.ศ. 2567`."""
    if words.low(at) not in words.known.eras:
        return None
    found, end = _following_year(words, at)
    return _one_date(Date(found), at, end) if found else None


# Dates in figures.


def _dotted(words: Words, at: int) -> Quantity | None:
    """`3.5.2024`; without a year only in languages that write so."""
    if words[at].kind != "number":
        return None
    behind = "." if words[at + 1].text == "." else ""
    match = _DOTTED.match(words[at].text) or _DOTTED.match(words[at].text + behind)
    if not match or not (match[3] or "." in words.known.short_dates):
        return None
    found = Date(_whole_year(int(match[3]), words) if match[3] else None, int(match[2]), int(match[1]))
    return _one_date(found, at, at + 1) if _is_possible(found) else None


def _marked(words: Words, at: int) -> Quantity | None:
    """`3/5/2024`, `2024-05-03`, `3/5`."""
    whole = " ".join(word.text for word in words.between(at, at + 5))
    if match := _THREE_PARTS.match(whole):
        return _in_order([int(match[1]), int(match[3]), int(match[4])], words, at, at + 5)
    match = _TWO_PARTS.match(whole) if "/" in words.known.short_dates else None
    return _in_order([int(match[1]), int(match[2])], words, at, at + 3) if match else None


def _in_order(parts: Sequence[int], words: Words, at: int, end: int) -> Quantity | None:
    """With every order in which the language writes day and month."""
    found = frozenset(one for one in _orders(parts, words) if _is_possible(one))
    return Quantity(DATE, found, at, end) if found else None


def _orders(parts: Sequence[int], words: Words) -> Iterator[Date]:
    if len(parts) == 3 and parts[0] > _LONGEST_MONTH:
        yield Date(year(parts[0], words), parts[1], parts[2])
    elif len(parts) > 1:
        found = _whole_year(parts[2], words) if len(parts) == 3 else None
        yield Date(found, parts[1], parts[0])
        if words.known.month_before_day:
            yield Date(found, parts[0], parts[1])


def _is_possible(one: Date) -> bool:
    return 1 <= (one.month or 0) <= 12 and 1 <= (one.day or 0) <= _LONGEST_MONTH


# Days that take their month from another date.


def with_months(found: Sequence[Quantity], words: Words) -> list[Quantity]:
    """`24 y el 31 de diciembre`, `December 24 and 31`, `April 8 to 11`: each number is a day of that month."""
    dated = list(found)
    for at in range(1, len(dated)):
        before = dated[at - 1]
        listed = before is not found[at - 1] or words.low(before.start) in words.known.months
        if words.known.day_after_month and listed and _follows_date(before, dated[at], words):
            dated[at] = _with_year(_day_of_month(dated[at], before), words)
    for at in reversed(range(len(dated) - 1)):
        listed = dated[at + 1] is not found[at + 1]  # in "3, 10 and 17 May" the 10 has got its month by now
        if _leads_date(dated[at], dated[at + 1], listed, words):
            dated[at] = _day_of_month(dated[at], dated[at + 1])
    return [one for one in dated if not any(other.start < one.start < other.end for other in dated)]


def _day_of_month(one: Quantity, other: Quantity) -> Quantity:
    """`one` as a day of the other's month; as it is where it can be no day."""
    there = other.date
    if one.kind not in (COUNT, PLACE) or len(one.numbers) != 1 or not there or not there.month or not there.day:
        return one
    day = min(one.numbers)
    is_day = day == int(day) and 1 <= day <= _LONGEST_MONTH
    return _one_date(there._replace(day=int(day)), one.start, one.end) if is_day else one


def _with_year(one: Quantity, words: Words) -> Quantity:
    """`April 8 to 11, 2025`."""
    found, end = _following_year(words, one.end)
    if not found or not one.date:
        return one
    return _one_date(one.date._replace(year=found), one.start, end)


def _leads_date(one: Quantity, other: Quantity, listed: bool, words: Words) -> bool:
    if one.noun or words.low(other.start) in words.known.months:
        return False
    joint = _joint(one, other, words)
    return (listed and joint == ",") or _is_list_joint(joint, words)


def _follows_date(one: Quantity, other: Quantity, words: Words) -> bool:
    after, joint = words[other.end], _joint(one, other, words)
    if after.kind == "word" and after.low not in words.known.function:
        return False  # on May 3 and 20 people came
    in_range = (joint,) in words.known.ranges or joint in _HYPHENS
    return in_range or _is_list_joint(joint, words) or (joint == "," and _is_list_joint(after.low, words))


def _joint(one: Quantity, other: Quantity, words: Words) -> str:
    """The one word or sign between two quantities, articles apart; nothing where there are several."""
    passed = words.known.ordinal_signs | words.known.articles | {"."}
    between = [word.low for word in words.between(one.end, other.start) if word.low not in passed]
    return between[0] if len(between) == 1 else ""


def _is_list_joint(word: str, words: Words) -> bool:
    return word in words.known.conjunctions or word in words.known.alternatives
