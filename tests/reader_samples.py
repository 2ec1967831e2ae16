"""Models of the learned reader with weights that mean nothing, and the engines that there are on this machine."""

from array import array
from collections.abc import Iterator
from functools import cache
from itertools import islice
from math import isqrt
from typing import Any

from synthesis.errors import OptionError
from synthesis.reader.engines import ENGINES, engine
from synthesis.reader.reference import Engine
from synthesis.reader.tokens import FOLDED
from synthesis.reader.weights import STEPS, Weights, packed, parse

SMALL = {"buckets": 64, "dims": 8, "channels": 12, "width": 3, "queries": 2, "heads": 4}
REAL = {"buckets": 4096, "dims": 40, "channels": 72, "width": 5, "queries": 3, "heads": 25}
ODD = {"buckets": 1, "dims": 7, "channels": 17, "width": 1, "queries": 1, "heads": 1}
LARGE = {"buckets": 128, "dims": 544, "channels": 113, "width": 15, "queries": 16, "heads": 2}


def engines(weights: Weights) -> list[Engine]:
    """The reference first, then the others that are here."""
    found = [engine(weights, "python")]
    for name in ENGINES:
        if name != "python":
            try:
                found.append(engine(weights, name))
            except OptionError:
                continue
    return found


def toy(seed: int = 1, *, extreme: bool = False, **sizes: int) -> Weights:
    return parse(packed(*toy_parts(seed, extreme=extreme, **sizes)))


def toy_parts(seed: int = 1, *, extreme: bool = False, **sizes: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A header and arrays, the same on every machine; `extreme` weights are at the ends of their ranges."""
    size = {**SMALL, **sizes}
    heads, channels, dims, width, queries = (size[name] for name in ("heads", "channels", "dims", "width", "queries"))
    drawn = _drawn(seed)

    def numbers(code: str, count: int, most: int) -> "array[int]":
        some = islice(drawn, count)
        if extreme:
            return array(code, (most if number & 1 else -most for number in some))
        return array(code, (number % (2 * most + 1) - most for number in some))

    header = {
        **size,
        "name": f"toy-{seed}",
        "heads": [f"head-{number}" for number in range(heads)],
        "bias": [number - 2**31 for number in islice(drawn, heads)],
        "unit": 30,
        "shift": {"word": 12, "conv": 0 if extreme else 9, "attention": 0 if extreme else 12},
        "most_pieces": 20,
    }
    arrays = {
        "fold": folding(),
        "embedding": numbers("b", size["buckets"] * dims, 127),
        "root": array("i", [0, *(4096 * 1000 * (200 if extreme else 4) // isqrt(10**6 * n) for n in range(1, 21))]),
        "conv": numbers("b", channels * width * dims, 127),
        "conv_bias": numbers("i", channels, 2**30 if extreme else 2**12),
        "query": numbers("b", queries * channels, 127),
        "exp2": array("H", (65535 if extreme else 65535 >> step // 32 for step in range(STEPS))),
        "heads": numbers("h", 3 * heads * (queries + 1) * channels, 32767),
    }
    return header, arrays


def _drawn(seed: int) -> Iterator[int]:
    """Numbers of 32 bits by a rule of our own: what Python draws may change."""
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state >> 32


def folding() -> "array[int]":
    """Lower case, where that is one character."""
    lower = (chr(code).lower() for code in range(FOLDED))
    return array("H", (ord(char) if len(char) == 1 else code for code, char in enumerate(lower)))


@cache
def small() -> Weights:
    return toy()


@cache
def real() -> Weights:
    return toy(7, **REAL)
