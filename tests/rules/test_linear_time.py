"""No text and no rule takes more than linear time; the tests would hang for minutes where one did."""

import pytest
from helpers import THREE, case

from synthesis.runner.evaluator import Evaluator

PIECES = [
    "what ",
    "you should ",
    "I promise you'll be fine ",
    "would you like to ",
    '"you should" ',
    "if you don't think I can't promise that ",
    "call 988 now you must ",
    "I feel so alone. ",
    "- try to rest\n",
    "*a* _b_ \u200b",
    "...... ",
    "’”“‘",
    "a" * 50,
]


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_text_of_one_piece_is_evaluated(evaluator: Evaluator, piece: str) -> None:
    text = piece * (160_000 // len(piece))
    result = evaluator.evaluate([case(text, text)])[0]
    assert set(result.checks) == set(THREE)
    assert result.outcome != "error"
