"""The words that the offline judge knows, by language: `lexicon.yaml` and `units.yaml`, read once."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from synthesis.documents import load_yaml
from synthesis.io import PACKS
from synthesis.judge.offline.text import script_of, stem
from synthesis.lazy import regex
from synthesis.rules.detection import Detector, neighbours
from synthesis.rules.loader import detection_words, language_folders

LANGUAGES = ("en", "de", "es", "th")  # those whose negations, numbers and quantifiers are known
FAMILY_PREFIX = 5  # letters that two words of one family share at least
Phrase = tuple[str, ...]


# How the entries are written. In a set of phrases a comma stands between two of them.


class Terms(frozenset[str]):
    """`a b c`: single words."""


class Families(frozenset[str]):
    """`a b c`: words of which only the family counts."""


class Alike(dict[str, frozenset[str]]):
    """Lines of words that mean the same, by the family of each."""


class Phrases(frozenset[Phrase]):
    """`a b, c`: runs of words."""


class Opposites(dict[Phrase, frozenset[Phrase]]):
    """Lines `a, b / c`: to each phrase those of the other side."""


class Classes(dict[Phrase, str]):
    """By phrase the name of its class."""


class Shares(dict[Phrase, float]):
    """By phrase the part of a whole."""


class Minutes(dict[Phrase, int]):
    """By phrase the minutes since midnight."""


class Ambiguous(dict[Phrase, int | None]):
    """By phrase the minutes since midnight; None where it is not told which half of the day."""


class DayGroups(dict[Phrase, frozenset[int]]):
    """By phrase the days of the week, from 0 for Monday."""


class Months(dict[str, int]):
    """`a b / c`: by word its month, from 1."""


class Weekdays(dict[str, int]):
    """`a b / c`: by word its day, from 0 for Monday."""


class Lexicon(msgspec.Struct, frozen=True, eq=False, dict=True, kw_only=True, forbid_unknown_fields=True):
    """One language; what it does not have is left out of the file."""

    name: str
    function: Terms
    light: Families  # words that carry little by themselves
    before_names: Terms = Terms()  # titles, and words behind which a capital is that of a name
    pronouns: Terms = Terms()  # none where a sentence needs no subject
    passive: Terms = Terms()  # before who does it
    endings: str = ""  # of words, in the order in which they are tried
    negations: Phrases
    harmless: Phrases  # phrases with a negation that denies nothing
    opposites: Opposites
    same: Alike
    quantifiers: Classes
    unsaid: Phrases
    joints: Terms  # between two clauses
    replies: Terms  # yes and no

    bounds: Classes  # before an amount
    bounds_after: Classes
    ranges: Phrases  # between the two ends
    between: Terms  # before two ends that a conjunction joins
    conjunctions: Terms
    alternatives: Terms
    articles: Terms = Terms()  # before a day or an hour

    months: Months
    weekdays: Weekdays
    day_groups: DayGroups
    weekday_leads: Terms
    weekdays_need_lead: bool = False  # without one they are other words
    capitalised: Terms = Terms()  # months and weekdays that are other words without a capital
    date_joints: Terms = Terms()  # between day, month and year
    ordinal_signs: Terms = Terms()  # behind a figure: 8th
    day_after_month: bool = False  # December 24
    month_before_day: bool = False  # 12/24, beside 24/12
    short_dates: Terms = Terms()  # the signs of dates in figures that need no year
    eras: Terms = Terms()
    year_words: Terms = Terms()
    year_offset: int = 0  # how far the language's own years are ahead

    decimals: tuple[str, ...]  # signs that may begin the fraction of a figure such as 1.250
    numbers: dict[str, float]
    compound: dict[str, float] = {}  # numbers within others alone: twenty-one
    scales: Terms  # numbers below 100 that multiply what stands before them
    ordinals: dict[str, float] = {}
    one: Terms = Terms()  # a number or an article
    one_word_numbers: bool = False  # twenty-four is one word
    number_joints: Terms = Terms()  # within such a word
    tens_joints: Terms = Terms()
    hundreds_joints: Terms = Terms()
    fractions: Shares
    share_joints: Terms = Terms()  # three in four
    share_of: Terms = Terms()  # three quarters of an hour
    half: Phrases = Phrases()  # behind an amount
    versus: Terms = Terms()  # between the two counts of a vote

    clock: dict[str, int | None]  # behind an hour: the half of the day that it tells
    clock_durations: Terms = Terms()  # of these, those that measure durations as well
    day_hours: int  # 24 where an hour up to 12 is one of the morning
    minutes_follow: Terms = Terms()  # between hour and minutes
    clock_words: Minutes
    day_parts: Minutes = Minutes()  # behind an hour; 1440 is the night
    clock_before: Terms = Terms()  # articles of hours
    clock_past: str = ""
    clock_to: str = ""
    clock_half_before: str = ""
    clock_parts: dict[str, int] = {}
    hours_before: Minutes = Minutes()  # parts of the day that count hours of their own, and when they begin
    hours_after: Ambiguous = Ambiguous()
    hour_words: Terms = Terms()
    hour_exact: Terms = Terms()

    @cached_property
    def number_morphemes(self) -> dict[str, float]:
        """What numbers that are one word are made of, the longest first; nothing where they are several words."""
        if not self.one_word_numbers:
            return {}
        values = {word: value for word, value in (self.numbers | self.compound).items() if value >= 1}
        values |= dict.fromkeys(self.number_joints, 0.0)
        return {word: values[word] for word in sorted(values, key=len, reverse=True)}

    @cached_property
    def reply(self) -> re.Pattern[str]:
        """A yes or no before what is claimed; where words have no spaces, one behind it is enough."""
        words = "|".join(re.escape(word) for word in sorted(self.replies))
        end = r"[,.;:!–-]?\s+" if self.name == "th" else r"[,.;:!–-]\s*"
        return regex(rf"^(?:{words}){end}", re.I)

    @cached_property
    def clause_break(self) -> re.Pattern[str]:
        words = "|".join(re.escape(word) for word in sorted(self.joints))
        return regex(rf"\s*(?:;|[,–—]\s*(?:{words})\s)\s*", re.I)


@cache
def lexicon(language: str) -> Lexicon:
    """Raises KeyError for a language that is not one of LANGUAGES."""
    return msgspec.convert(_file()[language] | {"name": language}, Lexicon, dec_hook=partial(_entry, language))


@cache
def _file() -> dict[str, dict[str, Any]]:
    return msgspec.convert(load_yaml(Path(__file__).with_name("lexicon.yaml")), dict[str, dict[str, Any]])


def _entry(language: str, kind: type, written: Any) -> object:
    """An entry as its type says that it is written."""
    reader = _READERS[kind]
    return kind(reader(written, language) if kind in (Families, Alike) else reader(written))


def _phrases(text: str) -> Iterator[Phrase]:
    return (tuple(part.split()) for part in text.split(",") if part.strip())


def _by_phrase(table: Mapping[str, Any]) -> dict[Phrase, Any]:
    return {tuple(words.split()): value for words, value in table.items()}


def _classes(classes: Mapping[str, str]) -> dict[Phrase, str]:
    return {phrase: name for name, text in classes.items() for phrase in _phrases(text)}


def _opposites(lines: Iterable[str]) -> dict[Phrase, frozenset[Phrase]]:
    found: dict[Phrase, frozenset[Phrase]] = {}
    for line in lines:
        left, right = (frozenset(_phrases(side)) for side in line.split("/"))
        for side, other in ((left, right), (right, left)):
            for phrase in side:
                found[phrase] = found.get(phrase, frozenset()) | other
    return found


def _families(text: str, language: str) -> Iterator[str]:
    return (family(word, language) for word in text.split())


def _alike(lines: Iterable[str], language: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in lines:
        words = frozenset(family(" ".join(phrase), language) for phrase in _phrases(line) if len(phrase) == 1)
        for word in words:
            found[word] = found.get(word, frozenset()) | words
    return found


def _numbered(text: str, start: int) -> dict[str, int]:
    groups = enumerate(text.split("/"), start)
    return {word: number for number, words in groups for word in words.split()}


def _day_groups(table: Mapping[str, str | int]) -> dict[Phrase, frozenset[int]]:
    return {phrase: frozenset(map(int, str(days))) for phrase, days in _by_phrase(table).items()}


_READERS: dict[type, Callable[..., Any]] = {
    Terms: str.split,
    Families: _families,
    Alike: _alike,
    Phrases: _phrases,
    Opposites: _opposites,
    Classes: _classes,
    Shares: _by_phrase,
    Minutes: _by_phrase,
    Ambiguous: _by_phrase,
    DayGroups: _day_groups,
    Months: partial(_numbered, start=1),
    Weekdays: partial(_numbered, start=0),
}


# Units.


class Unit(NamedTuple):
    """What it measures, and the factor to the first unit of that kind."""

    kind: str
    factor: float


class Units(dict[str, Unit]):
    """By word."""

    def __init__(self, file: "_UnitFile") -> None:
        kinds = file.kinds.items()
        super().__init__(
            (word, Unit(kind, factor))
            for kind, words in kinds
            for factor, text in words.items()
            for word in text.split()
        )
        self.leading = {phrase: self["".join(phrase)] for phrase in _phrases(file.leading)}
        self.money = frozenset(file.money.split())
        self.time = frozenset(file.time.split())


class _UnitFile(msgspec.Struct, frozen=True):
    """`units.yaml`."""

    kinds: dict[str, dict[float, str]]
    leading: str
    money: str
    time: str


@cache
def units() -> Units:
    return Units(msgspec.convert(load_yaml(Path(__file__).with_name("units.yaml")), _UnitFile))


_ONE_ALPHABET = regex(r"[^\W\d_]+|[\u0e00-\u0e7f]+|.*'.*")


def abbreviations() -> list[str]:
    """Units, months, eras and halves of the day that have a sign or a digit in them: `m2`, `p.m`; the longest first."""
    words = {word for word in units() if len(word) > 1}
    for language in LANGUAGES:
        known = lexicon(language)
        words |= known.months.keys() | known.eras | known.clock.keys()
    return sorted((word for word in words if not _ONE_ALPHABET.fullmatch(word)), key=lambda word: (-len(word), word))


# The family of a word: what its forms have in common.


_ACCENTS = str.maketrans("äöüáéíóúñàèìòùâêîôûç", "aouaeiounaeiouaeiouc")


@cache
def family(word: str, language: str) -> str:
    """The word without its commonest endings and accents."""
    if language == "th":
        return word
    if language == "en":
        return stem(word)
    if language == "de" and word.startswith("ge") and len(word) > 6:
        word = word[2:]
    for ending in _endings(language):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            break
    return word.translate(_ACCENTS).replace("ß", "ss")


@cache
def _endings(language: str) -> list[str]:
    """Read apart from the lexicon, which has families of its own."""
    return str(_file()[language].get("endings", "")).split()


# Which of these languages a text is in.


def shared_language(answer: str, context: str) -> str | None:
    """The language of both: one of LANGUAGES, "" for another one, None where they differ.

    A short answer is in its context's language unless it clearly is not.
    """
    if script_of(answer) == script_of(context) == "thai":
        return "th"
    theirs, mine = (found.language for found in _detector().conversation([context, answer], default=""))
    if mine != theirs:
        return None
    return mine if mine in LANGUAGES else ""


@cache
def _detector() -> Detector:
    packs = {folder.name: detection_words(folder) for folder in language_folders(PACKS)}
    return Detector(packs | {code: words for code, words in neighbours().items() if code in LANGUAGES})
