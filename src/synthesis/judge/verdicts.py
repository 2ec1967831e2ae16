"""Reads the verdict out of a stored record, as the metrics, the analysis and the calibration need it."""

from collections.abc import Mapping
from typing import Any

from synthesis.judge.model import Axis, Rubric

SCORES = (1, 2, 3, 4, 5)


def score_of(record: Mapping[str, Any], axis: Axis) -> int:
    score: int = record["judgeVerdict"][axis.name]["score"]
    return score


def reasoning_of(record: Mapping[str, Any], axis: Axis) -> str:
    reasoning: str = record["judgeVerdict"][axis.name]["reasoning"]
    return reasoning


def axis_passed(record: Mapping[str, Any], axis: Axis) -> bool:
    return score_of(record, axis) >= axis.pass_at


def all_passed(record: Mapping[str, Any], rubric: Rubric) -> bool:
    """Every axis reaches its threshold."""
    return all(axis_passed(record, axis) for axis in rubric.axes)


def camel(name: str, *, capital: bool = False) -> str:
    """`tone-of-voice` as part of a key: toneOfVoice, or ToneOfVoice."""
    words = [word for word in name.replace("-", " ").replace("_", " ").split(" ") if word]
    joined = "".join(word[0].upper() + word[1:] for word in words)
    return joined if capital else joined[:1].lower() + joined[1:]
