"""The work on one block of cases: read, validate, evaluate, write the results to files of its own, and count.

What comes back is small, whatever the size of the block: counts, a few examples, and a hash per case by which
duplicate ids are found across blocks. Only a run without any output file gets its results back this way.
"""

import gc
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from synthesis.checks.registry import rules_in_force
from synthesis.errors import SHOWN_PROBLEMS, Problem
from synthesis.model import Case, CaseResult
from synthesis.model.result import ERROR, FAIL
from synthesis.read.conversations import name_hash
from synthesis.read.lines import Block
from synthesis.report.parts import PartWriter, results_suffix
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.evaluator import Evaluator
from synthesis.runner.reading import Reader, Unit
from synthesis.runner.run import BATCH, batches, failure_of, label_warnings
from synthesis.runner.selection import CaseSelection, Places
from synthesis.runner.spec import RunSpec
from synthesis.runner.tally import Tally
from synthesis.settings import AUTHORED

EXAMPLES = 5


class RunPlan(msgspec.Struct, frozen=True):
    """A run specification, and what was settled before the first block; the same for all workers."""

    spec: RunSpec
    folder: str  # for the files of the blocks; each run has its own
    places: Places | None = None  # of the chosen cases
    run: str = ""  # hash of the conditions, for the records of a table's parts

    def evaluator(self, rules: RuleSet | None = None) -> Evaluator:
        spec = self.spec
        return Evaluator(
            rules_in_force(spec.rules, spec.disabled) if rules is None else rules,
            profile=spec.profile or AUTHORED,
            keep_text=spec.keep_text and not spec.table,
            language=spec.language,
        )

    def selection(self) -> CaseSelection:
        return CaseSelection(self.spec, self.places)


class BlockTask(msgspec.Struct, frozen=True):
    """A unit of work: its number in the run, and its place among the units of its file."""

    number: int
    index: int
    unit: Unit
    fingerprint: str = ""  # of the content, for the records of a table's parts

    @property
    def cargo(self) -> int:
        """Bytes of content that travel with the task."""
        return len(self.unit.content or b"") if isinstance(self.unit, Block) else 0


@dataclass(slots=True)
class BlockResult:
    """What came of one task; `seen` counts the cases before any filter."""

    number: int
    size: int
    seen: int = 0
    tally: Tally = field(default_factory=Tally)
    problems: list[Problem] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    warned: int = 0
    declined: int = 0  # texts that the compiled reader left to Python
    examples: list[CaseResult] = field(default_factory=list)
    alike: Counter[tuple[str, bool, bool]] = field(default_factory=Counter)  # results that an example could be of
    results: list[CaseResult] = field(default_factory=list)  # of a run without output files
    # Arrays rather than lists: of a million cases they take 16 MB, not 70.
    id_hashes: "array[int]" = field(default_factory=lambda: array("q"))
    id_lines: "array[int]" = field(default_factory=lambda: array("q"))

    def add_problems(self, problems: Sequence[Problem]) -> None:
        self.kinds.update(problem.kind for problem in problems)
        self.problems += problems[: SHOWN_PROBLEMS - len(self.problems)]

    def evaluate(self, cases: Iterable[Case], evaluator: Evaluator) -> Iterator[CaseResult]:
        """The results of the cases, in their order, each counted on its way."""
        for batch in batches(cases, BATCH):
            for case in batch:
                self._warn(label_warnings(case))
            declined = evaluator.rules.reader.declined
            results = evaluator.evaluate(batch)
            self.declined += evaluator.rules.reader.declined - declined
            for result in results:
                self.tally.add(result)
                self._remember(result)
                yield result

    def _warn(self, warnings: Iterable[str]) -> None:
        for warning in warnings:
            self.warned += 1
            if len(self.warnings) < SHOWN_PROBLEMS:
                self.warnings.append(warning)

    def _remember(self, result: CaseResult) -> None:
        """The first failures of each kind, the first errors and the first alerts, to be shown on the console."""
        if result.outcome in {FAIL, ERROR} or result.alert is not None:
            kind = _kind(result)
            self.alike[kind] += 1
            if self.alike[kind] <= EXAMPLES:
                self.examples.append(result)


class Worker(Protocol):
    """Works on tasks, one after the other, with one evaluator."""

    def work(self, task: BlockTask) -> BlockResult: ...


class ReportWorker:
    """Writes results as records of a report or of a file of their own."""

    def __init__(self, plan: RunPlan, rules: RuleSet | None = None) -> None:
        self._spec = plan.spec
        self._folder = Path(plan.folder)
        self._evaluator = plan.evaluator(rules)
        self._selection = plan.selection()
        self._reader = Reader.of(plan.spec)
        self._suffix = results_suffix(plan.spec.results) if plan.spec.results else ""

    def work(self, task: BlockTask) -> BlockResult:
        """Evaluate the cases of a unit and write their results; with problems, only report these."""
        with without_collection():
            return self._work(task)

    def _work(self, task: BlockTask) -> BlockResult:
        block = BlockResult(task.number, task.unit.size)
        cases: list[Case] = []
        for reading in self._reader.read(task.unit):
            cases += reading.cases
            block.add_problems(reading.problems)
        block.seen = len(cases)
        block.id_hashes = array("q", [name_hash(case.id) for case in cases])
        block.id_lines = array("q", [case.source.line if case.source else 0 for case in cases])
        self._path(block, "ids").write_text("\n".join(case.id for case in cases), encoding="utf-8")
        if not block.kinds:
            self._evaluate(self._selection.wanted(cases), block)
        return block

    def _evaluate(self, cases: Iterable[Case], block: BlockResult) -> None:
        found = block.evaluate(cases, self._evaluator)
        if self._spec.out is None:
            block.results = [result for result in found if self._spec.shows(result)]
            return
        with self._writer(block, "results") as results, self._writer(block, "failures") as failures:
            for result in found:
                if self._spec.shows(result):
                    results.write(result.to_record())
                if result.outcome == FAIL:
                    failures.write(failure_of(result))

    def _writer(self, block: BlockResult, kind: str) -> PartWriter:
        return PartWriter(self._path(block, kind), self._suffix if kind == "results" else "")

    def _path(self, block: BlockResult, kind: str) -> Path:
        return self._folder / f"{block.number}.{kind}"


@contextmanager
def without_collection() -> Iterator[None]:
    """No search for cycles during a block: results have none, and looking through them takes an eighth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def is_alike(one: CaseResult, other: CaseResult) -> bool:
    """Whether two examples are of one kind: an error, an expected failure, an unexpected one; with an alert or not."""
    return _kind(one) == _kind(other)


def _kind(result: CaseResult) -> tuple[str, bool, bool]:
    return result.outcome, result.is_negative_example, result.alert is None
