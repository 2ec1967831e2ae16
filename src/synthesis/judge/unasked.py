"""Samples that no judge is asked about: those that cannot be judged, and answers that say nothing."""

from synthesis.errors import JudgeError
from synthesis.judge.model import AxisVerdict, Rubric, TestCase, Verdict
from synthesis.judge.records import is_empty

EMPTY_REASON = "The answer is empty."


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
