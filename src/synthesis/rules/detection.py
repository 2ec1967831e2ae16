"""Detects the language of each message of a conversation, by the words that packs list for it.

A script decides where it can: kana is Japanese, Devanagari is Hindi, Han without kana is Chinese. Elsewhere each word
gives evidence: a listed word speaks for the languages that list it, any other word, more quietly, for those whose
typical letters it has. The whole conversation is read together; one message differs only on clear evidence of its own.
Neighbours without a pack are known by their words as well, so that Dutch is not taken for English: they are `und`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from synthesis.documents import Field, load_yaml
from synthesis.lazy import regex
from synthesis.rules.schema import DetectionWords, Pack
from synthesis.rules.text import UNDETERMINED

NEIGHBOURS = Path(__file__).with_name("common_words.yaml")
LOOKED_AT = 200  # characters: the beginning of a message tells its language
FEWEST_WORDS = 3  # in fewer words only listed ones are evidence
LEAST_SHARE = 0.14  # of the evidence that words of the language itself would give
LEAD = 1.2  # evidence by which a message must speak for another language than its conversation's,
LEAD_SHARE = 0.2  # and for each of its words: names and code give a little for any language
SHARED = 0.5  # exponent: how much less a word tells that several languages list
BY_LETTERS = 0.3  # the evidence of a word that is not listed
LONGEST_PART = 7
MOST_REMEMBERED = 10_000
HAN_ALONE = 12  # characters without kana that may still be Japanese, in a Japanese conversation
LETTERS_OF_A_WORD = 2  # in scripts without spaces

_WORDS = regex(r"[^\W\d_]+(?:'[^\W\d_]+)?|[¿¡]")
_NOT_LATIN = regex(r"[\u0370-\u1cff\u3040-\ud7af\uff66-\uff9f]")
_OTHER_SCRIPT = regex(r"[\u0370-\u03ff\u0400-\u052f\u0530-\u08ff\u0980-\u1cff\uac00-\ud7af]")
_KANA = regex(r"[\u3040-\u30ff\uff66-\uff9f]")
_HAN = regex(r"[\u3400-\u9fff]")
_DEVANAGARI = regex(r"[\u0900-\u097f]")
_WORD = regex(r"[^\d\s-]+")
_PART = regex(r"-?[^\d\s-]{1,6}|[^\d\s-]{1,6}-")

Weights = tuple[tuple[str, float], ...]


class Detected(NamedTuple):
    """A language code and how it was decided: declared, script, words, conversation, too short, or no evidence."""

    language: str
    how: str


class _Evidence(NamedTuple):
    """What a text says for each language: weights of its words, how many words it has, and its script's language."""

    weights: Mapping[str, float]
    words: int
    script: str | None = None


