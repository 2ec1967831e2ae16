"""The words that the offline judge knows, by language: `lexicon.yaml` and `units.yaml`, read once."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

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


class _File(msgspec.Struct, frozen=True):
    """One language as it is written in `lexicon.yaml`."""

    function: str
    light: str
    negations: str
    harmless: str
    opposites: list[str]
    same: list[str]
    quantifiers: dict[str, str]
    bounds: dict[str, str]
    ranges: str
    months: str
    weekdays: str
    day_groups: dict[str, str | int]
    numbers: dict[str, float]
    ordinals: dict[str, float]
    one: str
    number_joints: str
    fractions: dict[str, float]
    half: str
    clock: dict[str, int]
    clock_words: dict[str, int]
    day_parts: dict[str, int]
    clock_past: str
    clock_to: str
    clock_parts: dict[str, int]
    unsaid: str
    joints: str
    pronouns: str
    compound: dict[str, float] = {}
    clock_before: str = ""
    clock_half_before: str = ""


class Lexicon(NamedTuple):
    """One language, its phrases cut into words."""

    name: str
    function: frozenset[str]
    light: frozenset[str]  # families of words that carry little by themselves
    negations: frozenset[str]
    harmless: tuple[Phrase, ...]  # phrases with a negation that denies nothing
    opposites: Mapping[Phrase, frozenset[Phrase]]
    same: Mapping[str, frozenset[str]]  # by family: the families that mean the same
    quantifiers: Mapping[Phrase, str]
    bounds: Mapping[Phrase, str]
    ranges: frozenset[str]
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    day_groups: Mapping[Phrase, frozenset[int]]
    numbers: Mapping[str, float]
    ordinals: Mapping[str, float]
    compound: Mapping[str, float]
    one: frozenset[str]
    number_joints: frozenset[str]
    fractions: Mapping[str, float]
    half: tuple[Phrase, ...]
    clock: Mapping[str, int]
    clock_words: Mapping[str, int]
    day_parts: Mapping[Phrase, int]
    clock_before: frozenset[str]
    clock_past: str
    clock_to: str
    clock_half_before: str
    clock_parts: Mapping[str, int]
    unsaid: tuple[Phrase, ...]
    joints: re.Pattern[str]  # between two clauses
    joint_words: frozenset[str]
    pronouns: frozenset[str]  # none where a sentence needs no subject


@cache
def lexicon(language: str) -> Lexicon:
    """Raises KeyError for a language that is not one of LANGUAGES."""
    return _lexicon(language, _files()[language])


@cache
def _files() -> dict[str, _File]:
    return msgspec.convert(load_yaml(Path(__file__).with_name("lexicon.yaml")), dict[str, _File])


@cache
def units() -> Mapping[str, tuple[str, float]]:
    """By word: what it measures, and the factor to the first unit of that kind."""
    kinds = msgspec.convert(load_yaml(Path(__file__).with_name("units.yaml")), dict[str, dict[float, str]])
    return {
        word: (kind, factor) for kind, words in kinds.items() for factor, text in words.items() for word in text.split()
    }


def _lexicon(name: str, file: _File) -> Lexicon:
    return Lexicon(
        name=name,
        function=frozenset(file.function.split()),
        light=frozenset(family(word, name) for word in file.light.split()),
        negations=frozenset(" ".join(phrase) for phrase in _phrases(file.negations)),
        harmless=tuple(_phrases(file.harmless)),
        opposites=_opposites(file.opposites),
        same=_same(file.same, name),
        quantifiers=_classes(file.quantifiers),
        bounds=_classes(file.bounds),
        ranges=frozenset(word for phrase in _phrases(file.ranges) for word in phrase),
        months=_numbered(file.months, 1),
        weekdays=_numbered(file.weekdays, 0),
        day_groups={tuple(words.split()): frozenset(map(int, str(days))) for words, days in file.day_groups.items()},
        numbers=file.numbers,
        ordinals=file.ordinals,
        compound={word: value for word, value in (file.numbers | file.compound).items() if value >= 1},
        one=frozenset(word for phrase in _phrases(file.one) for word in phrase),
        number_joints=frozenset(file.number_joints.split()),
        fractions=file.fractions,
        half=tuple(_phrases(file.half)),
        clock=file.clock,
        clock_words=file.clock_words,
        day_parts={tuple(words.split()): value for words, value in file.day_parts.items()},
        clock_before=frozenset(word for phrase in _phrases(file.clock_before) for word in phrase),
        clock_past=file.clock_past,
        clock_to=file.clock_to,
        clock_half_before=file.clock_half_before,
        clock_parts=file.clock_parts,
        unsaid=tuple(_phrases(file.unsaid)),
        joint_words=frozenset(file.joints.split()),
        pronouns=frozenset(file.pronouns.split()),
        joints=regex(rf"\s*(?:;|[,–—]\s*(?:{'|'.join(re.escape(word) for word in file.joints.split())})\s)\s*", re.I),
    )


def _phrases(text: str) -> Iterator[Phrase]:
    return (tuple(part.split()) for part in text.split(",") if part.strip())


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


def _same(lines: Iterable[str], language: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in lines:
        words = frozenset(family(" ".join(phrase), language) for phrase in _phrases(line) if len(phrase) == 1)
        for word in words:
            found[word] = found.get(word, frozenset()) | words
    return found


def _numbered(text: str, start: int) -> dict[str, int]:
    groups = enumerate(text.split("/"), start)
    return {word: number for number, words in groups for word in words.split()}


# The family of a word: what its forms have in common.


_ACCENTS = str.maketrans("äöüáéíóúñàèìòùâêîôûç", "aouaeiounaeiouaeiouc")
_ENDINGS = {
    "de": ("ungen", "enden", "ende", "test", "ten", "tet", "ung", "ern", "est", "en", "er", "es", "em", "te", "st", "et", "e", "n", "s", "t"),
    "es": ("aciones", "ación", "amientos", "amiento", "adores", "ador", "ieron", "aron", "ando", "iendo", "adas", "ados", "idas", "idos", "ada", "ado", "ida", "ido", "emos", "amos", "ará", "erá", "irá", "aba", "ía", "es", "as", "os", "an", "en", "ar", "er", "ir", "ó", "é", "a", "o", "e", "s"),
}  # fmt: skip


@cache
def family(word: str, language: str) -> str:
    """The word without its commonest endings and accents."""
    if language == "th":
        return word
    if language == "en":
        return stem(word)
    if language == "de" and word.startswith("ge") and len(word) > 6:
        word = word[2:]
    for ending in _ENDINGS.get(language, ()):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            break
    return word.translate(_ACCENTS).replace("ß", "ss")


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
