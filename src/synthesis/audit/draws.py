"""Numbers drawn from distributions, the same for the same seed in every version of Python.

Only `random()` is promised to stay what it is, so that everything else is made of it here.
"""

import hashlib
import math
import random
from collections.abc import Mapping
from statistics import NormalDist

_normal = NormalDist().inv_cdf
_SMALL = 30  # below that a Poisson count is drawn exactly, above it is a rounded normal
_LEAST = 1e-12


class Draws:
    """A stream of draws that depends on the seed and on what is drawn for, not on what was drawn before."""

    def __init__(self, seed: int, *purpose: str) -> None:
        digest = hashlib.sha256("\0".join((str(seed), *purpose)).encode()).digest()
        self._random = random.Random(int.from_bytes(digest[:8], "big")).random

    def normal(self) -> float:
        return _normal(max(self._random(), _LEAST))

    def student(self, freedom: int) -> float:
        """Student's t: a normal whose deviation is itself known from so few values."""
        return self.normal() / math.sqrt(max(self._gamma(freedom / 2), _LEAST) * 2 / freedom)

    def poisson(self, mean: float) -> int:
        if mean > _SMALL:
            return max(0, round(mean + math.sqrt(mean) * self.normal()))
        limit, product, count = math.exp(-mean), self._random(), 0
        while product > limit:
            product *= self._random()
            count += 1
        return count

    def beta(self, one: float, other: float) -> float:
        first, second = self._gamma(one), self._gamma(other)
        return first / (first + second) if first + second else 0.5

    def _gamma(self, shape: float) -> float:
        """Marsaglia and Tsang's method; a shape below 1 is drawn one higher and scaled back."""
        if shape < 1:
            return self._gamma(shape + 1) * math.pow(max(self._random(), _LEAST), 1 / shape)
        base = shape - 1 / 3
        slope = 1 / math.sqrt(9 * base)
        while True:
            normal = self.normal()
            root = 1 + slope * normal
            cube = root * root * root
            if cube > 0 and math.log(max(self._random(), _LEAST)) < normal**2 / 2 + base * (1 - cube + math.log(cube)):
                return base * cube


def resampled_rates(conversations: Mapping[tuple[int, int], int], draws: Draws, number: int) -> list[float]:
    """The rate in `number` samples of conversations, drawn with replacement.

    `conversations` says how many have which hits among which base. How often a kind is drawn is Poisson, which is how
    often one is drawn of very many; so the work depends on how many kinds there are, not on how many conversations.
    """
    kinds = sorted((kind, count) for kind, count in conversations.items() if kind[1])
    rates: list[float] = []
    while len(rates) < number:
        drawn = [(draws.poisson(count), hits, base) for (hits, base), count in kinds]
        total = sum(times * base for times, _, base in drawn)
        if total:
            rates.append(sum(times * hits for times, hits, _ in drawn) / total)
    return rates
