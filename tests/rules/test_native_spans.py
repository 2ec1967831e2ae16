"""The compiled reader marks the words that Python marks for a finding of the learned reader."""

from random import Random

import pytest
from both_readers import needs_library
from drawn_texts import Token, contributions
from native_functions import spans

from synthesis.checks import learned

pytestmark = needs_library


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 22))])
def test_spans_of_drawn_tokens(seed: int) -> None:
    chance = Random(seed)
    for _ in range(5_000):
        case = contributions(chance)
        assert spans(*case) == list(learned._spans(*case)), case


def test_numbers_beyond_64_bits_are_added_and_compared_exactly() -> None:
    largest = 2**63 - 1
    tokens = [Token(place, place + 1, largest - place % 2) for place in range(30)]
    own = sum(token.amount for token in tokens)
    for total in (own, own * 10, own * 10 + 9, own * 10 + 2**16, own * 10 - 2**16):
        assert spans(tokens, "a" * 30, total) == list(learned._spans(tokens, "a" * 30, total))
