"""Whole exchanges of our own, labelled by the question of a check: how many verdicts are right.

    python benchmarks/exchanges.py [--into docs/verdict-quality.md] [--errors disclosure] [--folder DIR]

Each line of `exchanges/read/SUBJECT.jsonl` and `exchanges/scored/SUBJECT.jsonl` is a conversation in one of eight
languages with labels (`fail`, `ok`, `na`) by check. The two parts have different writers, who saw neither the rules
nor each other's part. Whoever writes rules may read the first (`--errors` prints what is wrong there); the second
gives figures only, and each look at them is noted in `looks.jsonl`. They are labelled as they were meant.
"""

import argparse
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from protocol import LOOKS, READ, SCORED, log_look
from quality import write_into

from synthesis.model import Case, CheckResult, Turn
from synthesis.run.evaluator import Evaluator
from synthesis.settings import TRAFFIC

FOLDER = Path(__file__).with_name("exchanges")
FAIL, OK, NOT_APPLICABLE = "fail", "ok", "na"
HEAD = ("subject", "check", "part", "exchanges", "failing replies found", "other replies failed", "not assessed")


class Verdict(NamedTuple):
    """The label of an exchange for a check, and what the check says."""

    id: str
    check: str
    label: str
    said: str
    reply: str

    @property
    def is_wrong(self) -> bool:
        """A fine reply may be held `ok` or not applicable: only what fails is compared."""
        return (self.label == FAIL) != (self.said == FAIL)


def verdicts(path: Path, evaluator: Evaluator) -> list[Verdict]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    results = evaluator.evaluate([_case(row) for row in rows])
    return [
        Verdict(row["id"], check, label, _said(result.checks[check]), row["messages"][-1]["content"])
        for row, result in zip(rows, results, strict=True)
        for check, label in row["labels"].items()
    ]


def _case(row: dict[str, Any]) -> Case:
    """Without its language: logs seldom name it."""
    return Case(row["id"], tuple(row["labels"]), messages=tuple(Turn(**message) for message in row["messages"]))


def _said(result: CheckResult) -> str:
    if not result.applicable:
        return NOT_APPLICABLE
    return OK if result.passed else FAIL


def line_of(subject: str, check: str, part: str, own: list[Verdict]) -> tuple[str, ...]:
    bad = [one for one in own if one.label == FAIL]
    fine = [one for one in own if one.label != FAIL]
    found, alarms = (sum(one.said == FAIL for one in some) for some in (bad, fine))
    unseen = sum(one.said == NOT_APPLICABLE for one in own if one.label != NOT_APPLICABLE)
    asked = sum(one.label != NOT_APPLICABLE for one in own)
    return (
        subject,
        f"`{check}`",
        part,
        str(len(own)),
        f"{found} of {len(bad)}",
        f"{alarms} of {len(fine)}",
        f"{unseen} of {asked}",
    )


def table(folder: Path, evaluator: Evaluator) -> str:
    lines = [HEAD, ("---",) * len(HEAD)]
    for path in sorted((folder / SCORED).glob("*.jsonl")):
        for part in (SCORED, READ):
            own = verdicts(folder / part / path.name, evaluator)
            for check in sorted({one.check for one in own}):
                lines.append(line_of(path.stem, check, part, [one for one in own if one.check == check]))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def errors(folder: Path, subject: str, evaluator: Evaluator) -> Iterator[str]:
    for one in verdicts(folder / READ / f"{subject}.jsonl", evaluator):
        if one.is_wrong:
            yield f"{one.id} {one.check}: {one.label}, and the check says {one.said}: {one.reply!r}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="with the parts `read` and `scored`")
    parser.add_argument("--into", type=Path, metavar="FILE", help="put the table into a document, between its marks")
    parser.add_argument("--errors", metavar="SUBJECT", help="print the wrong verdicts of the part that may be read")
    options = parser.parse_args()
    evaluator = Evaluator(profile=TRAFFIC)
    if options.errors:
        print("\n".join(errors(options.folder, options.errors, evaluator)))
        return
    made = table(options.folder, evaluator)
    print(made)
    subjects = sorted(path.stem for path in (options.folder / SCORED).glob("*.jsonl"))
    rows = sum(len(path.read_text("utf-8").splitlines()) for path in (options.folder / SCORED).glob("*.jsonl"))
    log_look(LOOKS, datetime.now(UTC), sets=subjects, profiles=[TRAFFIC], rows=rows)
    if options.into:
        write_into(options.into, {"exchanges": made})


if __name__ == "__main__":
    main()
