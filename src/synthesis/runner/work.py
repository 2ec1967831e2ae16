"""The work on one block of cases: read, validate, evaluate, write the results to files of its own, and count.

What comes back is small, whatever the size of the block: counts, a few examples, and a hash per case by which
duplicate ids are found across blocks.
"""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from synthesis.cases.blocks import Block
from synthesis.cases.jsonl import parse_block
from synthesis.cases.logs.options import RowOptions
from synthesis.cases.logs.rows import with_errors
from synthesis.cases.schema import CaseValidator
from synthesis.checks.registry import checks, rules_in_force
from synthesis.errors import SHOWN_PROBLEMS, Problem
from synthesis.model import Case, CaseResult
from synthesis.model.result import ERROR, FAIL
from synthesis.report.parts import PartWriter
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.filters import Filters
from synthesis.runner.kernel import Kernel
from synthesis.runner.run import BATCH, batches, failure_of, label_warnings
from synthesis.runner.tally import Tally

EXAMPLES = 5


class WorkOrder(msgspec.Struct, frozen=True):
    """How blocks are to be worked on; small, and the same for all workers."""

    parts: str  # the folder for the part files
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


@dataclass(slots=True)
class Part:
    """What came of one block."""

    number: int
    size: int
    tally: Tally
    problems: list[Problem]
    kinds: Counter[str]
    warnings: list[str]
    warned: int
    examples: list[CaseResult]
    id_hashes: "array[int]"
    id_lines: "array[int]"


class Worker:
    """Works on blocks, one after the other, with one kernel."""

    def __init__(self, order: WorkOrder, rules: RuleSet | None = None) -> None:
        self._order = order
        self._kernel = Kernel(
            rules or rules_in_force(order.folders, order.disabled),
            profile=order.profile,
            keep_text=order.keep_text,
            language=order.language,
        )
        self._validator = CaseValidator(checks(), Path(order.schema) if order.schema else None)

    def work(self, number: int, block: Block) -> Part:
        """Evaluate the cases of a block and write their results; with problems, only tell these."""
        cases, problems = parse_block(block, self._validator)
        if self._order.rows.on_bad_row == ERROR:
            cases, problems = with_errors(cases, problems, self._order.rows, block.file), []
        part = _empty_part(number, block.size, problems)
        part.id_hashes = array("q", [_hash(case.id) for case in cases])
        part.id_lines = array("q", [case.source.line if case.source else 0 for case in cases])
        self._path(number, "ids").write_text("\n".join(case.id for case in cases), encoding="utf-8")
        if not problems:
            self._evaluate(self._order.filters.wanted(cases), part)
        return part

    def _evaluate(self, cases: Iterable[Case], part: Part) -> None:
        with self._writer(part.number, "results") as results, self._writer(part.number, "failures") as failures:
            for batch in batches(cases, BATCH):
                for case in batch:
                    _warn(part, label_warnings(case))
                for result in self._kernel.evaluate(batch):
                    part.tally.add(result)
                    _remember(part, result)
                    if not self._order.failures_only or result.outcome in {FAIL, ERROR}:
                        results.write(result.to_dict())
                    if result.outcome == FAIL:
                        failures.write(failure_of(result))

    def _writer(self, number: int, kind: str) -> PartWriter:
        return PartWriter(self._path(number, kind), self._order.results_suffix if kind == "results" else "")

    def _path(self, number: int, kind: str) -> Path:
        return Path(self._order.parts) / f"{number}.{kind}"


def _empty_part(number: int, size: int, problems: list[Problem]) -> Part:
    kinds = Counter(problem.kind for problem in problems)
    return Part(number, size, Tally(), problems[:SHOWN_PROBLEMS], kinds, [], 0, [], array("q"), array("q"))


def _warn(part: Part, warnings: Iterable[Any]) -> None:
    for warning in warnings:
        part.warned += 1
        if len(part.warnings) < SHOWN_PROBLEMS:
            part.warnings.append(warning)


def _remember(part: Part, result: CaseResult) -> None:
    """The first failures of each kind and the first errors, to be shown on the console."""
    if result.outcome in {FAIL, ERROR} and sum(is_alike(result, example) for example in part.examples) < EXAMPLES:
        part.examples.append(result)


def is_alike(one: CaseResult, other: CaseResult) -> bool:
    """Whether two examples are of one kind: an error, an expected failure, an unexpected one."""
    return (one.outcome, one.is_negative_example) == (other.outcome, other.is_negative_example)


def _hash(case_id: str) -> int:
    return int.from_bytes(hashlib.blake2b(case_id.encode(), digest_size=8).digest(), "little", signed=True)
