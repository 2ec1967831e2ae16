"""What went wrong, by axis and kind, with examples and with insights that carry their counts."""

from collections.abc import Mapping, Sequence
from typing import Any

from synthesis.judge.insights import Category, insights
from synthesis.judge.model import Axis, Level, Rubric
from synthesis.judge.verdicts import SCORES, all_passed, camel, reasoning_of, score_of

SHOWN_EXAMPLES = 3

Record = Mapping[str, Any]


def failure_analysis(records: Sequence[Record], rubric: Rubric) -> dict[str, Any]:
    """The low-faithfulness file: the records that did not pass, sorted by what each axis says of them."""
    failed = [record for record in records if not all_passed(record, rubric)]
    analysis: dict[str, Any] = {
        "totalLowQuality": len(failed),
        "totalSamples": len(records),
        "lowQualityRate": _share(len(failed), len(records)),
    }
    categories: list[list[Category]] = []
    for axis in rubric.axes:
        found = {level: _of_level(failed, axis, level) for level in _failing_levels(axis)}
        categories.append([Category(axis, level, len(members)) for level, members in found.items()])
        analysis[f"by{camel(axis.name, capital=True)}Reason"] = {
            _key(level): _category(members, axis, level, len(failed)) for level, members in found.items()
        }
    analysis["insights"] = insights([kinds for kinds in categories if kinds], len(failed), len(records))
    return analysis


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
    return {
        "count": len(members),
        "percentage": len(members) / failed if failed else 0.0,
        "description": f"{level.label}: {level.meaning}",
        "examples": [_example(record, axis) for record in members[:SHOWN_EXAMPLES]],
    }


def _example(record: Record, axis: Axis) -> dict[str, Any]:
    return {
        "queryLogId": record["queryLogId"],
        "question": record["question"],
        "overallScore": record["overallScore"],
        "judgeReasoning": reasoning_of(record, axis),
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
