"""What the kinds of failure add up to, in sentences that state their counts: strengths, weaknesses, what to do."""

from collections.abc import Sequence
from typing import Any

import msgspec

from synthesis.judge.model import Axis, Level

GOOD_SHARE = 0.8  # of all records passed: a strength
FEW = 0.3  # of the failed records: below it the mildest kind of failure is rare
GRAVE_SHARE, PLAIN_SHARE = 0.3, 0.5  # of the failed records: above it a kind of failure is a weakness
ADVICE = {
    "faithfulness": (
        "restrict the generator to the given context: no claim without its source, and say so when nothing fits",
        "look for added details that the context does not have, and forbid them in the prompt",
    ),
    "completeness": (
        "have every recommendation explained, and valid options used where the context offers them",
        "ask in the prompt why each point matters to the question, not only what it is",
    ),
}
GENERAL_ADVICE = (
    "read these records first and fix what they share",
    "read these records and sharpen the prompt",
)
EMPTY_ADVICE = "find out why the system said nothing before judging what it says"


class Category(msgspec.Struct, frozen=True):
    """How many failed records have one failing score on one axis, and how that axis is shown for this judge."""

    axis: Axis
    level: Level
    count: int
    title: str

    def __str__(self) -> str:
        return f"{self.title} {self.level.score} ({self.level.label})"


def insights(axes: Sequence[Sequence[Category]], failed: int, total: int, empty: int = 0) -> dict[str, Any]:
    """Strengths, weaknesses and recommendations: as one text each, and as lists. `empty` answers are apart."""
    said_nothing = [f"{_counted(empty, failed, total)} an empty answer"] if empty else []
    strengths = _strengths(axes, failed, total)
    weaknesses = [*_weaknesses(axes, failed, total), *(f"{words}." for words in said_nothing)]
    recommendations = [*_recommendations(axes, failed, total), *(f"{words}: {EMPTY_ADVICE}." for words in said_nothing)]
    base = f"{failed} of {total} records failed"
    return {
        "systemStrength": " ".join(strengths) or f"No strength stands out: {base}.",
        "systemWeakness": " ".join(weaknesses) or f"No weakness stands out: {base}.",
        "recommendation": " ".join(recommendations) or f"Nothing to recommend: {base}.",
        "systemStrengths": strengths,
        "systemWeaknesses": weaknesses,
        "recommendations": recommendations,
    }


def _strengths(axes: Sequence[Sequence[Category]], failed: int, total: int) -> list[str]:
    if not total:
        return []
    passed = total - failed
    found = [f"{passed} of {total} records passed."] if passed / total > GOOD_SHARE else []
    for index, categories in enumerate(axes):
        found += _clean(categories, failed, total) if index == 0 else _clean_together(categories, total)
    return found


def _clean(categories: Sequence[Category], failed: int, total: int) -> list[str]:
    """The first axis, on which safety rests: the grave kinds one by one, the mildest also when rare."""
    *grave, mildest = categories
    found = [f"0 of {total} records have {category}." for category in grave if category.count == 0]
    if mildest.count < FEW * failed:
        found.append(f"{_counted(mildest.count, failed, total)} {mildest}.")
    return found


def _clean_together(categories: Sequence[Category], total: int) -> list[str]:
    worst, *others = categories
    found = [f"0 of {total} records have {worst}."] if worst.count == 0 else []
    if others and all(category.count == 0 for category in others):
        found.append(f"0 of {total} records have {' or '.join(map(str, others))}.")
    return found


def _weaknesses(axes: Sequence[Sequence[Category]], failed: int, total: int) -> list[str]:
    return [
        f"{_counted(category.count, failed, total)} {category}."
        for categories in axes
        for index, category in enumerate(categories)
        if category.count > (PLAIN_SHARE if index else GRAVE_SHARE) * failed
    ]


def _recommendations(axes: Sequence[Sequence[Category]], failed: int, total: int) -> list[str]:
    found = []
    for *grave, mildest in axes:
        advice = ADVICE.get(mildest.axis.name, GENERAL_ADVICE)
        for categories, words in ((grave, advice[0]), ([mildest], advice[1])):
            if count := sum(category.count for category in categories):
                kinds = " or ".join(str(category) for category in categories)
                found.append(f"{_counted(count, failed, total)} {kinds}: {words}.")
    return found


def _counted(count: int, failed: int, total: int) -> str:
    verb = "has" if count == 1 else "have"
    return f"{count} of {failed} failed records ({count} of {total} in all) {verb}"
