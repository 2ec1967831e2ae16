"""What workers are given, and how it becomes cases: a block of lines at once, rows of a table batch by batch."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from synthesis.errors import InputError, OptionError, Place, Problem
from synthesis.model import Case, Source
from synthesis.read.cases import parse_block
from synthesis.read.conversations import Returns, cases_of
from synthesis.read.formats import CASES, PARQUET, format_of, raw_rows, read_rows
from synthesis.read.lines import CHUNK, Block, Seen, blocks, input_size
from synthesis.read.parquet import RowRange, batch_rows, read_range, row_ranges, whole_conversations
from synthesis.read.rows import CONVERSATION, KEEP_AS_ERROR, STOP, Converter, LogOptions
from synthesis.runner.spec import InputFile, RunSpec

Unit = Block | RowRange
BLOCK = 1 << 20  # bytes that one worker takes at a time: a second or so of work, so that progress is seen
LARGE_BLOCK = 16 << 20  # the same for a part of a table, from a file that is large enough for many of them
ROWS = 500  # of a log in one block
_encode = msgspec.json.Encoder().encode


def file_units(
    file: InputFile, spec: RunSpec, seen: Seen = lambda _: None, block_size: int | None = None
) -> Iterator[Unit | Problem]:
    """The blocks of a file of cases, or of what a log gives; for a table of verdicts, the row groups of Parquet."""
    kind = format_of(file.path, mapped=spec.is_mapped, most_line=spec.max_line)
    if spec.keep and kind != PARQUET:
        raise OptionError(f"--keep names columns, and {file.name} is not a Parquet file", hint="Leave out --keep.")
    if kind == CASES and not spec.any_id:
        size = _size_for_table(file) if spec.table else block_size or BLOCK
        found = blocks(file.path, file.name, size=size, most_line=spec.max_line, seen=seen)
        return _errors_as_blocks(found, spec.log_options(any_id=False), file.name) if _keeps_errors(spec) else found
    options = spec.log_options(any_id=spec.any_id or spec.table is not None)
    returns = Returns()
    if kind == PARQUET and spec.table and not spec.sort:
        units: Iterator[Unit | Problem] = row_ranges(file.path, file.name, options, spec.keep, seen, returns.add)
    else:
        units = _log_blocks(file, options, stop=spec.on_bad_row == STOP, seen=seen, returns=returns)
    return _and_returns(units, file.path, options, returns) if CONVERSATION in options.columns else units


def _and_returns(
    units: Iterable[Unit | Problem], path: Path, options: LogOptions, returns: Returns
) -> Iterator[Unit | Problem]:
    """The units, then the conversations that were in two places, which no single unit can know."""
    yield from units
    if not options.sort:
        yield from returns.problems(raw_rows(path, options), options.columns[CONVERSATION])


def _keeps_errors(spec: RunSpec) -> bool:
    return spec.on_bad_row == KEEP_AS_ERROR


def _size_for_table(file: InputFile) -> int:
    """Large files make large parts of a table; how large depends on the file alone, so that a run can be resumed."""
    return min(max(BLOCK, input_size(file.path) // 256), LARGE_BLOCK)


class Reading(NamedTuple):
    """Cases, what is wrong with rows that cannot be cases, and the record batch that they were read from."""

    cases: list[Case]
    problems: list[Problem]
    batch: Any = None
    first_line: int = 1


class Reader:
    """Reads units; a bad row is a problem, or a case that will end in error."""

    def __init__(self, options: LogOptions, on_bad_row: str | None, keep: tuple[str, ...] = ()) -> None:
        self.options = options
        self._on_bad_row = on_bad_row
        self._keep = keep

    @classmethod
    def of(cls, spec: RunSpec) -> "Reader":
        return cls(spec.log_options(any_id=True), spec.on_bad_row, spec.keep)

    def read(self, unit: Unit) -> Iterator[Reading]:
        if isinstance(unit, Block):
            yield self._block(unit)
            return
        line = unit.first_line
        batches = read_range(unit, self.options, self._keep)
        if CONVERSATION in self.options.columns:
            batches = whole_conversations(batches, self.options.columns[CONVERSATION], unit.file)
        for batch in batches:
            yield self.batch(batch, line, unit.file)
            line += batch.num_rows

    def batch(self, batch: Any, first_line: int, file: str) -> Reading:
        """The cases of an Arrow record batch."""
        converter = Converter(self.options, file)
        found = batch_rows(batch, first_line, self.options.most_line)
        rows = list(cases_of(found, converter, self.options, file))
        problems = [row for row in rows if isinstance(row, Problem)]
        if self._on_bad_row == STOP:
            return Reading([row for row in rows if isinstance(row, Case)], problems, batch, first_line)
        cases = [row if isinstance(row, Case) else _error_case(row, self.options, file) for row in rows]
        return Reading(cases, [], batch, first_line)

    def _block(self, block: Block) -> Reading:
        cases, problems = parse_block(block, self.options.validator)
        if self._on_bad_row == KEEP_AS_ERROR:
            return Reading(_with_errors(cases, problems, self.options, block.file), [])
        return Reading(cases, problems)


def _log_blocks(
    file: InputFile, options: LogOptions, *, stop: bool, seen: Seen, returns: Returns
) -> Iterator[Block | Problem]:
    """The rows of a log as blocks of ready cases; a bad row is a problem (`stop`) or a case that will end in error."""
    lines = _show_bytes(file.path, seen)
    size, passed = input_size(file.path) if _has_lines(file.path) and not options.sort else 0, 0
    rows = read_rows(file.path, options, file.name, returns.add)
    while batch := list(islice(rows, ROWS)):
        # How far the reader is: bytes are read ahead, so the lines that the rows stand in have to tell.
        reached = min(size, size * _line_of(batch[-1]) // max(lines, 1))
        problems = [row for row in batch if isinstance(row, Problem)]
        cases = [row for row in batch if isinstance(row, Case)]
        if stop:
            yield from problems
        else:
            cases = [row if isinstance(row, Case) else _error_case(row, options, file.name) for row in batch]
        yield _ready(cases, file.name, max(reached - passed, 0))
        passed = max(reached, passed)


def _has_lines(path: Path) -> bool:
    """Whether a file has a line for each row, so that the number of a row tells how far it is."""
    return path.suffix.lower() in {".jsonl", ".ndjson", ".csv", ".tsv"}


def _line_of(row: Case | Problem) -> int:
    if isinstance(row, Problem):
        return row.line
    return row.source.line if row.source else 0


def _errors_as_blocks(found: Iterable[Block | Problem], options: LogOptions, name: str) -> Iterator[Block]:
    """The blocks of a case file, with lines that no block could hold as cases that will end in error."""
    for one in found:
        yield one if isinstance(one, Block) else _ready([_error_case(one, options, name)], name)


def _with_errors(cases: list[Case], problems: Iterable[Problem], options: LogOptions, name: str) -> list[Case]:
    """The cases, and a case that will end in error for each bad line, in the order of the file."""
    wrong: dict[int, list[Problem]] = defaultdict(list)
    for problem in problems:
        wrong[problem.line].append(problem)
    errors = [_error_case(_together(of_line), options, name) for of_line in wrong.values()]
    return sorted([*cases, *errors], key=lambda case: case.source.line if case.source else 0) if errors else cases


def _together(problems: list[Problem]) -> Problem:
    first = problems[0]
    return Problem(first.line, first.kind, "; ".join(problem.message for problem in problems), first.case_id)


def _error_case(problem: Problem, options: LogOptions, name: str) -> Case:
    case_id = problem.case_id or f"ROW-{problem.line}"
    return Case(case_id, options.checks, source=Source(name, problem.line, problem.own_id), problem=problem.message)


def _ready(cases: list[Case], name: str, size: int = 0) -> Block:
    return Block(name, 1, size, content=_encode(cases), ready=True)


def _show_bytes(path: Path, seen: Seen) -> int:
    """Lets the hash of the input see a file that is not read through blocks; how many lines it has."""
    lines = 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                seen(chunk)
                lines += chunk.count(b"\n")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=Place(str(path)), hint="Check the path.") from None
    return lines
