"""What went wrong, by axis and kind, with examples and with insights that state their counts."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synthesis.judge.claim_figures import unsupported_claims
from synthesis.judge.model import Axis, Level, Rubric
from synthesis.judge.records import SCORES, all_passed, camel, reasoning_of, score_of
from synthesis.judge.statistics import share
from synthesis.report.judged.run import EMPTY, axis_title

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


SHOWN_EXAMPLES = 3

Record = Mapping[str, Any]


def failure_analysis(records: Sequence[Record], rubric: Rubric, judge: str = "") -> dict[str, Any]:
    """The low-faithfulness file: the records that did not pass, sorted by what each axis says of them.

    An empty answer contradicts nothing and explains nothing, so it is in no category of an axis but in its own.
    `judge` is its provider: what was not validated for it says so.
    """
    failed = [record for record in records if not all_passed(record, rubric)]
    analysis: dict[str, Any] = {
        "totalLowQuality": len(failed),
        "totalSamples": len(records),
        "lowQualityRate": share(len(failed), len(records)),
    }
    empty = [record for record in failed if EMPTY in record.get("flags", ())]
    spoken = [record for record in failed if EMPTY not in record.get("flags", ())]
    categories: list[list[Category]] = []
    for axis in rubric.axes:
        found = {level: _of_level(spoken, axis, level) for level in _failing_levels(axis)}
        categories.append(
            [Category(axis, level, len(members), axis_title(judge, axis.name)) for level, members in found.items()]
        )
        analysis[f"by{camel(axis.name, capital=True)}Reason"] = {
            _key(level): _category(members, axis, level, len(failed)) for level, members in found.items()
        }
    analysis["insights"] = insights([kinds for kinds in categories if kinds], len(failed), len(records), len(empty))
    analysis["emptyAnswers"] = _kind(empty, rubric.axes[0], "The answer is empty: nothing was judged", len(failed))
    claims = unsupported_claims(records)
    return analysis | ({"claims": claims} if claims else {})


def _failing_levels(axis: Axis) -> list[Level]:
    """One level per failing score, also for a score that the rubric does not describe."""
    described = {level.score: level for level in axis.levels}
    return [
        described.get(score) or Level(score, f"Score {score}", "not described by the rubric")
        for score in SCORES
        if score < axis.pass_at
    ]


def _key(level: Level) -> str:
    return level.key or f"score{level.score}"


def _of_level(failed: Sequence[Record], axis: Axis, level: Level) -> list[Record]:
    return [record for record in failed if score_of(record, axis) == level.score]


def _category(members: Sequence[Record], axis: Axis, level: Level, failed: int) -> dict[str, Any]:
    return _kind(members, axis, f"{level.label}: {level.meaning}", failed)


def _kind(members: Sequence[Record], axis: Axis, description: str, failed: int) -> dict[str, Any]:
    return {
        "count": len(members),
        "percentage": len(members) / failed if failed else 0.0,
        "description": description,
        "examples": [_example(record, axis) for record in members[:SHOWN_EXAMPLES]],
    }


def _example(record: Record, axis: Axis) -> dict[str, Any]:
    return {
        "queryLogId": record["queryLogId"],
        "question": record["question"],
        "overallScore": record["overallScore"],
        "judgeReasoning": reasoning_of(record, axis),
    }
