"""How far a judge's scores agree with those of people."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from synthesis.errors import Place, TestSetError
from synthesis.judge.model import Axis, Rubric
from synthesis.judge.records import SCORES, has_scores, on_present_texts, score_of
from synthesis.judge.testset import Problems, as_test_set_errors, named
from synthesis.read.json import read_json
from synthesis.read.lines import MOST_LINE, kind_of
from synthesis.report.judged.layout import id_in, without_id
from synthesis.stats import bootstrap_interval, mean_of_counts, quadratic_weighted_kappa, rate

Labels = Mapping[str, Mapping[str, int]]  # id -> axis -> score
Pair = tuple[int, int]  # human score, judge score

LABEL_HINT = (
    'Labels are [{"id": "...", "faithfulness": 4, ...}] or {"ID": {"faithfulness": 4, ...}}, '
    "with whole scores from 1 to 5."
)


def load_labels(path: str | os.PathLike[str]) -> dict[str, dict[str, int]]:
    """Human scores by id and axis; texts beside them are remarks, null is an axis left open."""
    file = os.fspath(path)
    problems = Problems(file, hint=LABEL_HINT)
    labels: dict[str, dict[str, int]] = {}
    seen: dict[str, str] = {}
    with as_test_set_errors():
        content = read_json(Path(path), MOST_LINE)
    for position, name, entry in _entries(content, file):
        if not isinstance(entry, dict):
            problems.add(named(position, name), f"must be an object, not {kind_of(entry)}")
        elif not isinstance(name, str) or not name.strip():
            problems.add(position, "has no id")
        elif name in seen:
            problems.add(named(position, name), f"the same id appears at {seen[name]}")
        else:
            seen[name] = position
            labels[name] = _scores(entry, named(position, name), problems)
    problems.raise_if_any()
    if not labels:
        raise TestSetError("there are no labels", place=Place(file), hint=LABEL_HINT)
    return labels


def _entries(value: object, file: str) -> list[tuple[str, object, object]]:
    """The position of each label, its id and its content."""
    if isinstance(value, dict):
        return [(f"label {number}", name, entry) for number, (name, entry) in enumerate(value.items(), 1)]
    if isinstance(value, list):
        return [
            (f"label {number}", id_in(entry) if isinstance(entry, dict) else None, entry)
            for number, entry in enumerate(value, 1)
        ]
    raise TestSetError(f"expected labels, found {kind_of(value)}", place=Place(file), hint=LABEL_HINT)


def _scores(entry: Mapping[str, Any], where: str, problems: Problems) -> dict[str, int]:
    given = {axis: value for axis, value in without_id(entry).items() if not _is_remark(value)}
    if not given:
        problems.add(where, "has no score")
    scores = {axis: value for axis, value in given.items() if type(value) is int and value in SCORES}
    for axis in sorted(given.keys() - scores.keys()):
        problems.add(where, f"{axis} must be a whole number from 1 to 5")
    return scores


def _is_remark(value: object) -> bool:
    """A text or null beside the scores; a number in quotes is meant as a score."""
    return value is None or (isinstance(value, str) and not value.strip().replace(".", "").isdigit())


def calibrate(records: Sequence[Mapping[str, Any]], labels: Labels, rubric: Rubric) -> dict[str, Any]:
    """Judge against people, axis by axis, over the samples that have both; one that needs a judge has no verdict."""
    records = on_present_texts(records)
    known_ids = {record["queryLogId"]: None for record in records}  # in the order of the set
    judged = {record["queryLogId"]: record for record in records if has_scores(record)}
    matched = [name for name in labels if name in judged]
    known = {axis.name for axis in rubric.axes}
    labelled = {axis for scores in labels.values() for axis in scores}
    return {
        "n": len(matched),
        "records": len(known_ids),
        "labels": len(labels),
        "labelsWithoutRecord": [name for name in labels if name not in known_ids],
        "recordsWithoutLabel": [name for name in known_ids if name not in labels],
        "needJudge": [name for name in known_ids if name not in judged],
        "unknownAxes": sorted(labelled - known),
        "axes": {axis.name: _axis(_pairs(matched, judged, labels, axis), axis) for axis in rubric.axes},
    }


def _pairs(names: Sequence[str], judged: Mapping[str, Mapping[str, Any]], labels: Labels, axis: Axis) -> list[Pair]:
    return [(labels[name][axis.name], score_of(judged[name], axis)) for name in names if axis.name in labels[name]]


def _axis(pairs: Sequence[Pair], axis: Axis) -> dict[str, Any]:
    counts = Counter(pairs)
    kappa = quadratic_weighted_kappa(counts)
    found = {
        "n": len(pairs),
        "quadraticWeightedKappa": {
            "value": kappa,
            "interval": bootstrap_interval(pairs, quadratic_weighted_kappa),
        },
        "bias": _bias(pairs),
        "exactAgreement": rate(sum(human == judge for human, judge in pairs), len(pairs)),
        "passAgreement": rate(
            sum((human >= axis.pass_at) == (judge >= axis.pass_at) for human, judge in pairs), len(pairs)
        ),
        "confusion": {
            "rows": "human score 1 to 5",
            "columns": "judge score 1 to 5",
            "counts": [[counts[human, judge] for judge in SCORES] for human in SCORES],
        },
    }
    return found if kappa is not None else {**found, "reason": _undefined(len(pairs))}


def _undefined(n: int) -> str:
    if not n:
        return "no sample has both a verdict and a label on this axis"
    return "judge and people gave the same score throughout: agreement cannot be distinguished from chance"


def _bias(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Judge minus human: above zero the judge is milder than people."""
    differences = [judge - human for human, judge in pairs]
    return {
        "value": mean_of_counts(Counter(differences)),
        "interval": bootstrap_interval(differences, mean_of_counts),
        "description": "Mean of judge score minus human score",
    }
