"""A run over files of any size: blocks to workers, their results to figures, at constant memory.

The order of the input is the order of the results, whatever the number of workers; what a block gives depends on the
block alone.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from synthesis.engines.base import Engine
from synthesis.errors import SHOWN_PROBLEMS, CaseError, Problem
from synthesis.model import CaseResult
from synthesis.read.cases import no_cases
from synthesis.read.formats import PARQUET, format_of
from synthesis.read.lines import input_size
from synthesis.read.parquet import RowRange
from synthesis.read.rows import CONVERSATION
from synthesis.runner.block import EXAMPLES, BlockResult, BlockTask, RunPlan, is_alike
from synthesis.runner.duplicates import DuplicateIds
from synthesis.runner.reading import Unit, file_units
from synthesis.runner.spec import InputFile, RunSpec
from synthesis.runner.tally import Tally

SMALL = 1 << 20  # bytes: below that, one process is quicker than starting several
Progress = Callable[[int, int, int], None]  # cases so far, bytes so far, bytes in all (0: unknown)


class StreamTotals(msgspec.Struct):
    """What the blocks of a run add up to; the results themselves are in files, unless there is no file for them."""

    tally: Tally
    warnings: list[str] = []
    warned: int = 0
    declined: int = 0
    examples: list[CaseResult] = []
    results: list[CaseResult] = []
    blocks: int = 0
    read: int = 0  # bytes
    input_hash: str = ""

    def add(self, block: BlockResult) -> None:
        self.blocks += 1
        self.read += block.size
        self.tally.merge(block.tally)
        self.warned += block.warned
        self.declined += block.declined
        self.warnings += block.warnings[: SHOWN_PROBLEMS - len(self.warnings)]
        self.results += block.results
        for example in block.examples:
            if sum(is_alike(example, earlier) for earlier in self.examples) < EXAMPLES:
                self.examples.append(example)


def run_blocks(
    plan: RunPlan,
    engine: Engine[BlockTask, BlockResult],
    progress: Progress | None,
    block_size: int | None,
    tally: Tally | None = None,
) -> StreamTotals:
    """Evaluate all cases of all files; CaseError with everything that is wrong with one of them.

    `tally` is one that takes in what the workers' own tallies counted.
    """
    total = sum(input_size(file.path) for file in plan.spec.inputs)
    totals = StreamTotals(tally or Tally())
    digest = hashlib.sha256()
    for file in plan.spec.inputs:
        run = _FileRun(file, engine, plan, totals)
        run.perform(file_units(file, plan.spec, digest.update, block_size), progress, total)
    totals.input_hash = digest.hexdigest()
    totals.examples.sort(key=lambda example: example.is_negative_example)
    return totals


def useful_workers(spec: RunSpec) -> int:
    """How many processes are worth starting; a Parquet file holds many times its size in text."""
    total = sum(
        input_size(file.path) * (16 if format_of(file.path, most_line=spec.max_line) == PARQUET else 1)
        for file in spec.inputs
    )
    return spec.workers if total == 0 or total >= SMALL else 1


class _FileRun:
    """The run over one file: its blocks in order, its problems together."""

    def __init__(
        self, file: InputFile, engine: Engine[BlockTask, BlockResult], plan: RunPlan, totals: StreamTotals
    ) -> None:
        self._file = file
        self._engine = engine
        self._for_table = plan.spec.table is not None
        self._totals = totals
        self._seen = 0
        self._problems: list[Problem] = []
        self._kinds: Counter[str] = Counter()
        # Conversations that return are found where rows are joined.
        self._ids = None if CONVERSATION in plan.spec.columns else DuplicateIds(Path(plan.folder))

    def perform(self, found: Iterator[Unit | Problem], progress: Progress | None, total: int) -> None:
        for block in self._engine.work(self._tasks(found)):
            self._take(block)
            if progress:
                progress(self._totals.tally.cases, self._totals.read, total)
        for problem in self._ids.problems() if self._ids else ():
            self._add(problem)
        if self._kinds:
            self._problems.sort(key=lambda problem: problem.line)
            shown = self._problems[:SHOWN_PROBLEMS]
            raise CaseError(shown, file=self._file.name, total=self._kinds.total(), kinds=self._kinds)
        if not self._seen and not self._for_table:  # a data lake has empty files
            raise no_cases(self._file.name)

    def _tasks(self, found: Iterator[Unit | Problem]) -> Iterator[BlockTask]:
        first, index = self._totals.blocks, 0
        for one in found:
            if isinstance(one, Problem):
                self._add(one)
            else:
                yield BlockTask(first + index, index, one, _fingerprint(one) if self._for_table else "")
                index += 1

    def _add(self, problem: Problem) -> None:
        self._kinds[problem.kind] += 1
        self._problems.append(problem)

    def _take(self, block: BlockResult) -> None:
        self._seen += block.seen
        self._totals.add(block)
        self._kinds += block.kinds
        self._problems += block.problems[: SHOWN_PROBLEMS - len(self._problems)]
        if self._ids:
            self._ids.add(block.number, block.id_hashes, block.id_lines)


def _fingerprint(unit: Unit) -> str:
    """What tells a unit from the one that a changed file would give in its place."""
    if isinstance(unit, RowRange):
        content = msgspec.json.encode((unit.group, unit.skip, unit.rows, unit.state))
    else:
        content = unit.read()
    return hashlib.sha256(content).hexdigest()


def available_cores() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
