"""How alike two texts are by their words."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from operator import mul

Token = str | tuple[str, str]  # a word, or two neighbours
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_UNSPACED_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+|[^\u3040-\u30ff\u3400-\u9fff]+")


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
