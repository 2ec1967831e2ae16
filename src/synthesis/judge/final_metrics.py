"""The figures over several iterations: their spread, how stable samples are, how far the judge agrees with itself."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from synthesis.judge.model import Axis, Rubric
from synthesis.judge.records import all_passed, axis_passed, camel, score_of
from synthesis.stats import krippendorff_alpha_ordinal, pass_hat_k

Record = Mapping[str, Any]
Row = Sequence[Record | None]  # one sample's records, by iteration; None where it was not judged


def final_metrics(
    per_iteration: Sequence[dict[str, Any]],
    per_iteration_records: Sequence[Sequence[Record]],
    rubric: Rubric,
    *,
    timestamp: str,
) -> dict[str, Any]:
    """The final metrics file over all iterations, from their metrics and their records."""
    rows = _by_sample(per_iteration_records)
    total = max([len(rows), *(metrics["sampleCount"] for metrics in per_iteration)])
    return {
        "iterations": len(per_iteration),
        "timestamp": timestamp,
        "aggregateMetrics": {name: _spread(per_iteration, name) for name in _aggregated(rubric)},
        "perIterationMetrics": list(per_iteration),
        "stability": _stability(rows, rubric, total, len(per_iteration)),
        "agreement": {axis.name: _agreement(list(rows.values()), axis) for axis in rubric.axes},
    }


def _aggregated(rubric: Rubric) -> list[str]:
    names = []
    for axis in rubric.axes:
        names += [f"average{camel(axis.name, capital=True)}Score", f"{camel(axis.name)}PassRate"]
    return [*names, "overallPassRate"]


def _spread(per_iteration: Sequence[Mapping[str, Any]], name: str) -> dict[str, float | None]:
    values = [metrics[name]["value"] for metrics in per_iteration if metrics[name]["value"] is not None]
    if not values:
        return {"mean": None, "min": None, "max": None, "stdDev": None}
    return {
        "mean": statistics.fmean(values),
        "min": min(values),
        "max": max(values),
        "stdDev": statistics.pstdev(values),
    }


def _by_sample(per_iteration_records: Sequence[Sequence[Record]]) -> dict[str, list[Record | None]]:
    """Each sample's records over the iterations, samples in the order of their first appearance."""
    rows: dict[str, list[Record | None]] = {}
    for index, records in enumerate(per_iteration_records):
        for record in records:
            row = rows.setdefault(record["queryLogId"], [None] * len(per_iteration_records))
            row[index] = record
    return rows


def _stability(rows: Mapping[str, Row], rubric: Rubric, total: int, iterations: int) -> dict[str, Any]:
    """`passHatK`: the chance that k iterations all pass a sample; one that was not judged has not passed."""
    samples = [_sample(name, row, rubric) for name, row in rows.items()]
    passes = [sum(passed is True for passed in sample["passed"]) for sample in samples]
    passes += [0] * (total - len(samples))
    return {
        "samples": samples,
        "flipped": {
            name: sum(sample["flips"][name] > 0 for sample in samples)
            for name in [*(axis.name for axis in rubric.axes), "overall"]
        },
        "sampleCount": total,
        "passHatK": {str(k): pass_hat_k(passes, iterations, k) for k in range(1, iterations + 1)},
    }


def _sample(name: str, row: Row, rubric: Rubric) -> dict[str, Any]:
    return {
        "queryLogId": name,
        "scores": {
            axis.name: [None if record is None else score_of(record, axis) for record in row] for axis in rubric.axes
        },
        "passed": [None if record is None else all_passed(record, rubric) for record in row],
        "flips": {axis.name: _axis_flips(row, axis) for axis in rubric.axes}
        | {"overall": _flips(row, lambda record: all_passed(record, rubric))},
    }


def _axis_flips(row: Row, axis: Axis) -> int:
    return _flips(row, lambda record: axis_passed(record, axis))


def _flips(row: Row, passed: Callable[[Record], bool]) -> int:
    """How often the outcome changes from one judged iteration to the next."""
    outcomes = [passed(record) for record in row if record is not None]
    return sum(before != after for before, after in pairwise(outcomes))


def _agreement(rows: Sequence[Row], axis: Axis) -> dict[str, Any]:
    units = [[score_of(record, axis) for record in row if record is not None] for row in rows]
    compared = sum(len(unit) > 1 for unit in units)
    alpha = krippendorff_alpha_ordinal(units)
    found = {"alpha": alpha, "samples": compared}
    return found if alpha is not None else {**found, "reason": _undefined(compared)}


def _undefined(compared: int) -> str:
    if not compared:
        return "no sample was judged in two or more iterations"
    return "all scores are the same: without variation, agreement cannot be distinguished from chance"
