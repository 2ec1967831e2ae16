"""A small rubric and records for it, as the tests of metrics, analysis and calibration need them."""

from synthesis.judge.model import Axis, Level, Rubric


def axis(name, keys, pass_at=4):
    levels = tuple(
        Level(score, f"Label {score}", f"meaning of {name} {score}", keys.get(score)) for score in (5, 4, 3, 2, 1)
    )
    return Axis(name, f"What about {name}?", pass_at, levels)


RUBRIC = Rubric(
    "course",
    "1",
    (
        axis("faithfulness", {1: "completelyFalse", 2: "mostlyFalse", 3: "mixed"}),
        axis("completeness", {1: "fail", 2: "weak", 3: "descriptiveOnly"}),
    ),
    "Judge.",
)
FREE_RUBRIC = Rubric("tone", "1", (axis("tone-of-voice", {}, pass_at=3),), "Judge.")


def record(name, faithfulness, completeness, courses=2):
    return {
        "queryLogId": name,
        "question": f"question {name}",
        "systemAnswer": f"answer {name}",
        "judgeVerdict": {
            "faithfulness": {"score": faithfulness, "reasoning": f"faithfulness of {name}"},
            "completeness": {"score": completeness, "reasoning": f"completeness of {name}"},
        },
        "overallScore": (faithfulness + completeness) / 2,
        "passed": faithfulness >= 4 and completeness >= 4,
        "courseCount": courses,
        "tokenUsage": [],
    }


def records(*scores):
    """Records q-1, q-2, ... with the given (faithfulness, completeness)."""
    return [record(f"q-{number}", *pair) for number, pair in enumerate(scores, 1)]


def toned(name, score):
    return {
        "queryLogId": name,
        "question": "q",
        "judgeVerdict": {"tone-of-voice": {"score": score, "reasoning": "r"}},
        "overallScore": float(score),
        "courseCount": 0,
    }
