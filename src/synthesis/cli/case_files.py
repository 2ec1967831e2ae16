"""The files of `--cases`: cases, chat logs and tables; and what happens to rows that cannot be read."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from synthesis.cases.jsonl import load_cases, parse_cases, read_bytes
from synthesis.cases.logs import DEFAULT_CHECKS, LogOptions, as_error, is_log, parse_map, read_rows
from synthesis.cases.schema import CaseValidator
from synthesis.checks.registry import checks, get_check
from synthesis.errors import CaseError, OptionError, Problem, did_you_mean
from synthesis.model import Case

STOP, ERROR = "stop", "error"


class RowOptions(msgspec.Struct, frozen=True):
    """How rows are read, as the user asked for it; empty and None where they did not."""

    columns: dict[str, str] = {}
    checks: tuple[str, ...] = ()
    on_bad_row: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any], settings: Mapping[str, Any]) -> "RowOptions":
        """Options override settings."""
        columns = options["columns"] or settings.get("map")
        names = options["checks"] or settings.get("checks")
        return cls(
            parse_map(columns) if columns else {},
            _checks(names) if names else (),
            _reaction(options["on_bad_row"] or settings.get("on-bad-row")),
        )

    def shown(self) -> dict[str, Any]:
        """What the report says of them: only what was asked for."""
        asked = {"map": self.columns, "checks": list(self.checks), "on_bad_row": self.on_bad_row}
        return {name: value for name, value in asked.items() if value}

    @property
    def asks_for_log(self) -> bool:
        """Whoever maps fields or names checks has rows that are no whole cases."""
        return bool(self.columns or self.checks)


def _checks(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = tuple(checks()) if names == ["all"] else tuple(dict.fromkeys(get_check(name).name for name in names))
    if not known:
        raise OptionError("--checks names no check", hint=did_you_mean("", checks()))
    return known


def _reaction(value: str | None) -> str | None:
    if value not in (None, STOP, ERROR):
        raise OptionError(f"on-bad-row must be 'stop' or 'error', not '{value}'", hint="Choose one of the two.")
    return value


def read_cases(path: Path, validator: CaseValidator, shown: str, rows: RowOptions) -> Iterable[Case]:
    """The cases of a file of any kind; CaseError with all problems where a bad row is to stop the run."""
    log = LogOptions(validator, rows.checks or DEFAULT_CHECKS, rows.columns)
    if is_log(path, mapped=rows.asks_for_log):
        found = read_rows(path, log, shown)
        return _stopping(found, path) if rows.on_bad_row == STOP else _going_on(found, log, shown)
    if rows.on_bad_row == ERROR:
        return _going_on(_case_rows(path, validator, shown), log, shown)
    return load_cases(path, validator, shown)


def _stopping(rows: Iterable[Case | Problem], path: Path) -> list[Case]:
    cases: list[Case] = []
    problems: list[Problem] = []
    for row in rows:
        if isinstance(row, Case):
            cases.append(row)
        else:
            problems.append(row)
    if problems:
        raise CaseError(problems, file=str(path))
    return cases


def _going_on(rows: Iterable[Case | Problem], options: LogOptions, shown: str) -> Iterator[Case]:
    for row in rows:
        yield row if isinstance(row, Case) else as_error(row, options, shown)


def _case_rows(path: Path, validator: CaseValidator, shown: str) -> Iterator[Case | Problem]:
    """The lines of a case file in order; all that is wrong with a line as one problem."""
    cases, problems = parse_cases(read_bytes(path), shown, validator)
    wrong: dict[int, list[Problem]] = defaultdict(list)
    for problem in problems:
        wrong[problem.line].append(problem)
    rows: dict[int, Case | Problem] = {line: _together(of_line) for line, of_line in wrong.items()}
    rows |= {case.source.line: case for case in cases if case.source}
    yield from (rows[line] for line in sorted(rows))


def _together(problems: list[Problem]) -> Problem:
    first = problems[0]
    usable_id = first.case_id if first.kind != "duplicate id" else None
    return Problem(first.line, first.kind, "; ".join(problem.message for problem in problems), usable_id)
