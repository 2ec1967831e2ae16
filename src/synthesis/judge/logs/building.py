"""A query log is read row by row and becomes a test set."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import OptionError, Place, TestSetError
from synthesis.judge.logs.databases import read_table, shown
from synthesis.judge.logs.rows import LogHead, LogRow, parse_head, parse_row
from synthesis.judge.logs.selection import Selection, pick
from synthesis.judge.logs.values import MalformedValueError
from synthesis.judge.model import TestCase
from synthesis.judge.testset.cases import parse_placed_cases
from synthesis.judge.testset.files import Problems, listing, named
from synthesis.judge.testset.tables import READERS, Placed, Unreadable, read_rows
from synthesis.read.lines import MOST_LINE

ROW_HINT = "docs/testsets.md describes the shape of a log row; --map names columns with other names."


def read_log(
    source: str,
    wants: Callable[[LogHead], bool],
    *,
    table: str | None = None,
    mapping: Mapping[str, str] | None = None,
    most_line: int = MOST_LINE,
    unusable: Problems | None = None,
) -> Iterator[LogRow]:
    """The wanted rows of a log. What is wrong with others is added to `unusable`, or else raised after the last row.

    The contents of an unwanted row are not parsed, so an old broken row does no harm.
    """
    problems = Problems(source_name(source), hint=ROW_HINT) if unusable is None else unusable
    for index, (position, raw) in enumerate(_placed(source, table, most_line)):
        if isinstance(raw, Unreadable):
            problems.add(position, raw.reason)
            continue
        try:
            head = parse_head(raw, index, position, mapping or {})
            if wants(head):
                yield parse_row(head, raw, mapping or {})
        except MalformedValueError as error:
            problems.add(position, str(error))
    if unusable is None:
        problems.raise_if_any()


def source_name(source: str) -> str:
    """The source as it may be shown: a database URL without its password."""
    return shown(source) if _is_url(source) else source


def _is_url(source: str) -> bool:
    return "://" in source


def _placed(source: str, table: str | None, most_line: int) -> Iterator[Placed]:
    if _is_url(source):
        if not table:
            raise OptionError("a database needs --table", hint="Name the table that holds the query logs.")
        return read_table(source, table)
    if table:
        raise OptionError("--table goes with a database URL", hint=f"'{source}' is a file; leave --table out.")
    rows = read_rows(Path(source), most_line)
    if rows is None:
        endings = ", ".join(READERS)
        raise TestSetError(
            "unknown kind of log",
            place=Place(source),
            hint=f"Known endings: {endings}; or give a database URL.",
        )
    return (_without_empty_cells(placed) for placed in rows)


def _without_empty_cells(placed: Placed) -> Placed:
    """An empty cell of a table is an absent value."""
    position, row = placed
    return (position, row) if isinstance(row, Unreadable) else (position, {k: v for k, v in row.items() if v != ""})


class Built(msgspec.Struct, frozen=True):
    """The cases, the objects to write, and what to tell the user about rows that were left out."""

    cases: tuple[TestCase, ...]
    objects: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()


def build_test_set(
    source: str,
    selection: Selection,
    *,
    table: str | None = None,
    mapping: Mapping[str, str] | None = None,
    most_line: int = MOST_LINE,
) -> Built:
    """The selected rows that hold a question, an answer and a context, in the order of the log."""
    builder = _Builder(source_name(source), selection)
    unusable = builder.unusable
    found = read_log(source, builder.wants, table=table, mapping=mapping, most_line=most_line, unusable=unusable)
    rows = pick(filter(builder.is_complete, found), selection)
    builder.check_ids()
    if not rows:
        raise builder.nothing_found()
    objects = tuple(_as_object(row) for row in rows)
    loaded = parse_placed_cases(zip((row.position for row in rows), objects, strict=True), builder.name)
    return Built(loaded.cases, objects, (*builder.notes(len(rows)), *loaded.notes))


def _as_object(row: LogRow) -> dict[str, Any]:
    """The row as a test-set file writes it."""
    case = {"queryLogId": row.id, "question": row.question, "answer": row.answer, "context": row.context}
    return {**case, **row.details}


def _lacks(row: LogRow) -> str | None:
    """What a row would need to become a case."""
    parts = (("a question", row.question), ("an answer", row.answer), ("a context", row.context))
    return next((name for name, value in parts if value is None), None)


class _Builder:
    """Counts the rows it sees, so that none is left out silently."""

    def __init__(self, name: str, selection: Selection) -> None:
        self.name = name
        self.selection = selection
        self.read = 0
        self.undated = 0
        self.left_out: Counter[str] = Counter()
        self.unusable = Problems(name, hint=ROW_HINT)
        self._absent = set(selection.ids)
        self._problems = Problems(name, hint="Rows asked for by --id must be there and complete.")

    def wants(self, row: LogHead) -> bool:
        self.read += 1
        self.undated += row.created_at is None
        self._absent.discard(row.id)
        return self.selection.wants(row)

    def is_complete(self, row: LogRow) -> bool:
        missing = _lacks(row)
        if missing is None:
            return True
        if row.id in self.selection.ids:
            self._problems.add(named(row.position, row.id), f"is without {missing}")
        self.left_out[missing] += 1
        return False

    def check_ids(self) -> None:
        if self._absent:
            self._problems.add("", f"not in the log: {listing(sorted(self._absent))}")
        self._problems.raise_if_any()

    def nothing_found(self) -> TestSetError:
        reasons = "".join(f"; {note}" for note in self._gaps())
        hint = "Loosen the filters, or name the columns with --map. `synthesis testset list` shows the rows."
        message = f"no row makes a case ({self.read} read){reasons}"
        return TestSetError(message, place=Place(self.name), hint=hint)

    def notes(self, taken: int) -> list[str]:
        wanted = self.selection.sample
        few = [f"asked for a sample of {wanted}, found only {taken}"] if wanted and taken < wanted else []
        return [*self._gaps(), *few]

    def _gaps(self) -> list[str]:
        found = [f"matching rows without {name}, left out: {count}" for name, count in self.left_out.items()]
        if self.unusable.total:
            found.append(f"rows that cannot be read, left out: {self.unusable.total} ({self.unusable.first})")
        dated = self.selection.since is not None or self.selection.until is not None
        if self.undated and dated:
            found.append(f"rows without a readable date, left out: {self.undated}")
        return found
