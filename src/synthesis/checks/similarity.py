"""How alike two texts are. Token cosine by default; an embedding model can take its place."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from operator import mul
from typing import Protocol, runtime_checkable

from synthesis.errors import SimilarityError
from synthesis.rules.reading import Reading

Token = str | tuple[str, str]  # a word, or two neighbours
DEFAULT_NAME = "token-cosine"
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_UNSPACED_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+|[^\u3040-\u30ff\u3400-\u9fff]+")


@runtime_checkable
class EmbeddingAdapter(Protocol):
    """Anything that can say how alike two texts are, from 0 (nothing in common) to 1 (the same)."""

    def similarity(self, text1: str, text2: str) -> float: ...


_adapter: EmbeddingAdapter | None = None  # None: the token cosine


def set_embedding_adapter(adapter: EmbeddingAdapter | None) -> None:
    """Let `adapter` decide how alike texts are, for every later evaluation in this process; None resets it."""
    if adapter is not None and not isinstance(adapter, EmbeddingAdapter):
        raise SimilarityError(
            f"{type(adapter).__name__} is not an embedding adapter",
            hint="An adapter has a method similarity(text1, text2) that returns a number from 0 to 1.",
        )
    global _adapter
    _adapter = adapter


def adapter_name() -> str:
    """What the report calls the similarity in force."""
    return DEFAULT_NAME if _adapter is None else str(getattr(_adapter, "name", type(_adapter).__name__))


def similarity_of(user: Reading, assistant: Reading) -> float:
    """The similarity by the adapter in force; a value that is not a similarity is an error, never a verdict."""
    if _adapter is None:
        return token_cosine(user.words, assistant.words)
    value = _adapter.similarity(user.original, assistant.original)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise SimilarityError(
            f"the embedding adapter {adapter_name()} returned {value!r}",
            hint="It must be a number from 0 to 1.",
        )
    return float(value)


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
    lengths = math.sqrt(_square(left) * _square(right))
    return min(1.0, shared / lengths)


def _square(counts: Counter[Token]) -> int:
    return sum(map(mul, counts.values(), counts.values()))
