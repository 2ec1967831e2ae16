"""How well the offline judge agrees with people, beside a plain baseline.

The question is turned round: an answer with something unsupported is a positive, and a faithfulness below 4 an alarm.
"""

import re
import statistics
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from labelled import Figure, Judged, chosen, figures
from protocol import Confusion

from synthesis.judge.model import Axis, Rubric, TestCase
from synthesis.judge.offline import OfflineJudge

FAMILY = "faithfulness"
SETS = ("qags_dev", "wice_dev", "begin_dev")
JUDGE, BASELINE = "offline judge", "bigram share, best cut per source"
PASS_AT = 4
_QUESTION = "What does the article say?"  # QAGS has none
_AXES = tuple(Axis(name=name, question="", pass_at=PASS_AT, levels=()) for name in ("faithfulness", "completeness"))
RUBRIC = Rubric(name="benchmark", version="1", axes=_AXES, instructions="")


class Measured(NamedTuple):
    """A row with what the judge said, the judge's support, and the baseline's share."""

    judged: Judged
    support: float
    bigrams: float


def measure(path: Path, part: str) -> list[Measured]:
    return [_measured(row, own, label) for row, own, label in chosen(path, part)]


def _measured(row: dict[str, Any], part: str, label: str) -> Measured:
    case = case_of(row)
    verdict = OfflineJudge().judge(case, RUBRIC)
    alarm = verdict.axes["faithfulness"].score < PASS_AT
    judged = Judged(row, part, label, gold=not row["gold"], said=alarm)
    return Measured(judged, verdict.details["support"], bigram_share(case.answer, " ".join(map(str, case.context))))


def case_of(row: dict[str, Any]) -> TestCase:
    passages = [row["context"]] if isinstance(row["context"], str) else row["context"]
    return TestCase(row["id"], row.get("question") or _QUESTION, row["answer"], tuple(passages))


def bigram_share(answer: str, context: str) -> float:
    """The baseline: plain lower-case words, nothing else."""
    known = set(pairwise(re.findall(r"\w+", context.lower())))
    pairs = list(pairwise(re.findall(r"\w+", answer.lower())))
    return sum(pair in known for pair in pairs) / len(pairs) if pairs else 0.0


def faithfulness_figures(task: str, measured: Sequence[Measured]) -> Iterator[Figure]:
    yield from figures(FAMILY, task, JUDGE, [one.judged for one in measured])
    sources = {one.judged.source for one in measured}
    cuts = {source: best_cut([one for one in measured if one.judged.source == source]) for source in sources}
    baseline = [one.judged._replace(said=one.bigrams < cuts[one.judged.source]) for one in measured]
    yield from figures(FAMILY, task, BASELINE, baseline)


def best_cut(measured: Sequence[Measured]) -> float:
    """The cut that suits the baseline best on these very rows: the judge is compared with it at its strongest."""

    def right(cut: float) -> float:
        table = Confusion.of((one.judged.gold, one.bigrams < cut) for one in measured)
        recall, alarms = table.recall, table.false_alarms
        return recall.hits / max(1, recall.total) - alarms.hits / max(1, alarms.total)

    return max(sorted({one.bigrams for one in measured}), key=right)


def correlations(task: str, measured: Sequence[Measured]) -> Iterator[str]:
    """By source with a finer human score: how the judge's support and the baseline's share go with it."""
    for source in sorted({one.judged.source for one in measured}):
        rows = [one for one in measured if one.judged.source == source and "score" in one.judged.row]
        if len(rows) > 1:
            scores = [float(one.judged.row["score"]) for one in rows]
            judge = statistics.correlation([one.support for one in rows], scores)
            baseline = statistics.correlation([one.bigrams for one in rows], scores)
            yield (
                f"{task}, {source}: Pearson with the human score over {len(rows)} answers: "
                f"offline judge {judge:.3f}, bigram share {baseline:.3f}"
            )