class Detector:
    """Tells the languages of the packs in force apart, and from their neighbours."""

    def __init__(self, ours: Mapping[str, DetectionWords], others: Mapping[str, DetectionWords] | None = None) -> None:
        self.ours = frozenset(ours)
        others = neighbours() if others is None else others
        known = [*ours.items(), *others.items()]  # a pack for a neighbour adds its words to those known here
        self.words = _shared((code, detection.words) for code, detection in known)
        self.parts = _shared((code, map(_with_edges, detection.parts)) for code, detection in known)
        self._guessed: dict[str, Weights] = {}

    def detect(self, text: str, default: str = "en") -> Detected:
        """The language of a text by itself; `default` only for one that is too short to tell."""
        return self._decided(self._evidence(text), default)

    def conversation(self, texts: Sequence[str], default: str = "en") -> list[Detected]:
        """The language of each message, decided by all of them together."""
        evidence = [self._evidence(text) for text in texts]
        alone = [self._decided(each, default) for each in evidence]
        if len({detected.language for detected in alone}) <= 1:
            return alone
        together = self._decided(_sum(evidence), default)
        return [self._beside(together.language, *each) for each in zip(evidence, alone, strict=True)]

    def _beside(self, together: str, evidence: _Evidence, alone: Detected) -> Detected:
        """The language of one message of a conversation in the language `together`."""
        if alone.language == together or self._is_clear(evidence, alone, together):
            return alone
        return Detected(together, "conversation")

    def _is_clear(self, evidence: _Evidence, alone: Detected, together: str) -> bool:
        """Whether a message is in another language than the rest of its conversation."""
        if evidence.script:
            return (evidence.script, together) != ("zh", "ja") or evidence.words * LETTERS_OF_A_WORD > HAN_ALONE
        if alone.how != "words":
            return False
        theirs = [weight for code, weight in evidence.weights.items() if self._public(code) == together]
        lead = max(evidence.weights.values()) - max(theirs, default=0.0)
        return lead >= max(LEAD, LEAD_SHARE * evidence.words)

    def _public(self, code: str) -> str:
        return code if code in self.ours else UNDETERMINED

    def _evidence(self, text: str) -> _Evidence:
        beginning = text[:LOOKED_AT]
        if not beginning.isascii() and _NOT_LATIN.search(beginning):
            script, letters = _by_script(beginning)
            # A pack for a script that is not known here is recognised by its words.
            if script and (script != UNDETERMINED or self.words.keys().isdisjoint(_WORDS.findall(beginning.lower()))):
                return _Evidence({script: letters / LETTERS_OF_A_WORD}, letters // LETTERS_OF_A_WORD, script)
        words = _WORDS.findall(beginning.lower().replace("’", "'"))
        weights: dict[str, float] = defaultdict(float)
        listed, by_letters = self.words, self._by_letters if len(words) >= FEWEST_WORDS else _nothing
        for word in words:
            for code, weight in listed.get(word) or by_letters(word):
                weights[code] += weight
        return _Evidence(weights, len(words))

    def _by_letters(self, word: str) -> Weights:
        """The evidence of a word that no language lists; the likeliest language gets most."""
        if word not in self._guessed:
            if len(self._guessed) >= MOST_REMEMBERED:
                self._guessed.clear()
            self._guessed[word] = self._guess(f"^{word}$")
        return self._guessed[word]

    def _guess(self, word: str) -> Weights:
        found: dict[str, float] = defaultdict(float)
        for start in range(len(word)):
            for end in range(start + 1, min(start + LONGEST_PART, len(word)) + 1):
                for code, weight in self.parts.get(word[start:end], ()):
                    found[code] += weight * (end - start)
        most = max(found.values(), default=0.0)
        return tuple((code, BY_LETTERS * weight / most) for code, weight in found.items())

    def _decided(self, evidence: _Evidence, default: str) -> Detected:
        weights, words, script = evidence
        if script:
            return Detected(self._public(script), "script")
        most = max(weights.values(), default=0.0)
        if not most or most < LEAST_SHARE * words:
            return Detected(default, "too short") if words < FEWEST_WORDS else Detected(UNDETERMINED, "no evidence")
        best = [code for code, weight in weights.items() if weight > most - 1e-9]
        if default in best:
            return Detected(default, "words")
        return Detected(self._public(min(best, key=lambda code: (code not in self.ours, code))), "words")


def read_detection(field: Field | None, below: Pack | None) -> DetectionWords:
    """The words and parts of words that a pack brings, on top of those of the pack below."""
    inherited = below.detection if below else DetectionWords()
    lists = field.mapping(("words", "parts")) if field else {}
    words = _checked(lists["words"], _WORD) if "words" in lists else ()
    parts = _checked(lists["parts"], _PART) if "parts" in lists else ()
    return DetectionWords((*inherited.words, *words), (*inherited.parts, *parts))


def _checked(field: Field, form: re.Pattern[str]) -> tuple[str, ...]:
    """The entries of a list, in lower case as texts are compared."""
    entries = tuple(entry for text in field.texts() for entry in text.split())
    for entry in entries:
        if not form.fullmatch(entry) or entry != entry.lower():
            hint = "Write words like `nicht`, parts like `-ung`, `ge-` or `sch`, of at most 6 letters, in lower case."
            field.fail(f"'{entry}' cannot be looked for", hint=hint)
    return entries


@cache
def neighbours() -> dict[str, DetectionWords]:
    """The words of languages that could be mistaken for one of ours, and have no pack of their own here."""
    lists: dict[str, dict[str, str]] = load_yaml(NEIGHBOURS)
    return {
        code: DetectionWords(tuple(own["words"].split()), tuple(own["parts"].split())) for code, own in lists.items()
    }


def _nothing(_: str) -> Weights:
    return ()


def _shared(lists: Iterable[tuple[str, Iterable[str]]]) -> dict[str, Weights]:
    """Each entry with the languages that list it; the more they are, the less it says for each."""
    languages: dict[str, set[str]] = defaultdict(set)
    for code, entries in lists:
        for entry in entries:
            languages[entry].add(code)
    return {entry: tuple((code, len(codes) ** -SHARED) for code in sorted(codes)) for entry, codes in languages.items()}


def _with_edges(part: str) -> str:
    """`-zione` as an ending, `ge-` as a beginning, anything else anywhere in a word."""
    if part.startswith("-"):
        return f"{part[1:]}$"
    return f"^{part[:-1]}" if part.endswith("-") else part


def _sum(evidence: Sequence[_Evidence]) -> _Evidence:
    weights: dict[str, float] = defaultdict(float)
    for each in evidence:
        for code, weight in each.weights.items():
            weights[code] += weight
    return _Evidence(weights, sum(each.words for each in evidence))


def _by_script(text: str) -> tuple[str | None, int]:
    """The language of the script that most letters are in, None where words decide, and the number of letters."""
    letters = sum(char.isalpha() for char in text)
    kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
    if (kana + han) * 3 > letters or kana * 3 >= letters > 0:  # brand names in Latin letters are common in Japanese
        return ("ja" if kana * 20 >= han else "zh"), letters
    if len(_DEVANAGARI.findall(text)) * 2 > letters:
        return "hi", letters
    return (UNDETERMINED if len(_OTHER_SCRIPT.findall(text)) * 2 > letters else None), letters
