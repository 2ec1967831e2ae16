"""No text and no rule takes more than linear time, as SECURITY.md promises: counted, and on texts that would hang."""

import sys
from types import FrameType
from typing import Any

import pytest
from helpers import THREE, case

from synthesis.run.evaluator import Evaluator

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
    ". ",
    ") ",
    "1. a 2. ",
]


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_text_of_one_piece_is_evaluated(evaluator: Evaluator, piece: str) -> None:
    text = piece * (160_000 // len(piece))
    result = evaluator.evaluate([case(text, text)])[0]
    assert set(result.checks) == set(THREE)
    assert result.outcome != "error"


@pytest.mark.parametrize("piece", PIECES)
def test_four_times_the_text_takes_four_times_the_calls(evaluator: Evaluator, piece: str) -> None:
    calls(evaluator, piece, 4_000)  # the first time, patterns are compiled
    assert calls(evaluator, piece, 16_000) <= 4.4 * calls(evaluator, piece, 4_000)


def calls(evaluator: Evaluator, piece: str, length: int) -> int:
    """How many functions are called to evaluate a text: unlike seconds, the same on a busy machine."""
    count = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    text = piece * (length // len(piece))
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        evaluator.evaluate([case(text, text)])
    finally:
        sys.setprofile(before)
    return count
