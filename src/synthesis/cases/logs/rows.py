"""Rows on their way to the workers: blocks of cases, and what becomes of rows that cannot be read."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from synthesis.cases.blocks import CHUNK, Block, Seen
from synthesis.cases.logs import read_rows
from synthesis.cases.logs.options import DEFAULT_CHECKS, LogOptions, RowOptions
from synthesis.errors import InputError, Place, Problem
from synthesis.model import Case, Source

ROWS = 1000
_encode = msgspec.json.Encoder().encode


def log_blocks(path: Path, shown: str, options: LogOptions, *, stop: bool, seen: Seen) -> Iterator[Block | Problem]:
    """The rows of a log as blocks of ready cases; a bad row is a problem (`stop`) or a case that will end in error."""
    _show_bytes(path, seen)
    rows = read_rows(path, options, shown)
    while batch := list(islice(rows, ROWS)):
        problems = [row for row in batch if isinstance(row, Problem)]
        cases = [row for row in batch if isinstance(row, Case)]
        if stop:
            yield from problems
        else:
            cases = [row if isinstance(row, Case) else error_case(row, options.checks, shown) for row in batch]
        yield _ready(cases, shown)


def errors_as_blocks(found: Iterable[Block | Problem], options: RowOptions, shown: str) -> Iterator[Block]:
    """The blocks of a case file, with lines that no block could hold as cases that will end in error."""
    for one in found:
        yield one if isinstance(one, Block) else _ready([error_case(one, _checks(options), shown)], shown)


def with_errors(cases: list[Case], problems: Iterable[Problem], options: RowOptions, shown: str) -> list[Case]:
    """Cases, and lines that are none as cases that will end in error, in the order of the file."""
    wrong: dict[int, list[Problem]] = defaultdict(list)
    for problem in problems:
        wrong[problem.line].append(problem)
    errors = [error_case(_together(of_line), _checks(options), shown) for of_line in wrong.values()]
    return sorted([*cases, *errors], key=lambda case: case.source.line if case.source else 0) if errors else cases


def _together(problems: list[Problem]) -> Problem:
    first = problems[0]
    return Problem(first.line, first.kind, "; ".join(problem.message for problem in problems), first.case_id)


def error_case(problem: Problem, checks: tuple[str, ...], shown: str) -> Case:
    name = problem.case_id or f"ROW-{problem.line}"
    return Case(name, checks, source=Source(shown, problem.line), problem=problem.message)


def _checks(options: RowOptions) -> tuple[str, ...]:
    return options.checks or DEFAULT_CHECKS


def _ready(cases: list[Case], shown: str) -> Block:
    return Block(shown, 1, 0, content=_encode(cases), ready=True)


def _show_bytes(path: Path, seen: Seen) -> None:
    """Lets the hash of the input see a file that is not read through blocks."""
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                seen(chunk)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=Place(str(path)), hint="Check the path.") from None
