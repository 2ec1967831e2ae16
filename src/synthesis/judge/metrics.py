"""The figures of judged records: of one iteration, over all of them, and what the failures have in common.

Names follow the rubric's axes; every figure says what it counts. Rates are over all samples of the set: a sample that
ended in an error or was not judged has not passed. Averages are over the judged samples. A stale record counts nowhere.
"""

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from synthesis.judge.claims import claim_metrics, unsupported_claims
from synthesis.judge.model import Axis, Level, Rubric
from synthesis.judge.records import (
    SCORES,
    all_passed,
    axis_passed,
    camel,
    has_scores,
    on_present_texts,
    reasoning_of,
    score_of,
)
from synthesis.report.judged.outcome import ADVICE, EMPTY_ADVICE, GENERAL_ADVICE
from synthesis.report.judged.run import EMPTY, axis_title
from synthesis.stats import bootstrap_interval, krippendorff_alpha, mean_of_counts, pass_hat_k, rate, share

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

    `calls` are those that were paid for each sample that ended with a verdict or an error. `untold` counts the records
    that need a judge: they have not passed, and they are in no average.
    """
    every = on_present_texts(records)
    records = [record for record in every if has_scores(record)]
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
    metrics["untold"] = len(every) - len(records)
    claims = claim_metrics(every)
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


# Over several iterations: the spread, how stable samples are, how far the judge agrees with itself.


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
        for record in on_present_texts(records):
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
    told = _told(row)
    return {
        "queryLogId": name,
        "scores": {
            axis.name: [None if record is None else score_of(record, axis) for record in told] for axis in rubric.axes
        },
        "passed": [None if record is None else all_passed(record, rubric) for record in told],
        "flips": {axis.name: _axis_flips(row, axis) for axis in rubric.axes}
        | {"overall": _flips(row, lambda record: all_passed(record, rubric))},
    }


def _told(row: Row) -> Row:
    """A sample that needs a judge has no outcome that could change."""
    return [record if record is not None and has_scores(record) else None for record in row]


def _axis_flips(row: Row, axis: Axis) -> int:
    return _flips(row, lambda record: axis_passed(record, axis))


def _flips(row: Row, passed: Callable[[Record], bool]) -> int:
    """How often the outcome changes from one judged iteration to the next."""
    outcomes = [passed(record) for record in _told(row) if record is not None]
    return sum(before != after for before, after in pairwise(outcomes))


def _agreement(rows: Sequence[Row], axis: Axis) -> dict[str, Any]:
    units = [tuple(sorted(score_of(record, axis) for record in _told(row) if record is not None)) for row in rows]
    compared = sum(len(unit) > 1 for unit in units)
    alpha = krippendorff_alpha(Counter(units))
    found = {"alpha": alpha, "samples": compared}
    return found if alpha is not None else {**found, "reason": _undefined(compared)}


def _undefined(compared: int) -> str:
    if not compared:
        return "no sample was judged in two or more iterations"
    return "all scores are the same: without variation, agreement cannot be distinguished from chance"


# Failure analysis: what went wrong, by axis and kind, with examples.


SHOWN_EXAMPLES = 3


def failure_analysis(records: Sequence[Record], rubric: Rubric, judge: str = "") -> dict[str, Any]:
    """The low-faithfulness file: the records that did not pass, sorted by what each axis says of them.

    An empty answer contradicts nothing and explains nothing, so it is in no category of an axis but in its own.
    `judge` is its provider: what was not validated for it says so. A record that needs a judge has not failed.
    """
    every = on_present_texts(records)
    records = [record for record in every if has_scores(record)]
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
    claims = unsupported_claims(every)
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


# What the kinds of failure add up to, in sentences that state their counts: strengths, weaknesses, what to do.


GOOD_SHARE = 0.8  # of all records passed: a strength
FEW = 0.3  # of the failed records: below it the mildest kind of failure is rare
GRAVE_SHARE, PLAIN_SHARE = 0.3, 0.5  # of the failed records: above it a kind of failure is a weakness


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
        found.append(
            f"Few records have {mildest}: {mildest.count} of {failed} failed ({mildest.count} of {total} in all)."
        )
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
