"""The record of one judged sample: how it is made and read, also where no judge has to be asked."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from synthesis.errors import JudgeError
from synthesis.judge.flags import REPAIRED, flags_of, is_empty
from synthesis.judge.model import Axis, AxisVerdict, Rubric, TestCase, Verdict

Record = dict[str, Any]
SCORES = (1, 2, 3, 4, 5)
EMPTY_REASON = "The answer is empty."
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def is_asked_about(case: TestCase) -> bool:
    """Whether a judge is needed."""
    return not case.problem and not is_empty(case.answer)


def verdict_without_judge(case: TestCase, rubric: Rubric) -> Verdict | None:
    """1 on every axis for an empty answer; None where a judge is needed."""
    if case.problem:
        raise JudgeError(case.problem)
    if not is_empty(case.answer):
        return None
    return Verdict({axis.name: AxisVerdict(1, EMPTY_REASON) for axis in rubric.axes})


def make_record(case: TestCase, verdict: Verdict, rubric: Rubric) -> Record:
    """Compare a verdict with the rubric's thresholds: the record of one judged sample.

    Text that cannot be stored is repaired and flagged: the scores count, whatever the reasoning holds.
    """
    for axis in rubric.axes:
        if axis.name not in verdict.axes or verdict.axes[axis.name].score not in SCORES:
            raise JudgeError(f"the verdict has no whole score from 1 to 5 on '{axis.name}'")
    said = {name: {"score": axis.score, "reasoning": axis.reasoning} for name, axis in verdict.axes.items()}
    details = storable(verdict.details)
    record: Record = {
        "queryLogId": case.query_log_id,
        "question": case.question,
        "systemAnswer": case.answer,
        "judgeVerdict": storable(said),
        "overallScore": rubric.overall(verdict),
        "passed": rubric.passed(verdict),
        "courseCount": len(case.context),
        "tokenUsage": msgspec.to_builtins(list(verdict.token_usage)),
    }
    is_repaired = (record["judgeVerdict"], details) != (said, verdict.details)
    flags = flags_of(case.answer) + ([REPAIRED] if is_repaired else [])
    return record | ({"flags": flags} if flags else {}) | ({"details": details} if details else {})


def storable(value: Any) -> Any:
    """The value with U+FFFD for every lone surrogate, which JSON can escape but UTF-8 cannot hold."""
    match value:
        case str():
            return value if value.isascii() else _LONE_SURROGATE.sub("\ufffd", value)
        case dict():
            return {storable(key): storable(item) for key, item in value.items()}
        case list():
            return [storable(item) for item in value]
        case tuple():
            return tuple(map(storable, value))
    return value


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
