"""Small worlds for the offline judge's tests."""

from synthesis.judge.model import Axis, Course, Rubric, Skill, TestCase, Verdict
from synthesis.judge.offline import OfflineJudge
from synthesis.judge.offline.answers import split_claims
from synthesis.judge.offline.completeness import completeness, look_for_bridging
from synthesis.judge.offline.context import ContextIndex
from synthesis.judge.offline.courses import CourseEvidence


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


def faithfulness(answer: str, context: tuple[str, ...] | tuple[Course, ...] = BRIDGE) -> int | None:
    """None where it cannot be told."""
    return judged(answer, context).axes["faithfulness"].score


def told(answer: str, context: tuple[str, ...], question: str = "") -> tuple[str, tuple[str, str, str] | None]:
    """The verdict on an answer of one claim, and the slot that differs."""
    (claim,) = judged(answer, context, question).details["claims"]
    slot = claim.get("slot")
    return claim["verdict"], (slot["kind"], slot["claim"], slot["source"]) if slot else None


def bridged(answer: str, context: tuple[str, ...] | tuple[Course, ...], question: str) -> int:
    """The score of completeness, whether or not faithfulness can be told."""
    index, courses = ContextIndex([]), None
    if isinstance(context[0], Course):
        courses = CourseEvidence(context)
        index = courses.together
    else:
        index = ContextIndex(context)
    return completeness(look_for_bridging(question, split_claims(answer), index, courses))[0]
