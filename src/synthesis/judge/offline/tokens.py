"""Text becomes comparable words: stems, numbers, codes; in scripts without spaces, segments or pairs of characters."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from synthesis.judge.offline.segmentation import LETTERS, words_in
from synthesis.judge.offline.words import FUNCTION_WORDS, NUMBER_WORDS

# Kana and Han: written without spaces, and told apart well enough by pairs of characters.
_PAIRED = "\u3005\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SPACELESS = LETTERS + _PAIRED
# Signs that belong to the word around them although `re` does not count them as letters.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0971-\u0dff\u0f00-\u0fff\u200c\u200d"
)
_LETTER = rf"(?:(?![{_SPACELESS}])(?:[^\W\d_]|[{_MARKS}]))"
_TOKEN = re.compile(
    rf"(?P<code>[A-Za-z]+-?\d[A-Za-z\d]*(?:-[A-Za-z\d]+)*)"
    rf"|(?P<number>\d+(?:[.,]\d+)*)"
    rf"|(?P<paired>[{_PAIRED}]+)"
    rf"|(?P<unspaced>[{LETTERS}]+)"
    rf"|(?P<word>{_LETTER}+(?:'{_LETTER}+)*)"
)
# `1, 000` and `7. 6 billion`: numbers as some text extractors leave them.
_BROKEN_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3},) (?=\d{3}(?!\d))")
_BROKEN_DECIMAL = re.compile(r"(?<![\d.,])(\d{1,3}\.) (?=\d{1,2} ?(?:million|billion|trillion|per ?cent|%))", re.I)
_PERHAPS_DECIMAL = re.compile(r"(?<![\d.,])(\d{1,3})\. (\d{1,2})(?!\d)")
_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u200b": "", "\ufeff": "", "\u00ad": ""})
_SUFFIXES = ("ing", "edly", "ed", "ly", "ment", "s", "er", "e")
SAME_WORD_PREFIX = 5


class Token(NamedTuple):
    """One word as it is compared (`stem`) and as it is shown (`text`)."""

    text: str
    stem: str
    kind: str
    start: int  # in the text it was cut from

    @property
    def is_content(self) -> bool:
        """Carries meaning of its own: neither a function word nor a possessive ending."""
        return self.stem not in FUNCTION_WORDS and self.text.lower() not in FUNCTION_WORDS


def normalise(text: str) -> str:
    """One form for what looks the same: full-width forms, quotes, invisible characters, broken numbers."""
    return _BROKEN_DECIMAL.sub(r"\1", _BROKEN_THOUSANDS.sub(r"\1", fold_characters(text)))


def fold_characters(text: str) -> str:
    """Full-width forms, quotes and invisible characters in one form."""
    return unicodedata.normalize("NFKC", text).translate(_QUOTES)


def tokenise(text: str) -> list[Token]:
    """The words of a normalised text, in order."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind, found = str(match.lastgroup), match.group()
        if kind == "paired":
            tokens.extend(_character_pairs(found, match.start()))
        elif kind == "unspaced":
            tokens.extend(Token(word, word, "segment", match.start() + at) for at, word in words_in(found))
        elif kind == "word":
            tokens.extend(_word_tokens(found, match.start()))
        else:
            stem = plain_number(found) if kind == "number" else found.lower().replace("-", "")
            tokens.append(Token(found, stem, kind, match.start()))
    return tokens


def _word_tokens(found: str, start: int) -> list[Token]:
    return [Token(text, stem, kind, start + at) for at, text, stem, kind in _word_parts(found)]


@lru_cache(maxsize=65536)
def _word_parts(found: str) -> tuple[tuple[int, str, str, str], ...]:
    """A word; a possessive ending is a part of its own, so that the name before it still matches."""
    lowered = found.lower()
    if lowered.endswith("'s") and len(found) > 2:
        return (*_word_parts(found[:-2]), (len(found) - 2, found[-2:], "'s", "word"))
    return ((0, found, stem(lowered), "number-word" if lowered in NUMBER_WORDS else "word"),)


def _character_pairs(run: str, start: int) -> list[Token]:
    starts = range(max(1, len(run) - 1))
    return [Token(run[at : at + 2], run[at : at + 2], "pair", start + at) for at in starts]


def joined(tokens: Iterable[Token]) -> list[str]:
    """The tokens as shown to a reader, each once; what was cut from one piece becomes one piece again."""
    shown: list[str] = []
    before, end = "", -1
    for token in tokens:
        overlap = 1 if token.kind == "pair" else 0
        if token.kind == before and token.kind in ("pair", "segment") and token.start == end - overlap:
            shown[-1] += token.text[overlap:]
        else:
            shown.append(token.text)
        before, end = token.kind, token.start + len(token.text)
    return list(dict.fromkeys(shown))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The word without its commonest English endings; short words stay as they are."""
    if len(word) <= 3:
        return word
    base = word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else _cut_suffix(word)
    return base[:-1] if len(base) > 3 and base[-1] == base[-2] else base


def _cut_suffix(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not (suffix == "s" and word.endswith("ss")):
            return word[: -len(suffix)]
    return word


def plain_number(found: str) -> str:
    """`1,050.50` and `1050.5` are one number; digits of every script are."""
    digits = "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in found)
    digits = re.sub(r",(?=\d{3}(?:\D|$))", "", digits)
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def number_value(token: Token) -> str:
    """The value of a figure or a number word."""
    return NUMBER_WORDS[token.text.lower()] if token.kind == "number-word" else token.stem


def perhaps_decimals(text: str) -> set[str]:
    """`122. 5` may be two sentences that meet, or a broken 122.5: allow the number as known."""
    return {plain_number(f"{whole}.{part}") for whole, part in _PERHAPS_DECIMAL.findall(text)}


SAMPLE = 2000  # characters are enough
ENGLISH_SHARE = 0.15  # of function words; running English has about twice that


def language_of(text: str) -> str:
    """`english`, else the prevailing script in lower case (`thai`, `cjk`, `latin`), else `none`."""
    sample = normalise(text[:SAMPLE])
    scripts = Counter(unicodedata.name(char, "none").split()[0].lower() for char in sample if char.isalpha())
    if not scripts:
        return "none"
    script = min(scripts, key=lambda name: (-scripts[name], name))
    words = [token.text.lower() for token in tokenise(sample) if token.kind == "word"]
    english = sum(word in FUNCTION_WORDS for word in words) >= ENGLISH_SHARE * len(words)
    return "english" if script == "latin" and words and english else script
