"""What workers are given, and how it becomes cases: a block of lines at once, rows of a table batch by batch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from synthesis.cases.blocks import Block
from synthesis.cases.jsonl import parse_block
from synthesis.cases.logs.conversion import Converter
from synthesis.cases.logs.options import ERROR, STOP, LogOptions, RowOptions
from synthesis.cases.logs.parquet import RowRange, batch_rows, read_range
from synthesis.cases.logs.rows import error_case, with_errors
from synthesis.cases.schema import CaseValidator
from synthesis.checks.registry import checks
from synthesis.errors import Problem
from synthesis.model import Case

Unit = Block | RowRange


class Reading(NamedTuple):
    """Cases, what is wrong with the rows that are none, and the record batch that they were read from."""

    cases: list[Case]
    problems: list[Problem]
    batch: Any = None
    first_line: int = 1


class Reader:
    """Reads units as the options say; a bad row is a problem or a case that will end in error."""

    def __init__(self, rows: RowOptions, schema: str = "", keep: tuple[str, ...] = ()) -> None:
        self._rows = rows
        self._keep = keep
        self._validator = CaseValidator(checks(), Path(schema) if schema else None)

    def read(self, unit: Unit) -> Iterator[Reading]:
        if isinstance(unit, Block):
            yield self._block(unit)
            return
        line = unit.first_line
        for batch in read_range(unit, self.log_options, self._keep):
            yield self.batch(batch, line, unit.file)
            line += batch.num_rows

    def batch(self, batch: Any, first_line: int, file: str) -> Reading:
        """The cases of an Arrow record batch."""
        converter = Converter(self.log_options, file)
        rows = [row if isinstance(row, Problem) else converter.case(row) for row in batch_rows(batch, first_line)]
        problems = [row for row in rows if isinstance(row, Problem)]
        if self._rows.on_bad_row == STOP:
            return Reading([row for row in rows if isinstance(row, Case)], problems, batch, first_line)
        asked = self.log_options.checks
        cases = [row if isinstance(row, Case) else error_case(row, asked, file) for row in rows]
        return Reading(cases, [], batch, first_line)

    @property
    def log_options(self) -> LogOptions:
        return self._rows.for_logs(self._validator, any_id=True)

    def _block(self, block: Block) -> Reading:
        cases, problems = parse_block(block, self._validator)
        if self._rows.on_bad_row == ERROR:
            return Reading(with_errors(cases, problems, self._rows, block.file), [])
        return Reading(cases, problems)
