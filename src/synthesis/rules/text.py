"""Text as the matcher sees it, split into words and sentences, with offsets into the original."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import ClassVar

import msgspec

from synthesis.cancellation import checkpoint
from synthesis.documents import Field, read_yaml
from synthesis.io import PACKS
from synthesis.lazy import regex

# `\w` alone splits Hindi words at vowel signs and words with combining accents; the danda is not a letter.
WORD_CHARACTERS = r"\w\u0300-\u036f\u0900-\u0963\u0966-\u097f"

UNDETERMINED = "und"
MANIFEST = "pack.yaml"
FACTS = ("english_name", "spaced", "ideographs", "abbreviations", "everyday")  # fields of a manifest


class Language(msgspec.Struct, frozen=True):
    """How the text of one language falls into words and sentences."""

    explaining: ClassVar[tuple[str, ...]] = ("name",)

    code: str
    name: str
    spaced: bool = True
    single_ideographs: bool = False  # each is a word, as beside kana; elsewhere pairs are
    abbreviations: frozenset[str] = frozenset()
    everyday: frozenset[str] = frozenset()  # words that any talk holds; characters where no space shows the words

    @property
    def stops(self) -> str:
        """Characters that end a sentence by themselves; elsewhere a mark needs white space behind it."""
        return "\n।" if self.spaced else "\n।。!?"


def read_language(manifest: Mapping[str, Field], below: Language | None = None) -> Language:
    """The language of a pack; what its manifest does not say is as in the pack below, and lists add up."""
    code = manifest["language"].text()
    known = below or Language(code, code)
    spaced = manifest["spaced"].boolean() if "spaced" in manifest else known.spaced
    single = known.single_ideographs
    if "ideographs" in manifest:
        single = manifest["ideographs"].one_of(("single", "pairs")) == "single"
    everyday = _words(manifest, "everyday")
    return Language(
        code,
        manifest["english_name"].text() if "english_name" in manifest else known.name,
        spaced,
        single,
        known.abbreviations | frozenset(_words(manifest, "abbreviations")),
        known.everyday | frozenset(everyday if spaced else "".join(everyday)),
    )


def _words(manifest: Mapping[str, Field], key: str) -> list[str]:
    return [word for text in manifest[key].texts() for word in text.split()] if key in manifest else []


@lru_cache(maxsize=256)
def language_of(code: str) -> Language:
    """The language of a code, as the bundled packs know it; one that is not among them still has words and sentences.

    Where rules are in force, they know more languages: `RuleSet.language`.
    """
    manifest = PACKS / code / MANIFEST
    if not code.isalpha() or not manifest.is_file():
        return Language(code, code)
    return read_language(read_yaml(manifest).mapping())


def primary(code: str) -> str:
    """The language of a code with a region or in capitals: `pt` of `pt-BR`, `en` of `EN_us`."""
    return code.replace("_", "-").split("-")[0].lower()


# Normalised text, with offsets into the original.


Span = tuple[int, int]

_TYPOGRAPHIC = {
    **dict.fromkeys("‘’‚‛′`´ʼ", "'"),
    **dict.fromkeys("“”„‟″«»「」『』", '"'),
    **dict.fromkeys("‐‑‒", "-"),
}
_FULL_WIDTH = str.maketrans({chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)})
_ANY_FULL_WIDTH = regex("[\uff01-\uff5e]")
_INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff"
_COMBINING = "\u0300-\u036f\u3099\u309a"
_CLOSERS = "\"'”’»」』)]*_"
# Every alternative begins with a character or a class, so that `re` skips most of a text at once.
_SPACE_OR_MARK = rf"(?P<space>\s(?<=[.!?…。！？।{re.escape(_CLOSERS)}]\s)\s*|\s\s+|[^\S ])|(?P<mark>\*\**|__*|~~)"
_EDIT = regex(_SPACE_OR_MARK)
_EDIT_RARE = regex(rf"{_SPACE_OR_MARK}|(?P<invisible>[{_INVISIBLE}]+)|(?P<cluster>[^\s{_COMBINING}][{_COMBINING}]+)")
_RARE = regex(f"[{_INVISIBLE}{_COMBINING}]")
_SENTENCE = {
    spaced: regex(rf"[^\n{stops}]+[{stops}]*[\"')]*|[{stops}]+") for spaced, stops in ((True, "।"), (False, "।。!?"))
}
_NEW_ITEM = regex(r"[-*•–·]\s|#{1,6}\s|[*_]{0,3}\(?\d{1,2}[.)]\s")
_LIST_ITEM = regex(
    r"^(?:[-*•–·] |\(?\d{1,2}[.)] |・|\(?\d{1,2}[、)]|[一二三四五六七八九十]{1,2}、)\S[^\n]*", re.MULTILINE
)
_OPENING = regex(r"\s*(?:[-*•–·]+\s+|#{1,6}\s+|\(?\d{1,2}[.)]\s+)?[\"'(¿¡]*")
_QUOTED = regex(r'"[^"\n]{1,400}"|\'(?<!\w\')(?=\w)[^\'\n]{1,200}(?:\'\w[^\'\n]{0,200}){0,3}\'(?!\w)')


class Text:
    """One message: as written, in normal form, and how the two correspond."""

    __slots__ = (
        "__dict__",
        "_clusters",
        "_normal_at",
        "_original_at",
        "language",
        "language_by",
        "normal",
        "original",
    )

    def __init__(self, original: str, language: Language, language_by: str = "declared") -> None:
        self.original = original
        self.language = language
        self.language_by = language_by
        self._normal_at: list[int] = []
        self._original_at: list[int] = []
        self._clusters: dict[int, int] = {}
        self.normal = _lower(self._edited())

    def _edited(self) -> str:
        """The original with every edit made, and a note of each place where the offsets shift."""
        text = self.original
        parts: list[str] = []
        written = copied = 0
        expression = _EDIT_RARE if not text.isascii() and _RARE.search(text) else _EDIT
        for edit in expression.finditer(text):
            start, end = edit.span()
            replacement = _replacement(text, edit, self.language)
            if replacement == text[start:end]:
                continue
            checkpoint()
            parts += (text[copied:start], replacement)
            written += start - copied
            if edit.lastgroup == "cluster":
                self._clusters[written + len(replacement) - 1] = end - start - len(replacement) + 1
            if replacement:
                self._shift(written, start)
            written += len(replacement)
            self._shift(written, end)
            copied = end
        parts.append(text[copied:])
        return _plain("".join(parts))

    def _shift(self, normal: int, original: int) -> None:
        self._normal_at.append(normal)
        self._original_at.append(original)

    def span(self, start: int, end: int) -> Span:
        """The place in the original of the characters `start` to `end` of the normal form."""
        if not self._normal_at:
            return start, end
        if start >= end:
            return self._position(start), self._position(start)
        last = end - 1
        return self._position(start), self._position(last) + self._clusters.get(last, 1)

    def _position(self, index: int) -> int:
        nearest = bisect_right(self._normal_at, index) - 1
        if nearest < 0:
            return index
        return self._original_at[nearest] + index - self._normal_at[nearest]

    def cut(self, start: int, end: int) -> str:
        """The original words at `start` to `end` of the normal form."""
        first, last = self.span(start, end)
        return self.original[first:last]

    @cached_property
    def sentences(self) -> list[Span]:
        """Start and end of each sentence in the normal form, its end mark included."""
        found = _SENTENCE[self.language.spaced].finditer(self.normal)
        return [_stripped(self.normal, *match.span()) for match in found if not match.group().isspace()]

    def sentence_at(self, index: int) -> Span:
        """The sentence in which a position of the normal form lies."""
        position = bisect_right(self.sentences, (index, len(self.normal) + 1)) - 1
        return self.sentences[position] if position >= 0 else (0, len(self.normal))

    def sentences_in(self, start: int, end: int) -> list[Span]:
        """The sentences that begin in a part of the normal form."""
        return self.sentences[bisect_left(self.sentences, (start, 0)) : bisect_left(self.sentences, (end, 0))]

    def is_quoted(self, start: int, end: int) -> bool:
        """Whether a span of the normal form lies inside quotation marks."""
        before = bisect_right(self.quotations, (start, -1)) - 1
        return before >= 0 and end < self.quotations[before][1]

    @cached_property
    def anchor_end(self) -> int:
        """Where the first two sentences end."""
        return self.sentences[:2][-1][1] if self.sentences else 0

    @cached_property
    def list_items(self) -> list[Span]:
        """The first sentence of each item of a bulleted or numbered list."""
        return [match.span() for match in _LIST_ITEM.finditer(self.normal)]

    @cached_property
    def quotations(self) -> list[Span]:
        """Spans inside quotation marks; a reply that is quoted as a whole quotes nobody."""
        whole = len(self.normal.strip()) - 2
        spans = (match.span() for match in _QUOTED.finditer(self.normal))
        return [(start, end) for start, end in spans if end - start < whole]


def _replacement(text: str, edit: re.Match[str], language: Language) -> str:
    kind = edit.lastgroup
    if kind == "space":
        return "\n" if _ends_sentence(text, *edit.span(), language) else " "
    if kind == "mark":
        return "" if _is_emphasis(text, *edit.span()) else edit.group()
    if kind == "cluster":
        return unicodedata.normalize("NFC", edit.group())
    return ""


def _ends_sentence(text: str, start: int, end: int, language: Language) -> bool:
    """Whether the white space from `start` to `end` separates two sentences."""
    lines = text.count("\n", start, end)
    if lines and (lines > 1 or not language.spaced or _NEW_ITEM.match(text, end) or text[start - 1 : start] == ":"):
        return True
    before = start
    while before and text[before - 1] in _CLOSERS:
        before -= 1
    mark = text[before - 1 : before]
    goes_on = text[end : end + 1].islower()
    if mark in {"!", "?", "。", "！", "？", "।"}:
        return not (goes_on and before < start)
    if mark == "…" or text.endswith("...", max(0, before - 3), before):
        return not goes_on
    return mark == "." and not _is_abbreviated(text, before - 1, language)


def _is_abbreviated(text: str, stop: int, language: Language) -> bool:
    word = re.split(r"[\s(\"']", text[max(0, stop - 8) : stop])[-1].lower()
    if word.isdigit():
        return stop == len(word) or text[stop - len(word) - 1] == "\n"  # the number of a list item
    return word in language.abbreviations or (len(word) == 1 and word.isalpha() and word != "i")


def _is_emphasis(text: str, start: int, end: int) -> bool:
    """Asterisks and underscores that hug a word; a bullet, a product sign or a snake_case name stays."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if text[start] == "_" and before.isalnum() and after.isalnum():
        return False
    return bool(before.strip() or after.strip())


def _lower(text: str) -> str:
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def _plain(text: str) -> str:
    """With plain quotes and hyphens and without full-width forms, character for character."""
    if text.isascii():
        return text.replace("`", "'")
    for fancy, plain in _TYPOGRAPHIC.items():
        text = text.replace(fancy, plain)
    return text.translate(_FULL_WIDTH) if _ANY_FULL_WIDTH.search(text) else text


def _stripped(text: str, start: int, end: int) -> Span:
    """Without white space, and without a list mark or an opening quote in front."""
    opening = _OPENING.match(text, start, end)
    if opening and opening.end() < end:
        start = opening.end()
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def normalise_pattern(source: str) -> str:
    """A pattern in the same normal form as the texts it will meet."""
    return _plain(unicodedata.normalize("NFC", re.sub(f"[{_INVISIBLE}]", "", source))).lower()
