"""How figures are made: which rows may be read, how sure a rate is, and who looked.

Rows that belong together form a group. A hash of the group puts it into one of two parts: a third is `read` (anyone may
study these rows while writing rules), two thirds are only `scored`. Each look at scored figures is logged, because
a figure that is looked at often enough becomes a target.
"""

import hashlib
import json
import math
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from synthesis.stats import wilson_interval

READ, SCORED = "read", "scored"
# Read from end to end while version 0.1 was written, whatever the part.
READ_FOLDERS, READ_SETS = ("verdicts", "safety"), ("qags_dev",)
# A rate needs its base; below it there are only counts, and nothing is claimed.
POSITIVES_FOR_RECALL, ALARMS_FOR_PRECISION, NEGATIVES_FOR_FALSE_ALARMS = 100, 100, 300
LOOKS = Path(__file__).with_name("looks.jsonl")

Row = Mapping[str, Any]


def group_of(row: Row) -> str:
    """What a row belongs to: its group, else its conversation, else the user's text (for the judge: the context)."""
    named = row.get("group") or row.get("conversation")
    if named:
        return str(named)
    text = row["user"] if "user" in row else "".join(row["context"])
    return re.sub(r"\W+", "", text.lower())


def part_of(row: Row) -> str:
    digest = hashlib.sha256(group_of(row).encode()).hexdigest()
    return READ if int(digest, 16) % 3 == 0 else SCORED


def was_read(folder: str, name: str) -> bool:
    """Whether every figure of a set is labelled `read`."""
    return folder in READ_FOLDERS or name in READ_SETS


class Share(NamedTuple):
    """So many of so many, and how many there must be before it is called a rate."""

    hits: int
    total: int
    base: int

    @property
    def is_rate(self) -> bool:
        return self.total >= self.base

    @property
    def interval(self) -> tuple[float, float]:
        """95 %: exact where the numbers are small, Wilson's elsewhere."""
        if not self.is_rate:
            return exact_interval(self.hits, self.total)
        low, high = wilson_interval(self.hits, self.total) or (0.0, 1.0)
        return low, high

    def __str__(self) -> str:
        if not self.total:
            return "-"
        figure = f"{self.hits / self.total:.3f}" if self.is_rate else f"{self.hits} of {self.total}"
        return f"{figure} ({spelled(self.interval)})"


def exact_interval(count: int, total: int) -> tuple[float, float]:
    """The Clopper-Pearson interval (95 %) of a rate."""
    if not total:
        return 0.0, 1.0
    low = _root(lambda rate: 1 - _at_most(count - 1, total, rate) >= 0.025) if count else 0.0
    high = _root(lambda rate: _at_most(count, total, rate) <= 0.025) if count < total else 1.0
    return low, high


def _at_most(count: int, total: int, rate: float) -> float:
    """The probability of at most so many successes."""
    return math.fsum(math.comb(total, k) * rate**k * (1 - rate) ** (total - k) for k in range(count + 1))


def _root(reached: Callable[[float], bool]) -> float:
    """Where a condition that holds from some rate upward begins to hold."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def spelled(interval: Sequence[float]) -> str:
    return f"{interval[0]:.3f}-{interval[1]:.3f}"


class Confusion(NamedTuple):
    """Labels against what was said."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> "Confusion":
        """From pairs of label and what was said."""
        counts = {(gold, said): 0 for gold in (True, False) for said in (True, False)}
        for pair in pairs:
            counts[pair] += 1
        return cls(counts[True, True], counts[False, True], counts[True, False], counts[False, False])

    @property
    def positives(self) -> int:
        return self.true_positive + self.false_negative

    @property
    def precision(self) -> Share:
        return Share(self.true_positive, self.true_positive + self.false_positive, ALARMS_FOR_PRECISION)

    @property
    def recall(self) -> Share:
        return Share(self.true_positive, self.positives, POSITIVES_FOR_RECALL)

    @property
    def false_alarms(self) -> Share:
        return Share(self.false_positive, self.false_positive + self.true_negative, NEGATIVES_FOR_FALSE_ALARMS)

    @property
    def balanced_accuracy(self) -> float | None:
        """None unless recall and false alarms both have their base."""
        recall, alarms = self.recall, self.false_alarms
        if not (recall.is_rate and alarms.is_rate):
            return None
        return (recall.hits / recall.total + 1 - alarms.hits / alarms.total) / 2

    def balanced_accuracy_text(self) -> str:
        """With an interval that joins those of the two rates (Newcombe's square-and-add)."""
        value = self.balanced_accuracy
        if value is None:
            return "-"
        recall, alarms = self.recall, self.false_alarms
        (recall_low, recall_high), (alarms_low, alarms_high) = recall.interval, alarms.interval
        found, raised = recall.hits / recall.total, alarms.hits / alarms.total
        low = value - math.hypot(found - recall_low, alarms_high - raised) / 2
        high = value + math.hypot(recall_high - found, raised - alarms_low) / 2
        return f"{value:.3f} ({spelled((low, high))})"


def log_look(log: Path, when: datetime, *, sets: Sequence[str], profiles: Sequence[str], rows: int) -> None:
    """Note that scored figures were looked at: when, at which revision, which ones. No texts."""
    look = {
        "date": when.isoformat(timespec="seconds"),
        "revision": revision(),
        "sets": sets,
        "profiles": profiles,
        "rows": rows,
    }
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(look) + "\n")


def revision() -> str:
    """The last commit that changed the product; `-dirty` where its files differ from that."""
    commit = _git("log", "-1", "--abbrev=12", "--format=%h", "--", "src")
    changed = _git("status", "--porcelain", "--", "src")
    return (commit or "unknown") + ("-dirty" if changed else "")


def _git(*args: str) -> str:
    command = ["git", *args]
    done = subprocess.run(command, cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip()
