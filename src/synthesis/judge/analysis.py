"""What went wrong, by axis and kind, with examples."""

from collections.abc import Mapping, Sequence
from typing import Any

from synthesis.judge.claim_figures import unsupported_claims
from synthesis.judge.insights import Category, insights
from synthesis.judge.model import Axis, Level, Rubric
from synthesis.judge.records import SCORES, all_passed, camel, reasoning_of, score_of
from synthesis.report.judged.run import EMPTY, axis_title
from synthesis.stats import share

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
