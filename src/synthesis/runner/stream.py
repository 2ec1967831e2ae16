"""A run over files of any size: blocks to workers, parts to a report, at constant memory.

The order of the input is the order of the results, whatever the number of workers; what a block gives depends on the
block alone.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from synthesis.cases.blocks import Seen, blocks, input_size
from synthesis.cases.jsonl import no_cases
from synthesis.cases.logs import format_of
from synthesis.cases.logs.formats import CASES, PARQUET
from synthesis.cases.logs.options import ERROR, STOP
from synthesis.cases.logs.parquet import RowRange, row_ranges
from synthesis.cases.logs.rows import errors_as_blocks, log_blocks
from synthesis.cases.schema import CaseValidator
from synthesis.checks.registry import checks
from synthesis.errors import SHOWN_PROBLEMS, CaseError, OptionError, Problem
from synthesis.model import Case, CaseResult
from synthesis.runner.duplicates import DuplicateIds
from synthesis.runner.filters import Filters
from synthesis.runner.reading import Reader, Unit
from synthesis.runner.tally import Tally
from synthesis.runner.work import EXAMPLES, Part, Task, WorkOrder, is_alike

BLOCK = 2 << 20  # bytes that one worker takes at a time
LARGE_BLOCK = 16 << 20  # the same for a part of a table, from a file that is large enough for many of them
SMALL = 1 << 20  # bytes: below that, one process is quicker than starting several
Progress = Callable[[int, int, int], None]  # cases so far, bytes so far, bytes in all (0: unknown)


class Crew(Protocol):
    """Whoever does the tasks: processes here, or those of an engine; parts come back in the order of the tasks."""

    def work(self, todo: Iterator[Task]) -> Iterator[Part]: ...


def file_units(
    file: "CaseFile", order: WorkOrder, most_line: int, seen: Seen = lambda _: None, block_size: int = BLOCK
) -> Iterator[Unit | Problem]:
    """The blocks of a file of cases, or of what a log or a table gives; for a table of verdicts, its row groups."""
    kind = format_of(file.path, mapped=order.rows.asks_for_log)
    if order.keep and kind != PARQUET:
        raise OptionError(f"--keep names columns, and {file.shown} is no Parquet file", hint="Leave out --keep.")
    if kind == CASES:
        size = _size_for_table(file) if order.table else block_size
        found = blocks(file.path, file.shown, size=size, most_line=most_line, seen=seen)
        return errors_as_blocks(found, order.rows, file.shown) if order.rows.on_bad_row == ERROR else found
    validator = CaseValidator(checks(), Path(order.schema) if order.schema else None)
    options = order.rows.for_logs(validator, any_id=bool(order.table))
    if kind == PARQUET and order.table:
        return row_ranges(file.path, file.shown, options, order.keep, seen)
    return log_blocks(file.path, file.shown, options, stop=order.rows.on_bad_row == STOP, seen=seen)


def _size_for_table(file: "CaseFile") -> int:
    """Large files make large parts of a table; how large depends on the file alone."""
    return min(max(BLOCK, input_size(file.path) // 64), LARGE_BLOCK)


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
    crew: Crew,
    *,
    most_line: int,
    progress: Progress | None = None,
    block_size: int = BLOCK,
) -> Outcome:
    """Evaluate all cases of all files; CaseError with everything that is wrong with one of them.

    Smaller blocks tell progress more often.
    """
    total = sum(input_size(file.path) for file in files)
    outcome = Outcome(Tally())
    digest = hashlib.sha256()
    for file in files:
        run = _FileRun(file, crew, order, outcome)
        run.perform(file_units(file, order, most_line, digest.update, block_size), progress, total)
    outcome.input_hash = digest.hexdigest()
    outcome.examples.sort(key=lambda example: example.is_negative_example)
    return outcome


def useful_workers(files: Sequence[CaseFile], workers: int) -> int:
    """How many processes are worth starting; a Parquet file holds many times its size in text."""
    total = sum(input_size(file.path) * (16 if format_of(file.path) == PARQUET else 1) for file in files)
    return workers if total == 0 or total >= SMALL else 1


class _FileRun:
    """The run over one file: its parts in order, its problems together."""

    def __init__(self, file: CaseFile, crew: Crew, order: WorkOrder, outcome: Outcome) -> None:
        self._file = file
        self._crew = crew
        self._order = order
        self._outcome = outcome
        self._seen = 0
        self._problems: list[Problem] = []
        self._kinds: Counter[str] = Counter()
        self._ids = DuplicateIds(Path(order.parts))

    def perform(self, found: Iterator[Unit | Problem], progress: Progress | None, total: int) -> None:
        for part in self._crew.work(self._tasks(found)):
            self._take(part)
            if progress:
                progress(self._outcome.tally.cases, self._outcome.read, total)
        for problem in self._ids.problems():
            self._add(problem)
        if self._kinds:
            self._problems.sort(key=lambda problem: problem.line)
            shown = self._problems[:SHOWN_PROBLEMS]
            raise CaseError(shown, file=self._file.shown, total=self._kinds.total(), kinds=self._kinds)
        if not self._seen and not self._order.table:  # a data lake has empty files
            raise no_cases(self._file.shown)

    def _tasks(self, found: Iterator[Unit | Problem]) -> Iterator[Task]:
        first, index = self._outcome.parts, 0
        for one in found:
            if isinstance(one, Problem):
                self._add(one)
            else:
                yield Task(first + index, index, one, _fingerprint(one) if self._order.table else "")
                index += 1

    def _add(self, problem: Problem) -> None:
        self._kinds[problem.kind] += 1
        self._problems.append(problem)

    def _take(self, part: Part) -> None:
        outcome = self._outcome
        self._seen += part.seen
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


def with_chosen(filters: Filters, files: Sequence[CaseFile], order: WorkOrder, most_line: int) -> Filters:
    """The filters with the sample drawn and the limit applied: a first pass that evaluates nothing."""
    reader = Reader(order.rows, order.schema)

    def wanted() -> Iterator[Case]:
        for file in files:
            for unit in file_units(file, order, most_line):
                if not isinstance(unit, Problem):
                    for reading in reader.read(unit):
                        yield from filters.wanted(reading.cases)

    places = frozenset(case.source.place for case in filters.chosen(wanted()) if case.source)
    return msgspec.structs.replace(filters, places=places)
