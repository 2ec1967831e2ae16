"""The lexemes of a text, the quantities that are read from them, and how two quantities relate."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from synthesis.judge.offline.lexicon import Lexicon, Phrase, abbreviations
from synthesis.judge.offline.text import LETTERS, words_in

SAME, DIFFERS, OTHER = "same", "differs", "other"
CLOCK, DATE, DAYS, COUNT, PLACE, RESULT = "time", "date", "weekdays", "number", "place in a row", "result"
NOON, MIDNIGHT = 720, 1440  # minutes
_CLOSE, _CLOSE_SHARE = 0.006, 0.02  # what rounding and conversions may change; of shares ("a third") more
_Value = TypeVar("_Value")


# Lexemes.


class Lexeme(NamedTuple):
    """One word, figure or sign with its place."""

    text: str
    kind: str  # word, number, sign
    start: int
    end: int

    @property
    def low(self) -> str:
        return self.text.lower()


_WORD = rf"(?:(?![{LETTERS}])[^\W\d_])+"
_THAI_SHORT = rf"[ก-ฮ](?:\.[ก-ฮ])+(?![{LETTERS}])"
_THAI_GRADE = r"(?<!\d)(?<!\d )[ก-ฮ]\.\d+"  # a year of school, which counts nothing


@cache
def _lexeme() -> re.Pattern[str]:
    """Built at the first use: it reads the word lists."""
    # An abbreviation ends where no letter follows: `ม.ค` is January, but not in `ม.ครับ`.
    listed = rf"(?i:{'|'.join(map(re.escape, abbreviations()))})(?![^\W\d_]|[{LETTERS}])"
    return re.compile(
        rf"(?P<short>(?<![^\W\d_{LETTERS}]){listed}|{_THAI_SHORT}|{_THAI_GRADE})"
        r"|(?P<number>\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?![\d.,]\d)|\d+(?:[.,]\d+)*)"
        rf"|(?P<unspaced>[{LETTERS}]+?(?={listed}|[^{LETTERS}]|$))"
        rf"|(?P<word>{_WORD}(?:'{_WORD})?)"
        r"|(?P<sign>[%€$£¥₹฿°º–—:/+.,;()-])"
    )


def lexemes(text: str) -> list[Lexeme]:
    """The lexemes of a normalised text."""
    found: list[Lexeme] = []
    for match in _lexeme().finditer(text):
        if match.lastgroup == "unspaced":
            found += _divided(match.group(), match.start())
        else:
            kind = "word" if match.lastgroup == "short" else str(match.lastgroup)
            found.append(Lexeme(match.group(), kind, match.start(), match.end()))
    return found


def _divided(run: str, start: int) -> Iterator[Lexeme]:
    """The words of a script that is written without spaces."""
    for at, word in words_in(run):
        yield Lexeme(word, "word", start + at, start + at + len(word))


class Words:
    """The lexemes of a text and its language; a place outside has an empty word, so nobody has to look for the end."""

    def __init__(self, found: Sequence[Lexeme], known: Lexicon) -> None:
        self.known = known
        self._found = found
        self._low = [lexeme.low for lexeme in found]

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, at: int) -> Lexeme:
        return self._found[at] if 0 <= at < len(self._found) else Lexeme("", "", -1, -1)

    def low(self, at: int) -> str:
        return self._low[at] if 0 <= at < len(self._low) else ""

    def between(self, start: int, end: int) -> Sequence[Lexeme]:
        return self._found[max(0, start) : end]

    def is_at(self, phrase: Phrase, at: int) -> bool:
        return at >= 0 and tuple(self._low[at : at + len(phrase)]) == phrase

    def phrase_end(self, phrases: Iterable[Phrase], at: int) -> int | None:
        """Where the longest of these phrases that begins here ends."""
        return max((at + len(phrase) for phrase in phrases if self.is_at(phrase, at)), default=None)

    def find(self, phrases: Mapping[Phrase, _Value], at: int) -> tuple[_Value, int] | None:
        """What the longest of these phrases that begins here stands for, and where it ends."""
        end = self.phrase_end(phrases, at)
        return None if end is None else (phrases[tuple(self._low[at:end])], end)

    def skip(self, passed: Container[str], at: int, most: int = 3) -> int:
        """The first place from here on that has none of these words."""
        end = at
        while end < len(self) and end < at + most and self.low(end) in passed:
            end += 1
        return end

    def adjoins(self, at: int) -> bool:
        """No space before this lexeme."""
        return self[at - 1].end == self[at].start

    def are_small(self, start: int, end: int) -> bool:
        """Nothing but signs and function words."""
        return all(one.kind == "sign" or one.low in self.known.function for one in self.between(start, end))


# Quantities.


class Date(NamedTuple):
    """What is not said of it is None."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


Values = frozenset[float | Date]  # all that the words can mean: `5/6` has two readings in English


