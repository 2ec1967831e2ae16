"""How alike two texts are. Token cosine by default; an embedding model can take its place."""

import math
import re
from collections import Counter
from itertools import pairwise
from operator import mul
from typing import Protocol, runtime_checkable

from synthesis.errors import SimilarityError
from synthesis.rules.language import WORD_CHARACTERS
from synthesis.rules.text import Text

Token = str | tuple[str, str]  # a word, or two neighbours

_WORD = re.compile(f"[{WORD_CHARACTERS}]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_UNSPACED_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+|[^\u3040-\u30ff\u3400-\u9fff]+")


@runtime_checkable
class EmbeddingAdapter(Protocol):
    """Anything that can say how alike two texts are, from 0 (nothing in common) to 1 (the same)."""

    def similarity(self, text1: str, text2: str) -> float: ...


class TokenCosine:
    """Cosine over counts of words and pairs of neighbouring words; 0 when either side has no words.

    In Japanese and Chinese, which put no space between words, pairs of characters take their place.
    """

    name = "token-cosine"

    def similarity(self, text1: str, text2: str) -> float:
        return _cosine(_counts(text1.lower()), _counts(text2.lower()))


_DEFAULT = TokenCosine()
_adapter: EmbeddingAdapter = _DEFAULT


def set_embedding_adapter(adapter: EmbeddingAdapter | None) -> None:
    """Let `adapter` decide how alike texts are, for every later evaluation in this process; None resets it."""
    if adapter is not None and not isinstance(adapter, EmbeddingAdapter):
        raise SimilarityError(
            f"{type(adapter).__name__} is no embedding adapter",
            hint="An adapter has a method similarity(text1, text2) that returns a number from 0 to 1.",
        )
    global _adapter
    _adapter = _DEFAULT if adapter is None else adapter


def adapter_name() -> str:
    """What the report calls the similarity in force."""
    return str(getattr(_adapter, "name", type(_adapter).__name__))


def similarity_of(user: Text, assistant: Text) -> float:
    """The similarity by the adapter in force; a value that is no similarity is an error, never a verdict."""
    if _adapter is _DEFAULT:  # sees the normal form, so that typography changes no verdict
        return _DEFAULT.similarity(user.normal, assistant.normal)
    value = _adapter.similarity(user.original, assistant.original)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise SimilarityError(
            f"the embedding adapter {adapter_name()} answered {value!r}",
            hint="It must be a number from 0 to 1.",
        )
    return float(value)


def _counts(lowered: str) -> Counter[Token]:
    """Words and pairs of words; of scripts without spaces between words, pairs of characters."""
    words = _WORD.findall(lowered)
    if not lowered.isascii() and _UNSPACED.search(lowered):
        words = [token for word in words for token in _UNSPACED_RUN.findall(word)]
        return Counter(token for word in words for token in (_character_pairs(word) or [word]))
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
    lengths = math.sqrt(_square(left) * _square(right))
    return min(1.0, shared / lengths)


def _square(counts: Counter[Token]) -> int:
    return sum(map(mul, counts.values(), counts.values()))
