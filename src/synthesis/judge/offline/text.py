"""Text as the offline judge compares it: words and tokens of any script, and quotes found again."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from synthesis.lazy import regex

# Words of scripts that only a dictionary can divide: Thai, Lao, Burmese, Khmer. ICU does it, through the package icu4py
# (the extra `segmentation`). Pairs of characters do not: in these scripts most pairs of one text are in any other.


# Letters, vowel signs and tone marks, without digits and punctuation.
LETTERS = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0ecf\u1000-\u103f\u1050-\u109f\u1780-\u17d3"


@cache
def can_segment() -> bool:
    """Whether the extra is installed."""
    try:
        import icu4py.breakers  # noqa: F401
    except ImportError:
        return False
    return True


def words_in(run: str) -> Iterator[tuple[int, str]]:
    """Each word of a run of such letters with its place; the run as it is where the extra is missing."""
    if not can_segment():
        yield 0, run  # a stray name in a text of another script, see `refuse_incomparable`
        return
    from icu4py.breakers import WordBreaker

    at = 0
    # ICU chooses the dictionary by the letters; the locale only matters to other scripts.
    for word in WordBreaker(run, "th"):
        yield at, word
        at += len(word)


# Word lists: reviewable data, no logic.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = _words(
    """
    whether however itself himself herself themselves because since although though while still yes no okay
    a an the and or but nor so if then than that this these those of in on at by for from to into
    onto over under with without about as is are was were be been being am do does did have has had
    having it its he she they them their his her him i me my we our us you your who whom whose which
    what when where why how there here also just very more most such both each other another some
    any all not no never none will would can could may might must shall should up down out off after
    before during while between against through again once only own same too 's s t d ll re ve m say
    says said n't don't doesn't didn't isn't aren't wasn't weren't can't cannot couldn't won't
    wouldn't shouldn't hasn't haven't hadn't it's that's i'm you're they're we're
    """
)

# Without `one`, which is far more often a pronoun than a count.
NUMBER_WORDS = {
    "zero": "0", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14",
    "fifteen": "15", "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19", "twenty": "20",
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70",
    "eighty": "80", "ninety": "90",
}  # fmt: skip

NEGATIONS = _words(
    """
    not no never none cannot without neither nor nobody nothing n't don't doesn't didn't isn't
    aren't wasn't weren't can't couldn't won't wouldn't shouldn't hasn't haven't hadn't
    """
)
# `not only`, `no longer`, `no. 1`: the negation does not deny the word that follows.
NOT_DENYING = _words("only just longer doubt matter sooner later")

# Words after which a sentence no longer denies what it denied before.
TURNS = _words("but however though although yet instead rather")

# What an answer about courses says around its facts; never credited to a course as a skill.
FRAME_WORDS = _words(
    """
    course courses become find looking class classes module modules subject subjects option options
    recommend recommended recommendation suggest suggested consider choose take taking teach teaches
    taught cover covers covering covered include includes including offer offers provide provides
    introduce introduces focus focuses focusing learn learns learning student students skill skills
    topic topics outcome outcomes knowledge understanding ability help helps helping great good
    excellent ideal perfect useful well suited relevant match matches matched fit fits fitting
    strong solid best first second third next finally additionally start begin gain gains gaining
    develop develops build builds building work working one two both these following here code name
    directly loosely partially partly related since because therefore want wants goal goals interest
    interested need needs make makes using use able apply practical important area areas field
    """
)

# Words by which an answer ties what it says to what the reader wants, by language.
REASON_WORDS: dict[str, tuple[str, ...]] = {
    "en": (
        "because", "since",
        "so that", "so you", "so your", "so this", "in order to", "therefore", "which means", "this means",
        "that means", "as you", "if you", "so you", "helps you", "help you", "helping you",
        "lets you", "allows you", "enables you", "enable you", "allow you", "prepares you",
        "prepare you", "gives you", "give you", "you will need", "you need", "you want",
        "your goal", "your interest", "your aim", "your question", "your need", "ideal for",
        "suited to", "suited for", "suitable for", "useful for", "relevant to", "relevant for",
        "fits", "matches your", "supports your", "aligns with", "directly addresses",
        "addresses your", "essential for", "essential to", "needed for", "needed to",
        "required for", "key to", "due to", "as a result", "that is why", "which is why",
        "this is why", "makes it", "foundation for", "step towards", "step toward",
    ),
    "de": ("weil", "da du", "da sie", "damit", "deshalb", "daher", "hilft", "passt", "eignet sich", "um zu"),
    "fr": ("parce que", "car ", "afin de", "afin que", "pour que", "vous aide", "convient", "c'est pourquoi"),
    "es": ("porque", "para que", "por eso", "te ayuda", "le ayuda", "adecuado", "ya que"),
    "th": ("เพราะ", "เนื่องจาก", "ดังนั้น", "ช่วยให้", "เหมาะ", "ทำให้", "สอดคล้อง", "ตรงกับ", "เพื่อ"),
    "ja": ("ので", "ため", "から、", "役立", "適して", "向いて", "なぜなら"),
    "zh": ("因为", "因此", "所以", "适合", "帮助你", "帮助您", "有助于", "以便", "因為", "適合"),
}  # fmt: skip


# Text becomes comparable words: stems, numbers, codes; in scripts without spaces, segments or pairs of characters.


# Kana and Han: written without spaces, and told apart well enough by pairs of characters.
_PAIRED = "\u3005\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SPACELESS = LETTERS + _PAIRED
# Signs that belong to the word around them although `re` does not count them as letters.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0971-\u0dff\u0f00-\u0fff\u200c\u200d"
)
_LETTER = rf"(?:(?![{_SPACELESS}])(?:[^\W\d_]|[{_MARKS}]))"
_TOKEN = regex(
    rf"(?P<code>[A-Za-z]+-?\d[A-Za-z\d]*(?:-[A-Za-z\d]+)*)"
    rf"|(?P<number>\d+(?:[.,]\d+)*)"
    rf"|(?P<paired>[{_PAIRED}]+)"
    rf"|(?P<unspaced>[{LETTERS}]+)"
    rf"|(?P<word>{_LETTER}+(?:'{_LETTER}+)*)"
)
# `1, 000` and `7. 6 billion`: numbers as some text extractors leave them.
_BROKEN_THOUSANDS = regex(r"(?<![\d.,])(\d{1,3},) (?=\d{3}(?!\d))")
_BROKEN_DECIMAL = regex(r"(?<![\d.,])(\d{1,3}\.) (?=\d{1,2} ?(?:million|billion|trillion|per ?cent|%))", re.I)
_PERHAPS_DECIMAL = regex(r"(?<![\d.,])(\d{1,3})\. (\d{1,2})(?!\d)")
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
    return _BROKEN_DECIMAL.sub(r"\1", _BROKEN_THOUSANDS.sub(r"\1", _fold_characters(text)))


def _fold_characters(text: str) -> str:
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
            stem = _plain_number(found) if kind == "number" else found.lower().replace("-", "")
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


def _plain_number(found: str) -> str:
    """`1,050.50` and `1050.5` are one number; digits of every script are."""
    digits = "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in found)
    digits = re.sub(r",(?=\d{3}(?:\D|$))", "", digits)
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def number_value(token: Token) -> str:
    """The value of a figure or a number word."""
    return NUMBER_WORDS[token.text.lower()] if token.kind == "number-word" else token.stem


def perhaps_decimals(text: str) -> set[str]:
    """`122. 5` may be two sentences that meet, or a broken 122.5: allow the number as known."""
    return {_plain_number(f"{whole}.{part}") for whole, part in _PERHAPS_DECIMAL.findall(text)}


SAMPLE = 2000  # characters are enough


def script_of(text: str) -> str:
    """The script that most letters are in (`thai`, `cjk`, `latin`), else `none`."""
    scripts = Counter(unicodedata.name(char, "none").split()[0].lower() for char in text[:SAMPLE] if char.isalpha())
    return min(scripts, key=lambda name: (-scripts[name], name)) if scripts else "none"


# Where a sentence stands in the text that it was cut from: a claim in the answer, a quote in its passage.


Place = tuple[int, int]

# What the split into sentences drops although it has letters: addresses of links, and markers of list items.
_DROPPED = regex(r"\]\([^()\s]{0,500}\)|^\s*(?:[-*+•·–—>]+\s+|\(?\d{1,3}[.)]\s+|\|+\s*)+", re.MULTILINE)
_OPENING = frozenset("\"'“‘«($€£¥")
_CLOSING = frozenset(".!?…%\"'”’»)。！？।؟」』）")


class Original:
    """A text as it was given. A sentence in it is found by its letters, whatever markup stands between them."""

    def __init__(self, text: str) -> None:
        self.text = text

    def locate(self, sentence: str, after: int = 0) -> Place | None:
        """Where a sentence begins and ends, at or behind `after`; None where it cannot be told."""
        letters, at = self._letters
        wanted = "".join(filter(str.isalnum, sentence))
        starts = [start for start in _finds(letters, wanted) if self._places[at[start]][0] >= after]
        if not starts:
            return None
        whole = (start for start in starts if self._is_whole(at[start], at[start + len(wanted) - 1]))
        start = next(whole, starts[0])  # scripts without spaces have no edges to go by
        first, last = self._with_signs(at[start], at[start + len(wanted) - 1])
        return (first, last) if first < last else None

    @cached_property
    def _plain(self) -> str:
        return normalise(self.text)

    @cached_property
    def _places(self) -> list[Place]:
        """Of each normalised character in the text."""
        if self._plain == self.text:
            return [(at, at + 1) for at in range(len(self.text))]
        folded, places = _folded(self.text), list[Place]()
        for char in self._plain:  # beyond folding, to normalise only leaves spaces out
            places.append(next((place for other, place in folded if other == char), (len(self.text), len(self.text))))
        return places

    @cached_property
    def _letters(self) -> tuple[str, list[int]]:
        """Letters and digits that a sentence can have, and where they are in the normalised text."""
        shown = _DROPPED.sub(lambda found: " " * len(found[0]), self._plain)
        at = [place for place, char in enumerate(shown) if char.isalnum()]
        return "".join(shown[place] for place in at), at

    def _is_whole(self, first: int, last: int) -> bool:
        """Whether no word is cut at either end."""
        before, behind = self._plain[max(0, first - 1) : first], self._plain[last + 1 : last + 2]
        return not before.isalnum() and not behind.isalnum()

    def _with_signs(self, first: int, last: int) -> Place:
        while first > 0 and self._plain[first - 1] in _OPENING:
            first -= 1
        while last + 1 < len(self._plain) and _closes(self._plain[last + 1]):
            last += 1
        return self._places[first][0], self._places[last][1]


def _closes(char: str) -> bool:
    return char in _CLOSING or unicodedata.combining(char) > 0 or unicodedata.category(char) == "Mn"


def _finds(text: str, wanted: str) -> Iterator[int]:
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        yield start
        start = text.find(wanted, start + 1)


def _folded(text: str) -> Iterator[tuple[str, Place]]:
    """The characters in their common form, each with its place; a letter and its accents are folded together."""
    start = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or not unicodedata.combining(text[end]):
            for char in _fold_characters(text[start:end]):
                yield char, (start, end)
            start = end
