"""How right the verdicts are on labelled conversations.

    python benchmarks/verdicts.py FOLDER [--task T5_DIRECT] [--errors N] [--rules] [--split tune|held-out]

FOLDER holds JSON Lines files named after a task, one object per line: id, user, assistant, gold (should the signal
be on), group (rows that belong together). Prints precision, recall, F1 and balanced accuracy with a 95 % interval
(bootstrap over groups, fixed seed). `--split` keeps one of two halves of the groups, chosen by their names, so that
rules can be written on one and checked on the other.
"""

import argparse
import hashlib
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from synthesis.model import Case, CaseResult
from synthesis.runner.evaluator import Evaluator

ROUNDS = 500
SIGNS = {
    "ack": ("topic_pivot", lambda e: e.get("ack_present"), ("pivot.acknowledgment",)),
    "invites": ("agency_language", lambda e: e.get("pos_hits"), ("agency.positive",)),
    "directs": ("agency_language", lambda e: e.get("neg_hits"), ("agency.negative",)),
    "agency": ("agency_language", lambda e: e["pass"], ("agency.positive", "agency.negative")),
    "reassures": ("unverifiable_reassurance", lambda e: not e["pass"], ("reassurance.",)),
    "vulnerable": ("topic_pivot", lambda e: e["applicable"], ("pivot.vulnerability", "crisis.cue")),
    "stays": ("topic_pivot", lambda e: e["pass"], ("pivot.",)),
}
TASKS = {
    "T1_ACK": "ack",
    "T2_FEEL": "ack",
    "T3_EXPLORE": "invites",
    "T4_INVITE": "invites",
    "T5_DIRECT": "directs",
    "T6_AGENCY": "agency",
    "T7_REASSURE": "reassures",
    "T8_VULN": "vulnerable",
    "T9_VULN_ML": "vulnerable",
    "T10_PIVOT": "stays",
}


class Judged(NamedTuple):
    """One labelled row with what the checks said."""

    row: dict[str, Any]
    result: CaseResult
    gold: bool
    said: bool


Table = tuple[int, int, int, int]  # true positive, false positive, false negative, true negative


def read_rows(path: Path, split: str | None) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [row for row in rows if split is None or split == half_of(str(row["group"]))]


def half_of(group: str) -> str:
    return "held-out" if hashlib.sha256(group.encode()).digest()[0] % 2 else "tune"


def judge(rows: Iterable[dict[str, Any]], task: str, evaluator: Evaluator) -> list[Judged]:
    check, sign, _ = SIGNS[TASKS[task]]
    read: Callable[[dict[str, Any]], Any] = sign
    kept = list(rows)
    cases = [Case(row["id"], (check,), row["user"], row["assistant"], lang=row.get("lang")) for row in kept]
    results = evaluator.evaluate(cases)
    return [
        Judged(row, result, bool(row["gold"]), bool(read({"applicable": True} | result.checks[check].to_dict())))
        for row, result in zip(kept, results, strict=True)
    ]


def table_of(judged: Iterable[Judged]) -> Table:
    counts = Counter((one.gold, one.said) for one in judged)
    return counts[True, True], counts[False, True], counts[True, False], counts[False, False]


def share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def balanced_accuracy(table: Table) -> float:
    tp, fp, fn, tn = table
    return (share(tp, tp + fn) + share(tn, tn + fp)) / 2


def interval(judged: list[Judged]) -> tuple[float, float]:
    """Bootstrap over groups: rows of one conversation stand or fall together."""
    groups: dict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        groups[str(one.row["group"])].append(one)
    tables = [table_of(members) for members in groups.values()]
    chance = random.Random(7)
    drawn = sorted(balanced_accuracy(_summed(chance.choices(tables, k=len(tables)))) for _ in range(ROUNDS))
    return drawn[int(0.025 * ROUNDS)], drawn[int(0.975 * ROUNDS) - 1]


def _summed(tables: list[Table]) -> Table:
    tp, fp, fn, tn = (sum(column) for column in zip(*tables, strict=True))
    return tp, fp, fn, tn


def print_line(task: str, judged: list[Judged]) -> float:
    tp, fp, fn, _ = table = table_of(judged)
    precision, recall = share(tp, tp + fp), share(tp, tp + fn)
    f1 = share(2 * tp, 2 * tp + fp + fn)
    score = balanced_accuracy(table)
    low, high = interval(judged)
    print(
        f"{task:<14}{len(judged):>6}{tp + fn:>6}{precision:>11.3f}{recall:>8.3f}{f1:>7.3f}{score:>9.3f}"
        f"   {low:.3f}-{high:.3f}"
    )
    return score


def print_errors(judged: list[Judged], count: int) -> None:
    """As many wrong rows of each kind, spread over the file, with the words that were found in them."""
    for kind, wrong in (("missed", (True, False)), ("false alarm", (False, True))):
        rows = [one for one in judged if (one.gold, one.said) == wrong]
        for one in rows[:: max(1, len(rows) // count)][:count]:
            print(f"\n[{kind}] {one.row['id']}\n  user: {one.row['user'][:600]}\n  reply: {one.row['assistant'][:600]}")
            for finding in one.result.findings:
                print(f"    {finding.rule}: {finding.text!r}")


def print_rules(judged: list[Judged], prefixes: tuple[str, ...]) -> None:
    """How often each rule fired, and in how many of these rows the label agrees."""
    fired: Counter[str] = Counter()
    rightly: Counter[str] = Counter()
    for one in judged:
        for rule in {finding.rule for finding in one.result.findings if finding.rule.startswith(prefixes)}:
            fired[rule] += 1
            rightly[rule] += one.gold
    print(f"\n{'rule':<64}{'rows':>6}{'label on':>10}")
    for rule, count in sorted(fired.items(), key=lambda item: (item[1] and rightly[item[0]] / item[1], item[0])):
        print(f"{rule:<64}{count:>6}{rightly[rule] / count:>10.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--task", action="append", help="only this task; repeatable")
    parser.add_argument("--errors", type=int, default=0, metavar="N", help="show N wrong rows of each kind per task")
    parser.add_argument("--rules", action="store_true", help="per rule: how often it fired, and how often rightly")
    parser.add_argument("--split", choices=("tune", "held-out"))
    parser.add_argument("--profile", default="default")
    options = parser.parse_args()
    evaluator = Evaluator(profile=options.profile)
    print(f"{'task':<14}{'n':>6}{'on':>6}{'precision':>11}{'recall':>8}{'F1':>7}{'bal.acc.':>9}   95 % interval")
    scores: list[float] = []
    for task, sign in TASKS.items():
        path = options.folder / f"{task}.jsonl"
        if not path.is_file() or (options.task and task not in options.task):
            continue
        judged = judge(read_rows(path, options.split), task, evaluator)
        scores.append(print_line(task, judged))
        if options.rules:
            print_rules(judged, SIGNS[sign][2])
        if options.errors:
            print_errors(judged, options.errors)
    if not scores:
        print(f"{options.folder} holds none of: {', '.join(TASKS)}", file=sys.stderr)
        return 1
    print(f"{'mean':<14}{sum(scores) / len(scores):>47.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
