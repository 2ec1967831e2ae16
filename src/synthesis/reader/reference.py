"""The learned reader in plain Python: the reference, and the fallback. Every engine gives the same integers."""

from collections.abc import Sequence
from operator import mul
from typing import NamedTuple, Protocol

from synthesis.errors import OptionError
from synthesis.reader.tokens import Alphabet, Token, pieces, tokens
from synthesis.reader.weights import (
    EARLIER,
    MESSAGE,
    MOST_SIGNAL,
    MOST_WORD,
    REPLY,
    SEGMENTS,
    STEPS,
    WORD_SHIFT,
    Weights,
)

Vector = Sequence[int]
ONE = 15  # bits behind the point of attention: a weight of 1 is 1 << 15
SIDES = {"user": (MESSAGE, EARLIER), "assistant": (REPLY,)}  # the segments as which the text of a side may count


class Contribution(NamedTuple):
    """What a token adds to a score; its place is in the text as given."""

    start: int
    end: int
    amount: int


class Engine(Protocol):
    """Texts in, integers out: the same ones, whichever engine it is."""

    name: str

    def scores(self, texts: Sequence[str], sides: Sequence[str]) -> list[tuple[int, ...]]:
        """For each text a score per head: of a user's text as message and then as earlier message, else as reply."""
        ...

    def contributions(self, text: str, segment: int, head: int) -> list[Contribution]:
        """What each token adds to the score of a head; together they are the score."""
        ...


class _Layers(NamedTuple):
    """What became of the tokens of a text."""

    signals: list[list[int]]  # of each token, by channel
    attention: list[list[int]]  # of each query, by token


def segments_of(side: str) -> tuple[int, ...]:
    if side not in SIDES:
        raise OptionError(f"there is no side '{side}'", hint=f"Sides are {' and '.join(SIDES)}.")
    return SIDES[side]


def check_part(weights: Weights, segment: int, head: int) -> None:
    """Raise if there is no such segment or head."""
    for name, number, count in (("segment", segment, len(SEGMENTS)), ("head", head, len(weights.heads))):
        if not 0 <= number < count:
            raise OptionError(f"there is no {name} {number}", hint=f"They are numbered from 0 to {count - 1}.")


class PythonEngine:
    """Pieces to word vectors, a convolution over them, attention and maxima over its channels, and a sum per head."""

    name = "python"

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._alphabet = Alphabet(weights.arrays["fold"])
        header, arrays = weights.header, weights.arrays
        self._channels = header.channels
        self._kernel = _rows(arrays["conv"], header.width * header.dims)
        self._queries = _rows(arrays["query"], header.channels)
        self._heads = _rows(arrays["heads"], header.features)

    def scores(self, texts: Sequence[str], sides: Sequence[str]) -> list[tuple[int, ...]]:
        return [self._scores(text, segments_of(side)) for text, side in zip(texts, sides, strict=True)]

    def _scores(self, text: str, segments: Sequence[int]) -> tuple[int, ...]:
        features = self._features(self._layers(self._tokens(text)))
        count = len(self._weights.heads)
        rows = [row for segment in segments for row in self._heads[segment * count : (segment + 1) * count]]
        return tuple(_dot(row, features) for row in rows)

    def contributions(self, text: str, segment: int, head: int) -> list[Contribution]:
        check_part(self._weights, segment, head)
        found = self._tokens(text)
        signals, attention = self._layers(found)
        *queries, peak = _rows(self._heads[segment * len(self._weights.heads) + head], self._channels)
        amounts = [
            sum(weights[place] * _dot(row, channels) for weights, row in zip(attention, queries, strict=True))
            for place, channels in enumerate(signals)
        ]
        for weight, channel in zip(peak, zip(*signals, strict=True), strict=False):
            first = channel.index(max(channel))  # a maximum of 0 adds nothing, wherever it is
            amounts[first] += weight * (channel[first] << ONE)
        return [Contribution(token.start, token.end, amount) for token, amount in zip(found, amounts, strict=True)]

    def _tokens(self, text: str) -> list[Token]:
        return tokens(text, self._alphabet)

    def _layers(self, found: Sequence[Token]) -> _Layers:
        header = self._weights.header
        words = [self._word(rows) for rows in pieces(found, header.most_pieces, header.buckets)]
        signals = self._convolved(words)
        return _Layers(signals, [self._attention(query, signals) for query in self._queries] if signals else [])

    def _word(self, rows: Sequence[int]) -> list[int]:
        """The sum of some rows of the embedding, scaled so that words of all lengths weigh about the same."""
        dims, root = self._weights.header.dims, self._weights.arrays["root"][len(rows)]
        embedding = self._weights.arrays["embedding"]
        sums = map(sum, zip(*(embedding[row * dims : (row + 1) * dims] for row in rows), strict=True))
        half = 1 << WORD_SHIFT - 1
        return [max(-MOST_WORD, min(MOST_WORD, (one * root + half) >> WORD_SHIFT)) for one in sums]

    def _convolved(self, words: Sequence[list[int]]) -> list[list[int]]:
        """What each channel sees around each token; nothing stands outside the text."""
        header, bias = self._weights.header, self._weights.arrays["conv_bias"]
        edge = [[0] * header.dims] * (header.width // 2)
        around = [*edge, *words, *edge]
        found = []
        for place in range(len(words)):
            window = [number for word in around[place : place + header.width] for number in word]
            sums = (start + _dot(row, window) for start, row in zip(bias, self._kernel, strict=True))
            found.append([max(0, min(MOST_SIGNAL, one >> header.shift.conv)) for one in sums])
        return found

    def _attention(self, query: Vector, signals: Sequence[list[int]]) -> list[int]:
        """How much each token counts for a query; together nearly 1 << ONE."""
        levels = [_dot(query, channels) for channels in signals]
        shift, table, highest = self._weights.header.shift.attention, self._weights.arrays["exp2"], max(levels)
        powers = [table[min((highest - level) >> shift, STEPS - 1)] for level in levels]
        total = sum(powers)
        return [(power << ONE) // total for power in powers]

    def _features(self, layers: _Layers) -> list[int]:
        """What all tokens show together: the mean of each channel by each query, then its maximum."""
        if not layers.signals:
            return [0] * self._weights.header.features
        channels = list(zip(*layers.signals, strict=True))
        means = [_dot(weights, channel) for weights in layers.attention for channel in channels]
        return means + [max(channel) << ONE for channel in channels]


def _dot(one: Vector, other: Vector) -> int:
    return sum(map(mul, one, other))


def _rows(numbers: Vector, size: int) -> list[Vector]:
    return [list(numbers[first : first + size]) for first in range(0, len(numbers), size)]
