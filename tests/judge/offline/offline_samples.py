"""Small worlds for the offline judge's tests."""

from synthesis.judge.model import Axis, Course, Rubric, Skill, TestCase, Verdict
from synthesis.judge.offline import OfflineJudge


def rubric(*axes: str) -> Rubric:
    return Rubric(
        name="sample",
        version="1",
        axes=tuple(Axis(name=name, question="", pass_at=4, levels=()) for name in axes),
        instructions="",
    )


RUBRIC = rubric("faithfulness", "completeness")

BRIDGE = (
    "The harbour bridge was opened in 1932 by Mayor Anna Lind. It carries 40,000 cars every day.",
    "The toll is not charged at night. Repairs to the northern tower are planned for next spring.",
)
WHEN = "When was the harbour bridge opened?"

PROGRAMMING = Course(
    code="INF101",
    name="Introduction to Programming",
    skills=(Skill("Python programming", ("Write small programs in Python", "Explain control flow")),),
    outcomes=("Use version control",),
)
STATISTICS = Course(
    code="STA210",
    name="Applied Statistics",
    skills=(Skill("data analysis", ("Analyse survey data with regression",)),),
    outcomes=("Interpret confidence intervals",),
)
COURSES = (PROGRAMMING, STATISTICS)
ANALYST = "I want to become a data analyst. Which courses should I take?"


def judged(answer: str, context: tuple[str, ...] | tuple[Course, ...] = BRIDGE, question: str = WHEN) -> Verdict:
    return OfflineJudge().judge(TestCase("q1", question, answer, context), RUBRIC)


def faithfulness(answer: str, context: tuple[str, ...] | tuple[Course, ...] = BRIDGE) -> int:
    return judged(answer, context).axes["faithfulness"].score


def completeness(answer: str, context: tuple[str, ...] | tuple[Course, ...], question: str) -> int:
    return judged(answer, context, question).axes["completeness"].score
