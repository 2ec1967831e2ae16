"""The work on one block of cases: read, validate, evaluate, write the results to files of its own, and count.

What comes back is small, whatever the size of the block: counts, a few examples, and a hash per case by which
duplicate ids are found across blocks.
"""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from synthesis.cases.logs.options import RowOptions
from synthesis.checks.registry import rules_in_force
from synthesis.errors import SHOWN_PROBLEMS, Problem
from synthesis.model import Case, CaseResult
from synthesis.model.result import ERROR, FAIL
from synthesis.report.parts import PartWriter
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.filters import Filters
from synthesis.runner.kernel import Kernel
from synthesis.runner.reading import Reader, Unit
from synthesis.runner.run import BATCH, batches, failure_of, label_warnings
from synthesis.runner.tally import Tally

EXAMPLES = 5


class WorkOrder(msgspec.Struct, frozen=True):
    """How blocks are to be worked on; small, and the same for all workers."""

    parts: str  # the folder for the part files
    table: str = ""  # the folder for a table of verdicts, in place of results
    keep: tuple[str, ...] = ()  # columns of the input that the table keeps
    run: str = ""  # hash of rules and options, for the records of a table's parts
    results_suffix: str = ""  # .jsonl, .jsonl.gz, .jsonl.zst: results as lines of their own; empty: inside the report
    schema: str = ""
    folders: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    profile: str = "default"
    language: str | None = None
    keep_text: bool = True
    failures_only: bool = False
    filters: Filters = Filters()
    rows: RowOptions = RowOptions()


class Task(msgspec.Struct, frozen=True):
    """A unit of work: its number in the run, and its place among the units of its file."""

    number: int
    index: int
    unit: Unit
    fingerprint: str = ""  # of the content, for the records of a table's parts


@dataclass(slots=True)
class Part:
    """What came of one task; `seen` counts the cases before any filter."""

    number: int
    size: int
    seen: int = 0
    tally: Tally = field(default_factory=Tally)
    problems: list[Problem] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    warned: int = 0
    examples: list[CaseResult] = field(default_factory=list)
    id_hashes: "array[int]" = field(default_factory=lambda: array("q"))
    id_lines: "array[int]" = field(default_factory=lambda: array("q"))

    def add_problems(self, problems: Sequence[Problem]) -> None:
        self.kinds.update(problem.kind for problem in problems)
        self.problems += problems[: SHOWN_PROBLEMS - len(self.problems)]

    def evaluate(self, cases: Iterable[Case], kernel: Kernel) -> Iterable[CaseResult]:
        """The results of the cases, in their order, each counted on its way."""
        for batch in batches(cases, BATCH):
            for case in batch:
                self._warn(label_warnings(case))
            for result in kernel.evaluate(batch):
                self.tally.add(result)
                self._remember(result)
                yield result

    def _warn(self, warnings: Iterable[str]) -> None:
        for warning in warnings:
            self.warned += 1
            if len(self.warnings) < SHOWN_PROBLEMS:
                self.warnings.append(warning)

    def _remember(self, result: CaseResult) -> None:
        """The first failures of each kind and the first errors, to be shown on the console."""
        if result.outcome in {FAIL, ERROR} and sum(is_alike(result, example) for example in self.examples) < EXAMPLES:
            self.examples.append(result)


class Worker(Protocol):
    """Works on tasks, one after the other, with one kernel."""

    def work(self, task: Task) -> Part: ...


def make_kernel(order: WorkOrder, rules: RuleSet | None = None) -> Kernel:
    return Kernel(
        rules or rules_in_force(order.folders, order.disabled),
        profile=order.profile,
        keep_text=order.keep_text,
        language=order.language,
    )


class ReportWorker:
    """Writes results as records of a report or of a file of their own."""

    def __init__(self, order: WorkOrder, rules: RuleSet | None = None) -> None:
        self._order = order
        self._kernel = make_kernel(order, rules)
        self._reader = Reader(order.rows, order.schema)

    def work(self, task: Task) -> Part:
        """Evaluate the cases of a unit and write their results; with problems, only tell these."""
        part = Part(task.number, task.unit.size)
        cases: list[Case] = []
        for reading in self._reader.read(task.unit):
            cases += reading.cases
            part.add_problems(reading.problems)
        part.seen = len(cases)
        part.id_hashes = array("q", [_hash(case.id) for case in cases])
        part.id_lines = array("q", [case.source.line if case.source else 0 for case in cases])
        self._path(part, "ids").write_text("\n".join(case.id for case in cases), encoding="utf-8")
        if not part.kinds:
            self._evaluate(self._order.filters.wanted(cases), part)
        return part

    def _evaluate(self, cases: Iterable[Case], part: Part) -> None:
        with self._writer(part, "results") as results, self._writer(part, "failures") as failures:
            for result in part.evaluate(cases, self._kernel):
                if not self._order.failures_only or result.outcome in {FAIL, ERROR}:
                    results.write(result.to_dict())
                if result.outcome == FAIL:
                    failures.write(failure_of(result))

    def _writer(self, part: Part, kind: str) -> PartWriter:
        return PartWriter(self._path(part, kind), self._order.results_suffix if kind == "results" else "")

    def _path(self, part: Part, kind: str) -> Path:
        return Path(self._order.parts) / f"{part.number}.{kind}"


def is_alike(one: CaseResult, other: CaseResult) -> bool:
    """Whether two examples are of one kind: an error, an expected failure, an unexpected one."""
    return (one.outcome, one.is_negative_example) == (other.outcome, other.is_negative_example)


def _hash(case_id: str) -> int:
    return int.from_bytes(hashlib.blake2b(case_id.encode(), digest_size=8).digest(), "little", signed=True)
