"""The learned reader in NumPy, for machines that have it and not the compiled one. Only this module imports NumPy.

Matrix products are done in doubles, which is many times faster than in integers and just as exact here: the bounds of
`weights.py` keep every partial sum below 2**53, in whatever order a library adds.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from synthesis.reader.reference import ONE, Contribution, check_part, segments_of
from synthesis.reader.tokens import Alphabet, Token, pieces, tokens
from synthesis.reader.weights import MOST_SIGNAL, MOST_WORD, STEPS, WORD_SHIFT, Weights

Matrix = Any  # NumPy is not a dependency: where it is missing, its types are too


class _Layers(NamedTuple):
    signals: Matrix  # tokens x channels
    attention: Matrix  # queries x tokens


class NumpyEngine:
    """The layers of `PythonEngine` as operations on whole matrices."""

    name = "numpy"

    def __init__(self, weights: Weights) -> None:
        header = weights.header
        self._weights = weights
        self._alphabet = Alphabet(weights.arrays["fold"])
        arrays = {name: np.asarray(weights.arrays[name]).reshape(shape) for name, (_, shape) in header.shapes.items()}
        self._embedding, self._exp2 = arrays["embedding"], arrays["exp2"].astype(np.int64)
        self._root, self._bias = (arrays[name].astype(np.int64) for name in ("root", "conv_bias"))
        kernel = arrays["conv"].reshape(header.channels, header.width * header.dims)
        self._kernel, self._query = (np.ascontiguousarray(one.T, np.float64) for one in (kernel, arrays["query"]))
        self._heads = arrays["heads"].astype(np.float64)

    def scores(self, texts: Sequence[str], sides: Sequence[str]) -> list[tuple[int, ...]]:
        return [self._scores(text, segments_of(side)) for text, side in zip(texts, sides, strict=True)]

    def _scores(self, text: str, segments: Sequence[int]) -> tuple[int, ...]:
        found = tokens(text, self._alphabet)
        if not found:
            return (0,) * (len(self._weights.heads) * len(segments))
        features = self._features(self._layers(found))
        parts = [(self._heads[segment] @ features).astype(np.int64).tolist() for segment in segments]
        return tuple(score for part in parts for score in part)

    def contributions(self, text: str, segment: int, head: int) -> list[Contribution]:
        check_part(self._weights, segment, head)
        found = tokens(text, self._alphabet)
        if not found:
            return []
        signals, attention = self._layers(found)
        *queries, peak = self._heads[segment, head].reshape(-1, self._weights.header.channels)
        amounts = (attention * (np.array(queries) @ signals.T)).sum(axis=0)
        np.add.at(amounts, signals.argmax(axis=0), peak * signals.max(axis=0) * (1 << ONE))
        whole = amounts.astype(np.int64).tolist()
        return [Contribution(token.start, token.end, amount) for token, amount in zip(found, whole, strict=True)]

    def _layers(self, found: Sequence[Token]) -> _Layers:
        header = self._weights.header
        rows = pieces(found, header.most_pieces, header.buckets)
        signals = self._convolved(self._words(rows))
        return _Layers(signals, self._attention(signals @ self._query))

    def _words(self, rows: Sequence[Sequence[int]]) -> Matrix:
        counts = np.fromiter(map(len, rows), np.int64, len(rows))
        parts = self._embedding[np.fromiter((row for token in rows for row in token), np.int64)]
        sums = np.add.reduceat(parts, counts.cumsum() - counts, axis=0, dtype=np.int64)
        scaled = (sums * self._root[counts][:, None] + (1 << WORD_SHIFT - 1)) >> WORD_SHIFT
        return scaled.clip(-MOST_WORD, MOST_WORD)

    def _convolved(self, words: Matrix) -> Matrix:
        header = self._weights.header
        edge = header.width // 2
        around = np.zeros((len(words) + 2 * edge, header.dims))
        around[edge : edge + len(words)] = words
        windows = np.hstack([around[place : place + len(words)] for place in range(header.width)])
        sums = (windows @ self._kernel).astype(np.int64) + self._bias
        return (sums >> header.shift.conv).clip(0, MOST_SIGNAL).astype(np.float64)

    def _attention(self, levels: Matrix) -> Matrix:
        steps = (levels.max(axis=0) - levels).astype(np.int64) >> self._weights.header.shift.attention
        powers = self._exp2[np.minimum(steps, STEPS - 1)]
        return ((powers << ONE) // powers.sum(axis=0)).T.astype(np.float64)

    def _features(self, layers: _Layers) -> Matrix:
        means = layers.attention @ layers.signals
        return np.concatenate([means.ravel(), layers.signals.max(axis=0) * (1 << ONE)])
