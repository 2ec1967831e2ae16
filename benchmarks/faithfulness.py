"""How well the offline judge agrees with people: benchmarks/faithfulness.py FOLDER

FOLDER holds `*.jsonl` files of human judgements: `id`, `source`, `context`, `answer`, `score`, `gold`.
Prints, by source, Pearson of `support` with `score` and balanced accuracy of faithfulness >= 4 against `gold`
each with a 95 % bootstrap interval, beside the share of answer bigrams that the context has.
"""

import argparse
import json
import math
import random
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from synthesis.judge.model import Axis, Rubric, TestCase
from synthesis.judge.offline import OfflineJudge

RESAMPLES = 2000
PASS_AT = 4
RUBRIC = Rubric(
    name="benchmark",
    version="1",
    axes=(
        Axis(name="faithfulness", question="", pass_at=PASS_AT, levels=()),
        Axis(name="completeness", question="", pass_at=PASS_AT, levels=()),
    ),
    instructions="",
)


class Sample(NamedTuple):
    """One human judgement beside what the judge and the baseline say."""

    source: str
    score: float
    gold: int
    support: float
    passed: bool
    bigrams: float


Statistic = Callable[[Sequence[Sample]], float]


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of all files, in order of file name."""
    lines = (line for path in sorted(folder.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines())
    return [json.loads(line) for line in lines if line.strip()]


def judged(row: dict[str, Any]) -> Sample:
    case = TestCase(row["id"], "What does the article say?", row["answer"], (row["context"],))
    verdict = OfflineJudge().judge(case, RUBRIC)
    return Sample(
        source=row["source"],
        score=row["score"],
        gold=row["gold"],
        support=verdict.details["support"],
        passed=verdict.axes["faithfulness"].score >= PASS_AT,
        bigrams=bigram_share(row["answer"], row["context"]),
    )


def bigram_share(answer: str, context: str) -> float:
    """The baseline: plain lower-case words, nothing else."""
    known = set(pairwise(re.findall(r"\w+", context.lower())))
    pairs = list(pairwise(re.findall(r"\w+", answer.lower())))
    return sum(pair in known for pair in pairs) / len(pairs) if pairs else 0.0


def pearson(pairs: Iterable[tuple[float, float]]) -> float:
    left, right = zip(*pairs, strict=True)
    mean_left, mean_right = sum(left) / len(left), sum(right) / len(right)
    top = sum((a - mean_left) * (b - mean_right) for a, b in zip(left, right, strict=True))
    spread = math.sqrt(sum((a - mean_left) ** 2 for a in left) * sum((b - mean_right) ** 2 for b in right))
    return top / spread if spread else math.nan


def balanced_accuracy(pairs: Iterable[tuple[bool, int]]) -> float:
    right: dict[int, list[bool]] = {0: [], 1: []}
    for said, gold in pairs:
        right[gold].append(said == bool(gold))
    return sum(sum(hits) / len(hits) for hits in right.values()) / 2 if all(right.values()) else math.nan


def best_cut(samples: Sequence[Sample]) -> float:
    """The cut that suits the baseline best on these very samples: it is compared at its strongest."""
    return max(
        sorted({sample.bigrams for sample in samples}),
        key=lambda cut: balanced_accuracy((sample.bigrams >= cut, sample.gold) for sample in samples),
    )


def with_interval(statistic: Statistic, samples: Sequence[Sample]) -> str:
    """The figure and its 95 % percentile bootstrap interval, from a fixed seed."""
    chance = random.Random(0)
    values = sorted(
        value for _ in range(RESAMPLES) if not math.isnan(value := statistic(chance.choices(samples, k=len(samples))))
    )
    low, high = values[int(0.025 * len(values))], values[int(0.975 * len(values)) - 1]
    return f"{statistic(samples):.3f} [{low:.2f}, {high:.2f}]"


def judge_row(source: str, samples: Sequence[Sample]) -> str:
    def correlation(some: Sequence[Sample]) -> float:
        return pearson((sample.support, sample.score) for sample in some)

    def accuracy(some: Sequence[Sample]) -> float:
        return balanced_accuracy((sample.passed, sample.gold) for sample in some)

    return table_row("offline judge", source, samples, correlation, accuracy)


def baseline_row(source: str, samples: Sequence[Sample]) -> str:
    cut = best_cut(samples)

    def correlation(some: Sequence[Sample]) -> float:
        return pearson((sample.bigrams, sample.score) for sample in some)

    def accuracy(some: Sequence[Sample]) -> float:
        return balanced_accuracy((sample.bigrams >= cut, sample.gold) for sample in some)

    return table_row("bigram share, best cut", source, samples, correlation, accuracy)


def table_row(name: str, source: str, samples: Sequence[Sample], left: Statistic, right: Statistic) -> str:
    figures = f"{with_interval(left, samples)} | {with_interval(right, samples)}"
    return f"| {source} | {len(samples)} | {name} | {figures} |"


def print_table(samples: Sequence[Sample]) -> None:
    print("| source | n | measure | Pearson [95 %] | balanced accuracy [95 %] |")
    print("| --- | --- | --- | --- | --- |")
    for source in sorted({sample.source for sample in samples}):
        chosen = [sample for sample in samples if sample.source == source]
        print(judge_row(source, chosen))
        print(baseline_row(source, chosen))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with *.jsonl files of human judgements")
    rows = read_rows(parser.parse_args().folder)
    if not rows:
        parser.error("the folder holds no *.jsonl file with judgements")
    print_table([judged(row) for row in rows])


if __name__ == "__main__":
    main()
