"""A run over files of any size: blocks to workers, parts to a report, at constant memory.

The order of the input is the order of the results, whatever the number of workers; what a block gives depends on the
block alone.
"""

import hashlib
import multiprocessing
import os
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import TracebackType

import msgspec

from synthesis.cases.blocks import Block, Seen, blocks, input_size
from synthesis.cases.jsonl import no_cases, parse_block
from synthesis.cases.logs import is_log
from synthesis.cases.logs.options import ERROR, STOP
from synthesis.cases.logs.rows import errors_as_blocks, log_blocks
from synthesis.cases.schema import CaseValidator
from synthesis.checks.registry import checks
from synthesis.errors import SHOWN_PROBLEMS, CaseError, Problem, SynthesisError
from synthesis.model import Case, CaseResult
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.duplicates import DuplicateIds
from synthesis.runner.filters import Filters
from synthesis.runner.tally import Tally
from synthesis.runner.work import EXAMPLES, Part, Worker, WorkOrder, is_alike

BLOCK = 2 << 20  # bytes that one worker takes at a time
SMALL = 1 << 20  # bytes: below that, one process is quicker than starting several
Progress = Callable[[int, int, int], None]  # cases so far, bytes so far, bytes in all (0: unknown)


def file_blocks(
    file: "CaseFile", order: WorkOrder, most_line: int, seen: Seen = lambda _: None, block_size: int = BLOCK
) -> Iterator[Block | Problem]:
    """The blocks of a file of cases, or of what a log or a table gives."""
    if not is_log(file.path, mapped=order.rows.asks_for_log):
        found = blocks(file.path, file.shown, size=block_size, most_line=most_line, seen=seen)
        return errors_as_blocks(found, order.rows, file.shown) if order.rows.on_bad_row == ERROR else found
    options = order.rows.for_logs(CaseValidator(checks(), Path(order.schema) if order.schema else None))
    return log_blocks(file.path, file.shown, options, stop=order.rows.on_bad_row == STOP, seen=seen)


class CaseFile(msgspec.Struct, frozen=True):
    """A file of cases and what its cases call it."""

    path: Path
    shown: str


class Outcome(msgspec.Struct):
    """What came of a run, apart from the results, which lie in part files."""

    tally: Tally
    warnings: list[str] = []
    warned: int = 0
    examples: list[CaseResult] = []
    parts: int = 0
    read: int = 0  # bytes
    input_hash: str = ""


def run_files(
    files: Sequence[CaseFile],
    order: WorkOrder,
    *,
    workers: int,
    most_line: int,
    progress: Progress | None = None,
    rules: RuleSet | None = None,
    block_size: int = BLOCK,
) -> Outcome:
    """Evaluate all cases of all files; CaseError with everything that is wrong with one of them.

    `rules` spare a run in this process the loading of what the order names. Smaller blocks tell progress more often.
    """
    total = sum(input_size(file.path) for file in files)
    outcome = Outcome(Tally())
    digest = hashlib.sha256()
    with _Crew(order, workers if total == 0 or total >= SMALL else 1, rules) as crew:
        for file in files:
            run = _FileRun(file, crew, outcome)
            run.perform(file_blocks(file, order, most_line, digest.update, block_size), progress, total)
    outcome.input_hash = digest.hexdigest()
    outcome.examples.sort(key=lambda example: example.is_negative_example)
    return outcome


class _FileRun:
    """The run over one file: its parts in order, its problems together."""

    def __init__(self, file: CaseFile, crew: "_Crew", outcome: Outcome) -> None:
        self._file = file
        self._crew = crew
        self._outcome = outcome
        self._problems: list[Problem] = []
        self._kinds: Counter[str] = Counter()
        self._ids = DuplicateIds(crew.parts_folder)

    def perform(self, found: Iterator[Block | Problem], progress: Progress | None, total: int) -> None:
        for part in self._crew.work(self._blocks(found), self._outcome.parts):
            self._take(part)
            if progress:
                progress(self._outcome.tally.cases, self._outcome.read, total)
        for problem in self._ids.problems():
            self._add(problem)
        if self._kinds:
            self._problems.sort(key=lambda problem: problem.line)
            shown = self._problems[:SHOWN_PROBLEMS]
            raise CaseError(shown, file=self._file.shown, total=self._kinds.total(), kinds=self._kinds)
        if not self._ids.count:
            raise no_cases(self._file.shown)

    def _blocks(self, found: Iterator[Block | Problem]) -> Iterator[Block]:
        for one in found:
            if isinstance(one, Block):
                yield one
            else:
                self._add(one)

    def _add(self, problem: Problem) -> None:
        self._kinds[problem.kind] += 1
        self._problems.append(problem)

    def _take(self, part: Part) -> None:
        outcome = self._outcome
        outcome.parts += 1
        outcome.read += part.size
        outcome.tally.merge(part.tally)
        outcome.warned += part.warned
        outcome.warnings += part.warnings[: SHOWN_PROBLEMS - len(outcome.warnings)]
        for example in part.examples:
            if sum(is_alike(example, earlier) for earlier in outcome.examples) < EXAMPLES:
                outcome.examples.append(example)
        self._kinds += part.kinds
        self._problems += part.problems[: SHOWN_PROBLEMS - len(self._problems)]
        self._ids.add(part.number, part.id_hashes, part.id_lines)


class _Crew:
    """One or several processes that work on blocks; results come back in the order of the blocks."""

    def __init__(self, order: WorkOrder, workers: int, rules: RuleSet | None) -> None:
        self.parts_folder = Path(order.parts)
        self._order = order
        self._workers = workers
        self._rules = rules
        self._pool: ProcessPoolExecutor | None = None
        self._alone: Worker | None = None

    def __enter__(self) -> "_Crew":
        if self._workers > 1:
            # Spawned rather than forked: the same on every system, and safe beside threads.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._workers, context, initializer=_start, initargs=(self._order,))
        else:
            self._alone = Worker(self._order, self._rules)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def work(self, todo: Iterator[Block], first: int) -> Iterator[Part]:
        if self._alone:
            for number, block in enumerate(todo, start=first):
                yield self._alone.work(number, block)
            return
        waiting: deque[Future[Part]] = deque()
        for number, block in enumerate(todo, start=first):
            assert self._pool
            waiting.append(self._pool.submit(_work, number, block))
            while len(waiting) > 2 * self._workers:
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())


def _result(future: "Future[Part]") -> Part:
    try:
        return future.result()
    except BrokenProcessPool:
        raise SynthesisError(
            "a worker process died before its work was done; no report was written",
            hint="It may have run out of memory. Try fewer workers (--workers 1).",
        ) from None


_worker: Worker | None = None


def _start(order: WorkOrder) -> None:
    global _worker
    _worker = Worker(order)


def _work(number: int, block: Block) -> Part:
    assert _worker
    return _worker.work(number, block)


def available_cores() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def with_chosen(filters: Filters, files: Sequence[CaseFile], order: WorkOrder, most_line: int) -> Filters:
    """The filters with the sample drawn and the limit applied: a first pass that evaluates nothing."""
    validator = CaseValidator(checks(), Path(order.schema) if order.schema else None)

    def wanted() -> Iterator[Case]:
        for file in files:
            for block in file_blocks(file, order, most_line):
                if isinstance(block, Block):
                    yield from filters.wanted(parse_block(block, validator)[0])

    places = frozenset(case.source.place for case in filters.chosen(wanted()) if case.source)
    return msgspec.structs.replace(filters, places=places)
