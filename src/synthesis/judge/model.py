"""The types of judged evaluation: what is judged, by which rubric, and the verdict. Frozen, no I/O.

Field names in files are camelCase, as the contract says; `rename="camel"` does it.
"""

from collections.abc import Iterable
from typing import Any

import msgspec


class Skill(msgspec.Struct, frozen=True):
    """A skill that a course was matched by, with the learning outcomes that prove it."""

    skill: str
    outcomes: tuple[str, ...] = ()


class Course(msgspec.Struct, frozen=True):
    """One retrieved course, reduced to what a judge may see."""

    code: str
    name: str
    skills: tuple[Skill, ...] = ()
    outcomes: tuple[str, ...] = ()


class TestCase(msgspec.Struct, frozen=True, rename="camel"):
    """One generated answer with the question and the context it was generated from.

    `context` holds either courses or plain passages, never both. `meta` keeps what the file says beyond that
    (model, prompt version, duration, token usage); a judge never sees it. A sample with a `problem` cannot be
    judged: it ends as an error that says so.
    """

    __test__ = False

    query_log_id: str
    question: str
    answer: str
    context: tuple[Course, ...] | tuple[str, ...]
    meta: dict[str, Any] = {}
    problem: str = ""


def have_courses(cases: Iterable[TestCase]) -> bool:
    """Whether a context holds courses."""
    return any(isinstance(item, Course) for case in cases for item in case.context)


class TokenUsage(msgspec.Struct, frozen=True, rename="camel"):
    model: str
    input_tokens: int
    output_tokens: int


class AxisVerdict(msgspec.Struct, frozen=True):
    """A whole score from 1 to 5 on one axis, and why; None where the judge cannot tell."""

    score: int | None
    reasoning: str


class Verdict(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a judge said of one sample: a verdict per axis, in the rubric's order.

    `details` is evidence that only some judges have (the offline judge's claims and `support`).
    """

    axes: dict[str, AxisVerdict]
    token_usage: tuple[TokenUsage, ...] = ()
    details: dict[str, Any] = {}

    @property
    def is_untold(self) -> bool:
        """The judge cannot tell: another one is needed."""
        return bool(self.axes) and all(axis.score is None for axis in self.axes.values())


class Level(msgspec.Struct, frozen=True):
    """What one score means on one axis; `key` names it in the failure analysis (completelyFalse, weak)."""

    score: int
    label: str
    meaning: str
    key: str | None = None


class Axis(msgspec.Struct, frozen=True, rename="camel"):
    """One thing that is scored: faithfulness, completeness, or what a rubric file names."""

    name: str
    question: str
    pass_at: int
    levels: tuple[Level, ...]


class Rubric(msgspec.Struct, frozen=True, rename="camel"):
    """The axes and the judge's instructions, read from a rubric file."""

    name: str
    version: str
    axes: tuple[Axis, ...]
    instructions: str

    def overall(self, verdict: Verdict) -> float | None:
        """The mean of the axes; None where the judge could not tell."""
        scores = [score for axis in self.axes if (score := verdict.axes[axis.name].score) is not None]
        return sum(scores) / len(scores) if len(scores) == len(self.axes) else None

    def passed(self, verdict: Verdict) -> bool:
        """Every axis has a score that reaches its threshold."""
        return all((verdict.axes[axis.name].score or 0) >= axis.pass_at for axis in self.axes)
