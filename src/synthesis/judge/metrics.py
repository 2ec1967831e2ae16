"""The figures of one iteration. Names follow the rubric's axes; every figure says what it counts.

Rates are over all samples of the set: a sample that ended in an error or was not judged has not passed. Averages
are over the judged samples.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from synthesis.judge.claim_figures import claim_metrics
from synthesis.judge.model import Axis, Rubric
from synthesis.judge.records import SCORES, all_passed, axis_passed, camel, score_of
from synthesis.stats import bootstrap_interval, mean_of_counts, rate

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
    calls: Sequence[int] = (),
) -> dict[str, Any]:
    """The metrics file of one iteration; `total` counts all samples of the set, judged or not.

    `calls` are those that were paid for each sample that ended with a verdict or an error.
    """
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
    metrics |= {"judged": len(records), "errors": errors, "notJudged": not_judged, "stale": stale}
    claims = claim_metrics(records)
    return metrics | {"callsPerSample": _calls(calls)} | ({"claims": claims} if claims else {})


def _calls(calls: Sequence[int]) -> dict[str, Any]:
    """`distribution`: how many samples took so many calls."""
    return {
        "value": mean_of_counts(Counter(calls)),
        "numerator": sum(calls),
        "denominator": len(calls),
        "description": "Mean number of calls with a reply, over the judged and failed samples",
        "distribution": {str(count): calls.count(count) for count in sorted(set(calls))},
    }


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
    return {**rate(passed, total, description), "judgedOnly": rate(passed, judged)}


def _distribution(records: Sequence[Record], axis: Axis) -> dict[str, int]:
    counts = Counter(score_of(record, axis) for record in records)
    return {f"score{score}": counts[score] for score in SCORES}
