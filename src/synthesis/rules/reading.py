"""The result of reading a text: the contract between the matcher and the checks.

Every place is a place of the original text, in code points, and every hit carries its words. Whoever reads texts
returns this and nothing else, so checks, findings and reports know neither the normal form nor how it was searched.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from operator import mul
from typing import NamedTuple, Protocol

from synthesis.lazy import regex
from synthesis.rules.detection import Detected
from synthesis.rules.schema import Rule
from synthesis.rules.text import WORD_CHARACTERS, Language, Span, Text, language_of

WORD = regex(f"[{WORD_CHARACTERS}]+")


class Message(NamedTuple):
    """A text to read, the side that wrote it, and what to look for in it."""

    text: str
    where: str  # user | assistant
    signals: frozenset[str] | None = None  # None: all
    language: Detected | None = None  # None: as the text by itself tells
    case: str = ""  # the id of what it belongs to, by which a warning names it
    answers: str = ""  # the message that it replies to


class Hit(NamedTuple):
    """A rule that matched by one of its wordings (`source`), at a place of the original text."""

    rule: Rule
    source: str
    start: int
    end: int
    words: str


class Reading:
    """One text as it was read. What only some checks ask for is computed when they do."""

    __slots__ = ("__dict__", "hits", "language", "language_by", "learned", "original", "spoken")

    def __init__(self, original: str, language: Language, language_by: str, hits: Sequence[Hit] = ()) -> None:
        self.original = self.spoken = original  # as written, and what of it is said to the person: see `prose`
        self.language = language
        self.language_by = language_by  # as Detected says it
        self.hits = hits  # in the order of the text
        self.learned: tuple[int, ...] = ()  # what the learned reader says of it, where it is on

    @classmethod
    def of(cls, text: Text, hits: Sequence[Hit] = ()) -> "Reading":
        """The reading of a text that is in normal form already."""
        reading = cls(text.original, text.language, text.language_by, hits)
        reading._text = text
        return reading

    @cached_property
    def _text(self) -> Text:
        return Text(self.spoken, self.language, self.language_by)

    def quote(self, original: str, more: Sequence[Hit]) -> None:
        """Take the words from the original, of which this is a reading of the prose; add hits in the whole of it."""
        own = [hit._replace(words=original[hit.start : hit.end]) for hit in self.hits]
        self.original = original
        self.hits = sorted([*own, *more], key=lambda hit: (hit.start, -hit.end, hit.rule.id))

    @cached_property
    def sentences(self) -> list[Span]:
        """Start and end of each sentence, its end mark included."""
        return [self._text.span(*sentence) for sentence in self._text.sentences]

    def sentence_at(self, place: int) -> Span:
        """The sentence in which a place lies."""
        number = bisect_right(self.sentences, (place, len(self.original) + 1)) - 1
        return self.sentences[number] if number >= 0 else (0, len(self.original))

    @cached_property
    def anchor(self) -> Span:
        """Start and end of the first two sentences."""
        return self._text.span(0, self._text.anchor_end)

    @cached_property
    def words(self) -> list[str]:
        """The words in lower case and without typography, so that it makes no difference to a comparison."""
        return WORD.findall(self._text.normal)

    def cosine_with(self, other: "Reading") -> float:
        """How alike this text and another are by their words, from 0 to 1."""
        return token_cosine(other.words, self.words)


class Reader(Protocol):
    """Whoever reads texts by rules. There are two: in Python, the reference, and compiled."""

    name: str
    declined: int  # texts that it left to Python, so far

    def languages(self, conversations: Sequence[Sequence[str]]) -> list[list[Detected]]:
        """The language of each message of each conversation."""

    def read(self, messages: Sequence[Message]) -> list[Reading]:
        """The reading of each message; one whose language has no rules has no hits."""


def read_without_rules(text: str, language: str) -> Reading:
    """A text with its sentences and words, for those who look for nothing in it."""
    return Reading(text, language_of(language), "declared")


# How alike two texts are by their words.


Token = str | tuple[str, str]  # a word, or two neighbours
_UNSPACED = regex(r"[\u3040-\u30ff\u3400-\u9fff]")
_UNSPACED_RUN = regex(r"[\u3040-\u30ff\u3400-\u9fff]+|[^\u3040-\u30ff\u3400-\u9fff]+")


def token_cosine(left: Sequence[str], right: Sequence[str]) -> float:
    """Cosine over counts of words and pairs of neighbouring words; 0 when either side has no words.

    In Japanese and Chinese, which put no space between words, pairs of characters take their place.
    """
    return _cosine(_counts(left), _counts(right))


def _counts(words: Sequence[str]) -> Counter[Token]:
    together = "".join(words)
    if not together.isascii() and _UNSPACED.search(together):
        runs = (run for word in words for run in _UNSPACED_RUN.findall(word))
        return Counter(token for run in runs for token in (_character_pairs(run) or [run]))
    counts: Counter[Token] = Counter(words)
    counts.update(pairwise(words))
    return counts


def _character_pairs(word: str) -> list[str]:
    return [first + second for first, second in pairwise(word)] if _UNSPACED.match(word) else []


def _cosine(left: Counter[Token], right: Counter[Token]) -> float:
    if not left or not right:
        return 0.0
    if left == right:
        return 1.0
    shared = sum(left[token] * right[token] for token in left.keys() & right.keys())
    return cosine(shared, _square(left), _square(right))


def cosine(shared: int, left: int, right: int) -> float:
    """The cosine of two vectors, by their product and the squares of their lengths."""
    return min(1.0, shared / math.sqrt(left * right))


def _square(counts: Counter[Token]) -> int:
    return sum(map(mul, counts.values(), counts.values()))
