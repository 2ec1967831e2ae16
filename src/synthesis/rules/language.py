"""Languages: how their text falls into words and sentences, and which of them a text is in.

Detection is deterministic, and its result says how it was reached. Scripts decide alone where they can: kana is
Japanese, Devanagari is Hindi, Han without kana is Chinese. Latin text is decided by words: each language has a list of
its most common ones, and so have some neighbours that we have no rules for, so that German is not taken for English.
A text with evidence of none of ours is `und`.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

# `\w` alone splits Hindi words at vowel signs and words with combining accents; the danda is not a letter.
WORD_CHARACTERS = r"\w\u0300-\u036f\u0900-\u0963\u0966-\u097f"

UNDETERMINED = "und"

LOOKED_AT = 300  # characters: the beginning of a message tells its language
FEWEST_WORDS = 3  # a text of fewer words may tell nothing
LEAST_SHARE = 0.15  # of the words must be common words of the language
PLAIN_SHARE = 0.4  # of the different words: settles it for the default language
CLEAR_SHARE = 0.6  # needs no look at the neighbours
_words_of = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?").findall
_NOT_LATIN = re.compile(r"[\u0370-\u1cff\u3040-\ud7af\uff66-\uff9f]")
_OTHER_SCRIPT = re.compile(r"[\u0370-\u03ff\u0400-\u052f\u0530-\u08ff\u0980-\u1cff\uac00-\ud7af]")
_KANA = re.compile(r"[\u3040-\u30ff\uff66-\uff9f]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_DEVANAGARI = re.compile(r"[\u0900-\u097f]")


@dataclass(frozen=True, slots=True)
class Language:
    """How the text of one language falls into words and sentences."""

    code: str
    name: str
    spaced: bool = True
    abbreviations: frozenset[str] = frozenset()

    @property
    def stops(self) -> str:
        """Characters that end a sentence by themselves; elsewhere a mark needs white space behind it."""
        return "\n।" if self.spaced else "\n।。!?"


def _abbreviations(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ENGLISH = "dr mr mrs ms prof st vs e.g i.e approx dept inc no"

LANGUAGES = {
    language.code: language
    for language in (
        Language("en", "English", abbreviations=_abbreviations(_ENGLISH)),
        Language("es", "Spanish", abbreviations=_abbreviations("sr sra srta dr dra ud uds p.ej aprox núm")),
        Language("it", "Italian", abbreviations=_abbreviations("sig dott dr prof ecc es pag")),
        Language("fr", "French", abbreviations=_abbreviations("m mme mlle dr pr p.ex env")),
        Language("pt", "Portuguese", abbreviations=_abbreviations("sr sra dr dra prof p.ex aprox")),
        Language("ja", "Japanese", spaced=False),
        Language("zh", "Chinese", spaced=False),
        Language("hi", "Hindi", abbreviations=_abbreviations("डॉ श्री")),
    )
}


def language_of(code: str) -> Language:
    """The language of a code; a code that is none of ours still has words and sentences."""
    return LANGUAGES.get(code) or Language(code, code)


def primary(code: str) -> str:
    """The language of a code with a region or in capitals: `pt` of `pt-BR`, `en` of `EN_us`."""
    return code.replace("_", "-").split("-")[0].lower()


class Detected(NamedTuple):
    """A language code and how it was decided: declared, script, words, too short, or no evidence."""

    language: str
    how: str


class CommonWords(NamedTuple):
    """The most common words by language: of those we have rules for, and of neighbours that could be mistaken."""

    ours: dict[str, frozenset[str]]
    neighbours: dict[str, frozenset[str]]


@cache
def all_common_words() -> CommonWords:
    """What the language of a text is decided by."""
    # Imported here, since the command line asks for languages before it knows whether any text will be read.
    from synthesis.rules.yaml_reader import load_yaml

    sections: dict[str, dict[str, str]] = load_yaml(Path(__file__).with_name("common_words.yaml"))
    as_sets = ({code: frozenset(words.split()) for code, words in lists.items()} for lists in sections.values())
    return CommonWords(*as_sets)


def common_words(language: str) -> frozenset[str]:
    """The most common words of a language; none for those that their script tells apart."""
    return all_common_words().ours.get(language, frozenset())


def detect(text: str, default: str = "en") -> Detected:
    """The language of a text; `default` only for one that is too short to tell."""
    beginning = text[:LOOKED_AT]
    if not beginning.isascii() and _NOT_LATIN.search(beginning):
        by_script = _by_script(beginning)
        if by_script:
            return Detected(by_script, "script")
    lowered = beginning.lower().replace("’", "'")
    if _is_plainly(default, lowered):
        return Detected(default, "words")
    return _by_words(_words_of(lowered), default)


def _is_plainly(language: str, lowered: str) -> bool:
    """A quick look that settles most texts in the default language, and never one in another."""
    words = set(lowered.split())
    common = common_words(language)
    return len(words) > FEWEST_WORDS and len(words & common) >= PLAIN_SHARE * len(words)


def _by_script(text: str) -> str | None:
    """The language of the script that most letters are in; None for Latin."""
    letters = sum(char.isalpha() for char in text)
    if not letters:
        return None
    kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
    if (kana + han) * 2 > letters or kana * 3 >= letters:  # brand names in Latin letters are common in Japanese
        return "ja" if kana * 20 >= han else "zh"
    if len(_DEVANAGARI.findall(text)) * 2 > letters:
        return "hi"
    return UNDETERMINED if len(_OTHER_SCRIPT.findall(text)) * 2 > letters else None


def _by_words(words: list[str], default: str) -> Detected:
    ours, neighbours = all_common_words()
    votes = {language: sum(map(common.__contains__, words)) for language, common in ours.items()}
    most = max(votes.values())
    if most and most >= CLEAR_SHARE * len(words):
        return Detected(_preferred(votes, most, default), "words")
    if len(words) < FEWEST_WORDS and most == votes.get(default, 0):
        return Detected(default, "too short")
    foreign = max(sum(map(common.__contains__, words)) for common in neighbours.values())
    if foreign > most or most < LEAST_SHARE * len(words):
        return Detected(UNDETERMINED, "no evidence")
    return Detected(_preferred(votes, most, default), "words")


def _preferred(votes: dict[str, int], most: int, default: str) -> str:
    """Of languages with equal votes the default, else the first by code."""
    best = [language for language, count in votes.items() if count == most]
    return default if default in best else min(best)
