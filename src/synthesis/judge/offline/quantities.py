"""Numbers, amounts, dates, times, ranges and bounds in a sentence, read so that they can be compared by value."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from synthesis.judge.offline.lexicon import Lexicon, Phrase, family, units
from synthesis.judge.offline.text import LETTERS, words_in
from synthesis.lazy import regex

SAME, DIFFERS, OTHER = "same", "differs", "other"
CLOCK, DATE, DAYS, COUNT, PLACE = "time", "date", "weekdays", "number", "place in a row"
NOON, MIDNIGHT = 720, 1440
_BUDDHIST = 543  # years from the common era to the Thai one
_CLOSE, _CLOSE_SHARE = 0.006, 0.02  # what rounding and conversions may change; of shares ("a third") more
Values = frozenset[object]


class Lexeme(NamedTuple):
    """One word, figure or sign with its place."""

    text: str
    kind: str  # word, number, sign
    start: int
    end: int

    @property
    def low(self) -> str:
        return self.text.lower()


_LEXEME = regex(
    rf"(?P<short>[apAP]\. ?[mM]\b|[ก-ฮ](?:\.[ก-ฮ])+|[ก-ฮ]\.ค|(?:เม|มี|มิ)\.ย|ตร\.ม|m2\b|km2\b|US\$|C\$|A\$)"
    r"|(?P<number>\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?![\d.,]\d)|\d+(?:[.,]\d+)*)"
    rf"|(?P<unspaced>[{LETTERS}]+)"
    rf"|(?P<word>(?:(?![{LETTERS}])[^\W\d_])+(?:'(?:(?![{LETTERS}])[^\W\d_])+)?)"
    r"|(?P<sign>[%€$£¥₹฿°–—:/+.,;()-])"
)


def lexemes(text: str) -> list[Lexeme]:
    """The lexemes of a normalised text."""
    found: list[Lexeme] = []
    for match in _LEXEME.finditer(text):
        kind = {"short": "word"}.get(str(match.lastgroup), str(match.lastgroup))
        if kind == "unspaced":
            found += [
                Lexeme(word, "word", match.start() + at, match.start() + at + len(word))
                for at, word in words_in(match.group())
            ]
        else:
            found.append(Lexeme(match.group(), kind, match.start(), match.end()))
    return found


class Quantity(NamedTuple):
    """What is said, from the lexeme `start` up to `end`; `high` is that of a range.

    `soft` ones ("a year") count only where the other text has one to compare.
    """

    kind: str
    low: Values
    high: Values
    start: int
    end: int
    bound: str = ""
    noun: str = ""
    soft: bool = False
    factor: float = 1.0  # of its unit

    @property
    def is_range(self) -> bool:
        return bool(self.high)

    @property
    def ends(self) -> "tuple[Quantity, ...]":
        """The two of a range."""
        if not self.high:
            return ()
        return self._replace(high=frozenset()), self._replace(low=self.high, high=frozenset())


def quantities(words: Sequence[Lexeme], known: Lexicon) -> list[Quantity]:
    """All that a sentence says, in order; nothing overlaps."""
    found: list[Quantity] = []
    at = 0
    while at < len(words):
        one = _read(words, at, known)
        if one:
            found.append(one)
            at = one.end
        else:
            at += 1
    return [_bounded(one, words, known) for one in _ranges(found, words, known)]


def _read(words: Sequence[Lexeme], at: int, known: Lexicon) -> Quantity | None:
    for reader in (_days, _date, _clock, _amount):
        if one := reader(words, at, known):
            return one
    return None


# Numbers, in figures and in words.


def readings(figure: str, language: str) -> frozenset[float]:
    """The values that a figure can have: `1.250` is one number in German and another in English."""
    plain = re.sub(r"[ \u00a0\u202f]", "", figure)
    marks = {char for char in plain if char in ".,"}
    if len(marks) == 2:
        decimal = max(".,", key=plain.rfind)
        return frozenset([_value(plain, decimal)])
    if not marks:
        return frozenset([float(plain)])
    mark = marks.pop()
    if plain.count(mark) > 1:
        return frozenset([_value(plain, "")])
    thousands = len(plain) - plain.index(mark) == 4 and plain.index(mark) <= 3 and not plain.startswith("0")
    usual = "." if language in ("en", "th") else ","
    if not thousands:
        return frozenset([_value(plain, mark)])
    if language == "es":
        return frozenset([_value(plain, ""), _value(plain, mark)])
    return frozenset([_value(plain, mark if mark == usual else "")])


def _value(plain: str, decimal: str) -> float:
    other = {".": ",", ",": "."}.get(decimal)
    digits = plain.replace(other, "") if other else plain.replace(".", "").replace(",", "")
    return float(digits.replace(decimal, ".") if decimal else digits)


def _number(words: Sequence[Lexeme], at: int, known: Lexicon) -> tuple[frozenset[float], int] | None:
    """The values of the number that begins here, and where it ends."""
    if at >= len(words):
        return None
    if words[at].kind == "number":
        return _scaled(readings(words[at].text, known.name), words, at + 1, known)
    parts: list[float] = []
    end = at
    while end < len(words) and (own := _word_values(words[end].low, known)):
        parts += own
        end += 1
        end += _goes_on(parts, words, end, known)
    return (frozenset([_summed(parts)]), end) if parts else None


def _goes_on(parts: Sequence[float], words: Sequence[Lexeme], at: int, known: Lexicon) -> bool:
    """`twenty-four`, `treinta y cinco`, `a hundred and five`; not "two and five"."""
    if at + 1 >= len(words) or not (words[at].low in known.number_joints or words[at].text == "-"):
        return False
    following = _word_values(words[at + 1].low, known)
    return bool(following) and parts[-1] >= 20 and following[0] < parts[-1] and words[at + 1].low not in known.fractions


def _word_values(word: str, known: Lexicon) -> list[float]:
    if word in known.numbers:
        return [known.numbers[word]]
    return _morphemes(word, known) if known.name == "de" and len(word) > 6 else []


def _morphemes(word: str, known: Lexicon) -> list[float]:
    """`vierundzwanzig` as 4 and 20; nothing for a word that is not a number from end to end."""
    parts, rest = [], word
    while rest:
        part = next((one for one in _longest_first(known.name, tuple(known.compound)) if rest.startswith(one)), None)
        if part:
            parts.append(known.compound[part])
            rest = rest[len(part) :]
        elif rest.startswith("und") and parts:
            rest = rest[3:]
        else:
            return []
    return parts


@cache
def _longest_first(language: str, words: tuple[str, ...]) -> list[str]:
    return sorted(words, key=len, reverse=True)


def _summed(parts: Sequence[float]) -> float:
    total = current = 0.0
    for value in parts:
        if value >= 1000:
            total, current = total + (current or 1) * value, 0.0
        elif value == 100:
            current = (current or 1) * 100
        elif value == 10 and 0 < current % 10:  # Thai: three, ten
            current += current % 10 * 9
        else:
            current += value
    return total + current


def _scaled(values: frozenset[float], words: Sequence[Lexeme], end: int, known: Lexicon) -> tuple[frozenset[float], int]:
    """`2.5 million`."""
    if end < len(words) and words[end].kind == "word":
        factor = known.numbers.get(words[end].low, 0)
        if factor >= 100 or words[end].low in ("dozen", "dutzend", "docena", "โหล"):
            return frozenset(value * factor for value in values), end + 1
    return values, end


# Amounts with units, shares and counts.


def _amount(words: Sequence[Lexeme], at: int, known: Lexicon) -> Quantity | None:
    if found := _leading_unit(words, at, known):
        return found
    if fraction := _fraction(words, at, known):
        return fraction
    if words[at].low in known.ordinals:
        return Quantity(PLACE, frozenset([known.ordinals[words[at].low]]), frozenset(), at, at + 1)
    if number := _number(words, at, known):
        values, end = number
        return _with_unit(values, words, at, end, known)
    if words[at].low in known.one and at + 1 < len(words):
        unit = units().get(words[at + 1].low)
        if unit and unit[0] in ("duration", "months"):
            return _measured(frozenset([1.0]), unit, at, at + 2, words, known)._replace(soft=True)
    return None


def _leading_unit(words: Sequence[Lexeme], at: int, known: Lexicon) -> Quantity | None:
    """`€ 12`, `ร้อยละ 25`."""
    unit = units().get(words[at].low)
    width = 1
    if words[at].low == "ร้อย" and at + 1 < len(words) and words[at + 1].low == "ละ":
        unit, width = ("percent", 1.0), 2
    if not unit or unit[0] not in ("euro", "dollar", "pound_money", "rupee", "baht", "franc", "percent", "peso"):
        return None
    number = _number(words, at + width, known) if at + width < len(words) else None
    if not number or (words[at].kind == "word" and words[at].low not in ("chf", "eur", "usd", "ร้อย", "us$", "c$", "rs", "mxn", "a$", "r$", "cop")):
        return None
    return Quantity(unit[0], _times(number[0], unit[1]), frozenset(), at, number[1])


def _fraction(words: Sequence[Lexeme], at: int, known: Lexicon) -> Quantity | None:
    """`half`, `a third`, `three quarters`, `tres cuartos` as per cent."""
    number = _number(words, at, known)
    place = number[1] if number else at
    if not number and words[at].low in known.one:
        place = at + 1
    bare = place == at and words[place].low in known.numbers if place < len(words) else True
    if place < len(words) and words[place].low in known.fractions and not bare:
        times = min(number[0]) if number else 1.0
        share = times * known.fractions[words[place].low] * 100
        follows = units().get(words[place + 1].low) if place + 1 < len(words) else None
        if follows and follows[0] in ("duration", "months", "mass", "volume", "length"):
            return _measured(frozenset([share / 100]), follows, at, place + 2, words, known)
        if share <= 100 and (not number or times < 20):
            return Quantity("percent", frozenset([share]), frozenset(), at, place + 1)
    return None


def _with_unit(values: frozenset[float], words: Sequence[Lexeme], at: int, end: int, known: Lexicon) -> Quantity:
    place = end + 1 if end < len(words) and words[end].text == "-" and end + 1 < len(words) and words[end + 1].kind == "word" else end
    for phrase in known.half:
        if _is_at(phrase, words, end) and end + len(phrase) < len(words) and words[end + len(phrase)].low in units():
            values, place = frozenset(value + 0.5 for value in values), end + len(phrase)
    unit = units().get(words[place].low) if place < len(words) else None
    if unit:
        return _measured(values, unit, at, place + 1, words, known)
    year = min(values)
    if words[at].kind == "number" and end == at + 1 and len(words[at].text) == 4 and _is_year(year, known.name):
        return Quantity(DATE, frozenset([(_year(year), None, None)]), frozenset(), at, end)
    return Quantity(COUNT, frozenset(values), frozenset(), at, end, noun=_noun(words, end, known))


def _measured(
    values: frozenset[float], unit: tuple[str, float], at: int, end: int, words: Sequence[Lexeme], known: Lexicon
) -> Quantity:
    for phrase in known.half:
        if _is_at(phrase, words, end):
            values, end = frozenset(value + 0.5 for value in values), end + len(phrase)
    amount = _times(values, unit[1])
    smaller = _smaller(unit, words, end, known)
    if smaller:
        extra, end = smaller
        amount = frozenset(value + extra for value in amount if isinstance(value, float))
    return Quantity(unit[0], amount, frozenset(), at, end, factor=unit[1])


def _smaller(unit: tuple[str, float], words: Sequence[Lexeme], end: int, known: Lexicon) -> tuple[float, int] | None:
    """`2 hours 30 minutes`: the smaller unit of the same kind that follows."""
    at = end + 1 if end < len(words) and words[end].low in known.number_joints else end
    number = _number(words, at, known) if at < len(words) else None
    other = units().get(words[number[1]].low) if number and number[1] < len(words) else None
    if number and other and other[0] == unit[0] and other[1] < unit[1] and unit[0] in _DIVIDED:
        return min(number[0]) * other[1], number[1] + 1
    if number and not other and unit[0] in _MONEY and unit[1] == 1 and at == end and 10 <= min(number[0]) < 100:
        return min(number[0]) / 100, number[1]  # seven dollars eighty
    return None


_MONEY = ("euro", "dollar", "peso", "pound_money", "rupee", "franc", "baht")
_DIVIDED = ("duration", "months", "length", "mass", *_MONEY)


def _times(values: frozenset[float], factor: float) -> Values:
    return frozenset(value * factor for value in values)


def _noun(words: Sequence[Lexeme], end: int, known: Lexicon) -> str:
    """The family of the first word of meaning behind a number, if one follows at once."""
    for word in words[end : end + 2]:
        if word.kind != "word":
            return ""
        if word.low not in known.function:
            return family(word.low, known.name)
    return ""


def _is_at(phrase: Phrase, words: Sequence[Lexeme], at: int) -> bool:
    return 0 <= at and at + len(phrase) <= len(words) and all(
        words[at + step].low == word for step, word in enumerate(phrase)
    )


# Dates and days of the week.


_NUMERIC_DATE = regex(r"(\d{1,2})\.(\d{1,2})\.(\d{4}|\d{2})?$")


def _is_year(value: float, language: str) -> bool:
    return 1500 <= value <= 2100 or (language == "th" and 2300 <= value <= 2600)


def _year(value: float) -> int:
    return int(value) - (_BUDDHIST if value > 2300 else 0)


def _days(words: Sequence[Lexeme], at: int, known: Lexicon) -> Quantity | None:
    for phrase, days in known.day_groups.items():
        if _is_at(phrase, words, at):
            return Quantity(DAYS, frozenset(days), frozenset(), at, at + len(phrase))
    if words[at].low not in known.weekdays or (len(words[at].low) <= 3 and not words[at].text[0].isupper()):
        return None
    if known.name == "th" and not (at and words[at - 1].low in ("วัน", "และ", "ถึง", "-", ",", "หรือ")):
        return None
    days, end = {known.weekdays[words[at].low]}, at + 1
    while True:
        place = end + 1 if end + 1 < len(words) and words[end + 1].low in ("วัน", "on", "am", "los", "el") else end
        following = words[place + 1].low if place + 1 < len(words) else ""
        if end >= len(words) or following not in known.weekdays:
            break
        day, joint = known.weekdays[following], words[end].low
        if joint in known.ranges - {"and", "und", "y", "และ"} or joint in "–—-":
            days |= _between(known.weekdays[words[end - 1].low], day)
        elif joint in ("and", "und", "y", "e", "og", "&", ",", "และ", "or", "oder", "o", "หรือ", "sowie"):
            days.add(day)
        else:
            break
        end = place + 2
    return Quantity(DAYS, frozenset(days), frozenset(), at, end)


def _between(first: int, last: int) -> set[int]:
    return {(first + step) % 7 for step in range((last - first) % 7 + 1)}


def _date(words: Sequence[Lexeme], at: int, known: Lexicon) -> Quantity | None:
    if found := _numeric_date(words, at, known):
        return found
    if words[at].low in known.months and not (words[at].low in ("may", "mar", "sep") and not words[at].text[0].isupper()):
        return _month_first(words, at, known)
    if words[at].kind != "number" or len(words[at].text) > 2:
        return _thai_year(words, at, known)
    place = at + 1
    while place < len(words) and place < at + 4 and words[place].low in (".", "º", "st", "nd", "rd", "th", "of", "de", "the"):
        place += 1
    if place < len(words) and words[place].low in known.months and 1 <= int(words[at].text) <= 31:
        year, end = _following_year(words, place + 1, known)
        return Quantity(DATE, frozenset([(year, known.months[words[place].low], int(words[at].text))]), frozenset(), at, end)
    return None


def _numeric_date(words: Sequence[Lexeme], at: int, known: Lexicon) -> Quantity | None:
    if words[at].kind != "number":
        return None
    text = words[at].text + ("." if at + 1 < len(words) and words[at + 1].text == "." else "")
    if match := _NUMERIC_DATE.match(text):
        day, month = int(match[1]), int(match[2])
        year = int(match[3]) + (2000 if len(match[3]) == 2 else 0) if match[3] else None
        if 1 <= day <= 31 and 1 <= month <= 12 and (year or known.name == "de"):
            return Quantity(DATE, frozenset([(year, month, day)]), frozenset(), at, at + 1)
    parts = [word.text for word in words[at : at + 5]]
    if len(parts) == 5 and parts[1] == parts[3] and parts[1] in "/-" and all(part.isdigit() for part in parts[::2]):
        first, second, third = (int(part) for part in parts[::2])
        if first > 31:
            orders = [(_year(first), second, third)]
        else:
            year = _year(third + (2000 if third < 100 else 0))
            orders = [(year, second, first)] + ([(year, first, second)] if known.name == "en" else [])
        fine = frozenset(order for order in orders if 1 <= order[1] <= 12 and 1 <= order[2] <= 31)
        return Quantity(DATE, fine, frozenset(), at, at + 5) if fine else None
    if len(parts) > 2 and parts[1] == "/" and parts[0].isdigit() and parts[2].isdigit() and known.name != "th":
        first, second = int(parts[0]), int(parts[2])
        orders = [(None, second, first)] + ([(None, first, second)] if known.name == "en" else [])  # type: ignore[list-item]
        fine = frozenset(order for order in orders if 1 <= order[1] <= 12 and 1 <= order[2] <= 31)
        return Quantity(DATE, fine, frozenset(), at, at + 3) if fine else None
    return None


def _month_first(words: Sequence[Lexeme], at: int, known: Lexicon) -> Quantity:
    month, end = known.months[words[at].low], at + 1
    end += end < len(words) and words[end].text == "."
    day = None
    if known.name == "en" and end < len(words) and words[end].kind == "number" and len(words[end].text) <= 2:
        day, end = int(words[end].text), end + 1
        end += end < len(words) and words[end].low in ("st", "nd", "rd", "th")
    year, end = _following_year(words, end, known)
    return Quantity(DATE, frozenset([(year, month, day)]), frozenset(), at, end)


def _following_year(words: Sequence[Lexeme], at: int, known: Lexicon) -> tuple[int | None, int]:
    place = at
    while place < len(words) and place < at + 4 and words[place].low in (",", ".", "de", "del", "of", "พ.ศ", "ค.ศ", "ปี"):
        place += 1
    if place < len(words) and words[place].kind == "number" and len(words[place].text) == 4:
        value = float(words[place].text) if words[place].text.isdigit() else 0
        if _is_year(value, known.name):
            return _year(value), place + 1
    return None, at


def _thai_year(words: Sequence[Lexeme], at: int, known: Lexicon) -> Quantity | None:
    if words[at].low in ("พ.ศ", "ค.ศ"):
        year, end = _following_year(words, at, known)
        return Quantity(DATE, frozenset([(year, None, None)]), frozenset(), at, end) if year else None
    return None


# Times of day, as minutes since midnight.


def _clock(words: Sequence[Lexeme], at: int, known: Lexicon) -> Quantity | None:
    if known.name == "th" and (found := _thai_clock(words, at, known)):
        return found
    if words[at].text == "12" and at + 1 < len(words) and words[at + 1].low in known.clock_words:
        at += 1
    if words[at].low in known.clock_words:
        minutes = known.clock_words[words[at].low]
        return Quantity(CLOCK, frozenset([minutes, minutes % MIDNIGHT]), frozenset(), at, at + 1)
    if found := _spoken(words, at, known):
        return found
    read = _hour(words, at, known)
    if not read:
        return None
    hour, minute, end, exact, marked = read
    half, end, told = _marker(words, end, known)
    minute, end = _trailing_minutes(words, minute, end, known) if told else (minute, end)
    named = bool(at) and words[at - 1].low in known.clock_before
    if not (marked or told or named) or hour > 24 or (named and not (marked or told) and known.name != "es"):
        return None
    if known.name == "es" and told and words[end - 1].low in ("h", "hs", "hrs", "horas") and not (marked or named or _in_range(words, at)):
        return None
    return Quantity(CLOCK, _minutes(hour, minute, half, exact or known.name in ("de", "th")), frozenset(), at, end)


def _in_range(words: Sequence[Lexeme], at: int) -> bool:
    """`de 9 a 17 h`."""
    return at >= 2 and words[at - 1].low in ("a", "y", "-", "–") and words[at - 2].kind == "number"


def _hour(words: Sequence[Lexeme], at: int, known: Lexicon) -> tuple[int, int, int, bool, bool] | None:
    """Hour, minute, end, whether it can only be of 24 hours, and whether the form alone says that it is a time."""
    word = words[at]
    if word.kind == "word":
        number = _number(words, at, known)
        value = min(number[0]) if number else -1
        return (int(value), 0, number[1], False, False) if number and value == int(value) and 0 < value <= 24 else None
    if word.kind != "number":
        return None
    if at + 2 < len(words) and words[at + 1].text == ":" and words[at + 2].kind == "number" and len(words[at + 2].text) == 2:
        hour = int(word.text) if word.text.isdigit() else 99
        minute = int(words[at + 2].text)
        return (hour, minute, at + 3, word.text.startswith("0") or hour > 12, True) if hour <= 24 and minute < 60 else None
    if match := re.fullmatch(r"(\d{1,2})[.,](\d{2})", word.text):
        hour, minute = int(match[1]), int(match[2])
        return (hour, minute, at + 1, word.text.startswith("0") or hour > 12, False) if hour <= 24 and minute < 60 else None
    if word.text.isdigit() and len(word.text) <= 2:
        return int(word.text), 0, at + 1, word.text.startswith("0") or int(word.text) > 12, False
    return None


def _marker(words: Sequence[Lexeme], at: int, known: Lexicon) -> tuple[int | None, int, bool]:
    """What follows an hour: half of the day (0, 720 or None), where it ends, whether anything does."""
    told, half = False, None
    if at < len(words) and (mark := words[at].low.rstrip(".")) in known.clock:
        half = known.clock[mark] if mark not in ("uhr", "h", "hs", "hrs", "horas", "น", "นาฬิกา", "o'clock") else None
        told, at = True, at + 1
        at += at < len(words) and words[at].text == "." and mark not in ("uhr",) and at + 1 < len(words)
    for step in range(3):
        for phrase, part in known.day_parts.items():
            if _is_at(phrase, words, at + step) and all(word.low in known.function or word.low in (",",) for word in words[at : at + step]):
                return part, at + step + len(phrase), True
    return half, at, told


def _trailing_minutes(words: Sequence[Lexeme], minute: int, at: int, known: Lexicon) -> tuple[int, int]:
    """`9 Uhr 30`."""
    if known.name == "de" and words[at - 1].low == "uhr" and at < len(words) and re.fullmatch(r"\d\d", words[at].text):
        return int(words[at].text), at + 1
    return minute, at


def _minutes(hour: int, minute: int, half: int | None, exact: bool) -> Values:
    base = hour * 60 + minute
    if half is not None:
        return frozenset([base % NOON + half])
    if exact or hour > 12:
        return frozenset([base, base % MIDNIGHT])
    return frozenset([base % NOON, base % NOON + NOON])


def _spoken(words: Sequence[Lexeme], at: int, known: Lexicon) -> Quantity | None:
    """`half past seven`, `halb acht`, `Viertel nach neun`, `las nueve y media`."""
    word = words[at].low
    if known.clock_half_before and word == known.clock_half_before:
        return _shifted(words, at + 1, at, -30, known)
    if known.name == "es":
        return _spanish(words, at, known)
    part = known.clock_parts.get(word)
    if part and at + 2 < len(words):
        sign = {known.clock_past: 1, known.clock_to: -1}.get(words[at + 1].low)
        return _shifted(words, at + 2, at, sign * part, known) if sign else None
    return None


def _shifted(words: Sequence[Lexeme], at: int, start: int, shift: int, known: Lexicon) -> Quantity | None:
    number = _number(words, at, known)
    hour = min(number[0]) if number else 0
    if not number or not 0 < hour <= 24:
        return None
    half, end, _ = _marker(words, number[1], known)
    base = int(hour) * 60 + shift
    return Quantity(CLOCK, _minutes(base // 60, base % 60, half, exact=False), frozenset(), start, end)


def _spanish(words: Sequence[Lexeme], at: int, known: Lexicon) -> Quantity | None:
    number = _number(words, at, known) if at and words[at - 1].low in known.clock_before else None
    if not number or number[1] + 1 >= len(words) or not 0 < min(number[0]) <= 24:
        return None
    sign = {known.clock_past: 1, known.clock_to: -1}.get(words[number[1]].low)
    part = known.clock_parts.get(words[number[1] + 1].low)
    if not sign or not part:
        return None
    base = int(min(number[0])) * 60 + sign * part
    half, end, _ = _marker(words, number[1] + 2, known)
    return Quantity(CLOCK, _minutes(base // 60, base % 60, half, exact=False), frozenset(), at, end)


def _thai_clock(words: Sequence[Lexeme], at: int, known: Lexicon) -> Quantity | None:
    """`เก้าโมงเช้า`, `บ่ายสามโมงครึ่ง`, `สองทุ่ม`, `ตีสอง`."""
    afternoon = words[at].low == "บ่าย"
    if words[at].low == "ตี" or afternoon:
        number = _number(words, at + 1, known)
        if afternoon and at + 1 < len(words) and words[at + 1].low == "โมง":
            number = (frozenset([1.0]), at + 1)
        if not number or not 0 < min(number[0]) <= 6:
            return None
        return _thai_time(words, at, number[1], int(min(number[0])) + (12 if afternoon else 0))
    number = _number(words, at, known)
    if not number or number[1] >= len(words) or not 0 < min(number[0]) <= 12:
        return None
    hour, sign = int(min(number[0])), words[number[1]].low
    if sign == "ทุ่ม":
        return _thai_time(words, at, number[1], hour + 18)
    if sign != "โมง":
        return None
    evening = number[1] + 1 < len(words) and words[number[1] + 1].low == "เย็น"
    return _thai_time(words, at, number[1], hour + 12 if evening else hour)


def _thai_time(words: Sequence[Lexeme], start: int, at: int, hour: int) -> Quantity:
    end = at
    while end < len(words) and words[end].low in ("โมง", "ทุ่ม", "เช้า", "เย็น", "ตรง"):
        end += 1
    minutes = hour * 60
    if end < len(words) and words[end].low == "ครึ่ง":
        minutes, end = minutes + 30, end + 1
    return Quantity(CLOCK, frozenset([minutes]), frozenset(), start, end)


# Ranges and bounds.


def _ranges(found: Sequence[Quantity], words: Sequence[Lexeme], known: Lexicon) -> Iterator[Quantity]:
    """Two that a "to" joins become one range; the first may lack the unit."""
    at = 0
    while at < len(found):
        one = found[at]
        other = found[at + 1] if at + 1 < len(found) else None
        if other and _joined(one, other, words, known):
            yield _one_range(one, other)
            at += 2
        else:
            yield one
            at += 1


def _joined(one: Quantity, other: Quantity, words: Sequence[Lexeme], known: Lexicon) -> bool:
    between = [word.low for word in words[one.end : other.start] if word.low not in (".", "las", "la", "the", "el", "los", "dem", "น")]
    if one.kind == DAYS or one.is_range or not (one.kind in (other.kind, COUNT) and len(between) == 1 or between == ["up", "to"]):
        return False
    joint = between[0]
    if joint in ("and", "und", "y", "และ"):
        before = [word.low for word in words[max(0, one.start - 3) : one.start]]
        return any(word in ("between", "zwischen", "entre", "ระหว่าง") for word in before)
    return joint in known.ranges or joint in "–—-"


def _one_range(one: Quantity, other: Quantity) -> Quantity:
    low = one.low
    if one.kind == COUNT and other.kind == CLOCK:
        low = frozenset(minute for value in one.low if isinstance(value, float) for minute in _half_days(value))
    elif one.kind == COUNT and other.kind == DATE:
        low = frozenset((order[0], order[1], int(min(one.low))) for order in other.low if isinstance(order, tuple))  # type: ignore[type-var, call-overload]
    elif one.kind == COUNT and other.factor != 1:
        low = _times(frozenset(value for value in one.low if isinstance(value, float)), other.factor)
    return Quantity(other.kind, low, other.low, one.start, other.end, noun=other.noun)


def _half_days(value: float) -> Iterator[float]:
    """`9` or `9.30` before "to 5 pm": in the morning or in the evening."""
    minutes = int(value) * 60 + round(value % 1 * 100)
    yield minutes
    if value < 13:
        yield from (minutes % NOON, minutes % NOON + NOON)


_REACH = 4  # lexemes before a quantity in which a bound is looked for


def _bounded(one: Quantity, words: Sequence[Lexeme], known: Lexicon) -> Quantity:
    if one.is_range or one.kind == DAYS:
        return one
    best: tuple[int, str] = (0, "")
    for phrase, bound in known.bounds.items():
        starts = range(max(0, one.start - _REACH), one.start - len(phrase) + 1)
        before = any(_is_at(phrase, words, at) and _only_small(words[at + len(phrase) : one.start], known) for at in starts)
        after = bound in ("least", "most") and any(_is_at(phrase, words, one.end + gap) for gap in (0, 1)) and len(phrase) > 1
        if (before or after or (known.name == "th" and _is_at(phrase, words, one.end))) and len(phrase) >= best[0]:
            best = (len(phrase), bound)
    return one._replace(bound=best[1]) if best[1] else one


def _only_small(words: Sequence[Lexeme], known: Lexicon) -> bool:
    return all(word.kind == "sign" or word.low in known.function for word in words)


# Two quantities compared.


def relation(claim: Quantity, source: Quantity) -> str:
    """SAME, DIFFERS, or OTHER where the two say nothing about each other."""
    if claim.kind == COUNT and source.kind == CLOCK and not claim.is_range and not claim.noun:
        claim = claim._replace(kind=CLOCK, low=frozenset(_hours(claim.low)))
    if source.kind == COUNT and claim.kind == CLOCK and not source.is_range:
        source = source._replace(kind=CLOCK, low=frozenset(_hours(source.low)))
    if claim.is_range and source.is_range and {claim.kind, source.kind} == {COUNT, CLOCK}:
        claim, source = _as_clock(claim), _as_clock(source)
    if claim.kind != source.kind or claim.is_range != source.is_range:
        return OTHER
    if claim.kind == DAYS:
        return SAME if claim.low <= source.low else (DIFFERS if not claim.low & source.low else OTHER)
    if claim.kind == DATE and not claim.is_range:
        return _dates(claim, source)
    strange = bool(claim.noun and source.noun) and not _one_family(claim.noun, source.noun)
    equal = _meet(claim.low, source.low, claim.kind) and (not claim.is_range or _meet(claim.high, source.high, claim.kind))
    if _exact(claim.bound) != _exact(source.bound):
        return DIFFERS if {claim.bound, source.bound} in _OPPOSED and equal else OTHER
    if claim.kind == COUNT and not claim.is_range and (strange or not (equal or bool(claim.noun) == bool(source.noun))):
        return OTHER
    return SAME if equal else DIFFERS


_OPPOSED = ({"least", "most"}, {"above", "below"}, {"least", "below"}, {"most", "above"})


def _exact(bound: str) -> str:
    return "" if bound == "about" else bound


def _as_clock(one: Quantity) -> Quantity:
    if one.kind == CLOCK:
        return one
    return one._replace(kind=CLOCK, low=frozenset(_hours(one.low)), high=frozenset(_hours(one.high)))


def _hours(values: Values) -> Iterator[float]:
    for value in values:
        if isinstance(value, float) and 0 < value <= 24:
            yield value * 60
            if value <= 12:
                yield value * 60 % NOON + NOON


def _meet(one: Values, other: Values, kind: str) -> bool:
    if kind == DATE:
        return bool(one & other)
    slack = _CLOSE_SHARE if kind == "percent" else _CLOSE
    pairs = ((a, b) for a in one for b in other if isinstance(a, int | float) and isinstance(b, int | float))
    return any(abs(a - b) <= slack * max(abs(a), abs(b)) if kind != CLOCK else a == b for a, b in pairs)


def _dates(claim: Quantity, source: Quantity) -> str:
    """A year of a whole date is the same; a day that the source does not name is not."""
    found = {_date_relation(a, b) for a in claim.low for b in source.low}
    if SAME in found:
        return SAME if _exact(claim.bound) == _exact(source.bound) else OTHER
    return DIFFERS if DIFFERS in found and OTHER not in found else OTHER


def _date_relation(claim: object, source: object) -> str:
    pairs = list(zip(claim, source, strict=True))  # type: ignore[call-overload]
    if any(a is not None and b is not None and a != b for a, b in pairs):
        return DIFFERS if any(a is not None and a == b for a, b in pairs) or sum(a is not None for a, _ in pairs) > 0 else OTHER
    return SAME if all(b is not None for a, b in pairs if a is not None) else OTHER


def _one_family(one: str, other: str) -> bool:
    return one == other or (min(len(one), len(other)) >= 4 and (one.startswith(other) or other.startswith(one)))


def kind_word(kind: str) -> str:
    """What a slot is called in a report."""
    return {CLOCK: "time", DATE: "date", DAYS: "date", COUNT: "number"}.get(kind, "number")


Slots = Mapping[str, str]