class Quantity(NamedTuple):
    """What is said, from the lexeme `start` up to `end`; `high` is that of a range, or the second of a result.

    `soft` ones ("a year") count only where the other text has one to compare.
    """

    kind: str
    low: Values
    start: int
    end: int
    high: Values = frozenset()
    bound: str = ""
    noun: str = ""
    soft: bool = False
    factor: float = 1.0  # of its unit

    @property
    def is_range(self) -> bool:
        return bool(self.high)

    @property
    def ends(self) -> "tuple[Quantity, ...]":
        """The two of a range or of a result."""
        if not self.high:
            return ()
        kind = COUNT if self.kind == RESULT else self.kind
        return tuple(self._replace(kind=kind, low=end, high=frozenset()) for end in (self.low, self.high))

    @property
    def numbers(self) -> frozenset[float]:
        """Its values, dates apart."""
        return plain_numbers(self.low)

    @property
    def date(self) -> Date | None:
        """Its first reading as a date."""
        return min((value for value in self.low if isinstance(value, Date)), key=str, default=None)


def plain_numbers(values: Values) -> frozenset[float]:
    return frozenset(value for value in values if not isinstance(value, Date))


def times(values: Iterable[float], factor: float) -> frozenset[float]:
    return frozenset(value * factor for value in values)


def kind_word(kind: str) -> str:
    """What a slot is called in a report."""
    return {CLOCK: "time", DATE: "date", DAYS: "date"}.get(kind, "number")


# Two quantities compared.


_OPPOSED = ({"least", "most"}, {"above", "below"}, {"least", "below"}, {"most", "above"})


def relation(claim: Quantity, source: Quantity) -> str:
    """SAME, DIFFERS, or OTHER where the two say nothing about each other."""
    claim, source = _of_one_kind(claim, source)
    if claim.kind == COUNT and source.kind == RESULT and not claim.is_range:
        return SAME if any(relation(claim, end) == SAME for end in source.ends) else OTHER
    if claim.kind != source.kind or claim.is_range != source.is_range:
        return OTHER
    if claim.kind == DAYS:
        return _days_relation(claim.low, source.low)
    if claim.kind == DATE:
        return _dates_relation(claim, source)
    return _values_relation(claim, source)


def _values_relation(claim: Quantity, source: Quantity) -> str:
    equal = _meet(claim.low, source.low, claim.kind) and (
        not claim.is_range or _meet(claim.high, source.high, claim.kind)
    )
    if _exact(claim.bound) != _exact(source.bound):
        return DIFFERS if {claim.bound, source.bound} in _OPPOSED and equal else OTHER
    if claim.kind == COUNT and not claim.is_range and not _count_alike(claim, source, equal):
        return OTHER
    return SAME if equal else DIFFERS


def _count_alike(claim: Quantity, source: Quantity, equal: bool) -> bool:
    """Two counts differ only where both say what they count, or neither does; an equal one may leave it out."""
    if claim.noun and source.noun:
        return _is_one_family(claim.noun, source.noun)
    return equal or not (claim.noun or source.noun)


def _of_one_kind(claim: Quantity, source: Quantity) -> tuple[Quantity, Quantity]:
    """A bare number beside a time of day is an hour: "from 9 to 17"."""
    if {claim.kind, source.kind} != {COUNT, CLOCK} or claim.is_range != source.is_range:
        return claim, source
    if claim.kind == COUNT and claim.noun and not claim.is_range:
        return claim, source
    return _as_clock(claim), _as_clock(source)


def _as_clock(one: Quantity) -> Quantity:
    if one.kind == CLOCK:
        return one
    return one._replace(kind=CLOCK, low=frozenset(_hours(one.low)), high=frozenset(_hours(one.high)))


def _hours(values: Values) -> Iterator[float]:
    for value in plain_numbers(values):
        if 0 < value <= 24:
            yield value * 60
            if value <= 12:
                yield value * 60 % NOON + NOON


def _exact(bound: str) -> str:
    return "" if bound == "about" else bound


def _meet(one: Values, other: Values, kind: str) -> bool:
    if kind == CLOCK:
        return bool(one & other)
    slack = _CLOSE_SHARE if kind == "percent" else _CLOSE
    pairs = ((a, b) for a in plain_numbers(one) for b in plain_numbers(other))
    return any(abs(a - b) <= slack * max(abs(a), abs(b)) for a, b in pairs)


def _days_relation(claim: Values, source: Values) -> str:
    if claim <= source:
        return SAME
    return OTHER if claim & source else DIFFERS


def _dates_relation(claim: Quantity, source: Quantity) -> str:
    """A year of a whole date is the same; a day that the source does not name is not."""
    ends = {_nearest_dates(claim.low, source.low)}
    if claim.is_range:
        ends.add(_nearest_dates(claim.high, source.high))
    if ends == {SAME}:
        return SAME if _exact(claim.bound) == _exact(source.bound) else OTHER
    return DIFFERS if DIFFERS in ends else OTHER


def _nearest_dates(claim: Values, source: Values) -> str:
    """Of all readings those that fit best."""
    pairs = ((a, b) for a in claim for b in source)
    found = {_date_relation(a, b) for a, b in pairs if isinstance(a, Date) and isinstance(b, Date)}
    return next((one for one in (SAME, OTHER, DIFFERS) if one in found), OTHER)


def _date_relation(claim: Date, source: Date) -> str:
    said = [(a, b) for a, b in zip(claim, source, strict=True) if a is not None]
    if any(b is not None and a != b for a, b in said):
        return DIFFERS
    return SAME if all(b is not None for _, b in said) else OTHER


def _is_one_family(one: str, other: str) -> bool:
    return one == other or (min(len(one), len(other)) >= 4 and (one.startswith(other) or other.startswith(one)))
