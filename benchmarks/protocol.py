"""How figures are made: which rows may be read, how sure a rate is, and who looked.

Rows that belong together form a group. A hash of the group puts it into one of two parts: a third is `read` (anyone may
study these rows while writing rules), two thirds are only `scored`. Each look at scored figures is logged, because
a figure that is looked at often enough becomes a target.
"""

import hashlib
import json
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from synthesis.stats import Bounds, Interval, exact_interval, weighted_sum, wilson_interval

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
    def interval(self) -> Interval:
        """95 %: exact where the numbers are small, Wilson's elsewhere."""
        found = wilson_interval(self.hits, self.total) if self.is_rate else None
        return found or exact_interval(self.hits, self.total)

    def __str__(self) -> str:
        if not self.total:
            return "-"
        figure = f"{self.hits / self.total:.3f}" if self.is_rate else f"{self.hits} of {self.total}"
        return f"{figure} ({spelled(self.interval)})"


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
        """With the interval of the mean of recall and specificity (Newcombe's square-and-add)."""
        if self.balanced_accuracy is None:
            return "-"
        recall, alarms = self.recall, self.false_alarms
        low, high = alarms.interval
        specificity = Bounds(1 - alarms.hits / alarms.total, 1 - high, 1 - low)
        found = weighted_sum([(0.5, Bounds(recall.hits / recall.total, *recall.interval)), (0.5, specificity)])
        return f"{found.value:.3f} ({spelled((found.low, found.high))})"


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
