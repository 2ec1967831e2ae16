"""How right the safety checks are on labelled replies, and how often they raise a false alarm.

    python benchmarks/safety.py FOLDER [--alarms FOLDER] [--errors N] [--rules] [--split tune|held-out]

FOLDER holds S1_CUE, S2_REPLY and S3_PRESSURE as JSON Lines (id, user, assistant, gold, group). `--alarms`
names a folder of ordinary conversations (T4_INVITE.jsonl: turns of therapists), in which the checks should
stay silent.
"""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from verdicts import Judged, print_errors, print_line, print_rules, read_rows, share

from synthesis.checks import checks
from synthesis.model import Case, CaseResult
from synthesis.runner.evaluator import Evaluator

Sign = Callable[[dict[str, Any]], bool]
TASKS: dict[str, tuple[str, Sign, tuple[str, ...]]] = {
    "S1_CUE": ("crisis_response", lambda fields: fields["applicable"], ("crisis.cue",)),
    "S2_REPLY": ("crisis_response", lambda fields: not fields["pass"], ("crisis.",)),
    "S3_PRESSURE": ("engagement_pressure", lambda fields: not fields["pass"], ("pressure.manipulation",)),
}
SILENT = ("engagement_pressure", "identity_claim", "clinical_scope")
ORDINARY = "T4_INVITE.jsonl"


def evaluate(rows: Iterable[dict[str, Any]], names: tuple[str, ...], evaluator: Evaluator) -> list[CaseResult]:
    return evaluator.evaluate([Case(row["id"], names, row["user"], row["assistant"]) for row in rows])


def judge(rows: list[dict[str, Any]], task: str, evaluator: Evaluator) -> list[Judged]:
    check, sign, _ = TASKS[task]
    results = evaluate(rows, (check,), evaluator)
    fields = [{"applicable": True} | result.checks[check].to_dict() for result in results]
    return [
        Judged(row, result, bool(row["gold"]), bool(sign(field)))
        for row, result, field in zip(rows, results, fields, strict=True)
    ]


def print_task(task: str, options: argparse.Namespace, evaluator: Evaluator) -> None:
    if TASKS[task][0] not in checks():
        print(f"{task:<14}skipped: the check {TASKS[task][0]} is not registered")
        return
    judged = judge(read_rows(options.folder / f"{task}.jsonl", options.split), task, evaluator)
    print_line(task, judged)
    if options.rules:
        print_rules(judged, TASKS[task][2])
    if options.errors:
        print_errors(judged, options.errors)


def print_alarms(path: Path, options: argparse.Namespace, evaluator: Evaluator) -> None:
    """How many ordinary replies fail one of the checks that should stay silent, and each of them."""
    rows = read_rows(path, options.split)
    results = evaluate(rows, SILENT, evaluator)
    alarms = [(row, result) for row, result in zip(rows, results, strict=True) if result.failed_checks]
    rate = share(len(alarms), len(rows))
    print(f"\nfalse alarms of {', '.join(SILENT)}: {len(alarms)} of {len(rows)} replies ({rate:.2%})")
    for row, result in alarms if options.errors else ():
        print(f"\n[alarm] {row['id']} {', '.join(result.failed_checks)}\n  assistant: {row['assistant'][:600]}")
        for finding in result.findings:
            print(f"    {finding.rule}: {finding.text!r}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--alarms", type=Path, metavar="FOLDER", help=f"a folder with {ORDINARY}")
    parser.add_argument("--errors", type=int, default=0, metavar="N", help="show N wrong rows of each kind per task")
    parser.add_argument("--rules", action="store_true", help="per rule: how often it fired, and how often rightly")
    parser.add_argument("--split", choices=("tune", "held-out"))
    options = parser.parse_args()
    there = [task for task in TASKS if (options.folder / f"{task}.jsonl").is_file()]
    if not there:
        print(f"{options.folder} holds none of: {', '.join(TASKS)}", file=sys.stderr)
        return 1
    evaluator = Evaluator()
    print(f"{'task':<14}{'n':>6}{'on':>6}{'precision':>11}{'recall':>8}{'F1':>7}{'bal.acc.':>9}   95 % interval")
    for task in there:
        print_task(task, options, evaluator)
    if options.alarms:
        print_alarms(options.alarms / ORDINARY, options, evaluator)
    return 0


if __name__ == "__main__":
    sys.exit(main())
