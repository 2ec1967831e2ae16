"""The figures of one iteration. Names follow the rubric's axes; every figure says what it counts.

Rates are over all samples of the set: a sample that ended in error or was not judged has not passed. Averages
are over the judged. `final_metrics` puts several iterations together.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from synthesis.judge.final_metrics import final_metrics
from synthesis.judge.model import Axis, Rubric
from synthesis.judge.statistics import bootstrap_interval, mean_of_counts, wilson_interval
from synthesis.judge.verdicts import SCORES, all_passed, axis_passed, camel, score_of

__all__ = ["final_metrics", "iteration_metrics"]

Record = Mapping[str, Any]


def iteration_metrics(
    records: Sequence[Record],
    rubric: Rubric,
    *,
    iteration: int,
    timestamp: str,
    total: int,
    errors: int,
    not_judged: int,
    stale: int,
) -> dict[str, Any]:
    """The metrics file of one iteration; `total` counts all samples of the set, judged or not."""
    metrics: dict[str, Any] = {"iteration": iteration, "timestamp": timestamp, "sampleCount": total}
    for axis in rubric.axes:
        metrics |= _axis_figures(records, axis, total)
    metrics["overallPassRate"] = _rate(
        sum(all_passed(record, rubric) for record in records),
        len(records),
        total,
        f"Share of all samples that pass: {_thresholds(rubric)}",
    )
    metrics["averageCourseCount"] = _average(
        [record["courseCount"] for record in records],
        "Mean number of context entries, over the judged samples",
    )
    for axis in rubric.axes:
        metrics[f"{camel(axis.name)}Distribution"] = _distribution(records, axis)
    return metrics | {"judged": len(records), "errors": errors, "notJudged": not_judged, "stale": stale}


def _axis_figures(records: Sequence[Record], axis: Axis, total: int) -> dict[str, Any]:
    passed = sum(axis_passed(record, axis) for record in records)
    return {
        f"average{camel(axis.name, capital=True)}Score": _average(
            [score_of(record, axis) for record in records],
            f"Mean {axis.name} score (1 to 5), over the judged samples",
        ),
        f"{camel(axis.name)}PassRate": _rate(
            passed, len(records), total, f"Share of all samples with {axis.name} >= {axis.pass_at}"
        ),
    }


def _thresholds(rubric: Rubric) -> str:
    return " and ".join(f"{axis.name} >= {axis.pass_at}" for axis in rubric.axes)


def _average(values: Sequence[int], description: str) -> dict[str, Any]:
    return {
        "value": mean_of_counts(Counter(values)),
        "numerator": sum(values),
        "denominator": len(values),
        "description": description,
        "interval": bootstrap_interval(values, mean_of_counts),
    }


def _rate(passed: int, judged: int, total: int, description: str) -> dict[str, Any]:
    judged_only = {"value": _share(passed, judged), "numerator": passed, "denominator": judged}
    return {
        "value": _share(passed, total),
        "numerator": passed,
        "denominator": total,
        "description": description,
        "interval": wilson_interval(passed, total),
        "judgedOnly": {**judged_only, "interval": wilson_interval(passed, judged)},
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _distribution(records: Sequence[Record], axis: Axis) -> dict[str, int]:
    counts = Counter(score_of(record, axis) for record in records)
    return {f"score{score}": counts[score] for score in SCORES}
