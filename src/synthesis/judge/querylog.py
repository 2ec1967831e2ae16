"""Query logs: rows of a file or of a database table, chosen by id, status and date, become a test set."""

import hashlib
import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, cast

import msgspec

from synthesis.errors import OptionError, Place, Problem, TestSetError
from synthesis.judge import testset
from synthesis.judge.model import TestCase
from synthesis.judge.testset import (
    Placed,
    Problems,
    Raw,
    as_test_set_errors,
    listing,
    named,
    parse_placed_cases,
    placed_rows,
    plain,
    written,
)
from synthesis.read.lines import MOST_LINE, kind_of
from synthesis.read.mapping import decoded, fold, looks_like_json, value_at
from synthesis.read.rows import moment
from synthesis.read.tables import database_rows, shown_url

ROW_HINT = "docs/testsets.md describes the shape of a log row; --map names columns with other names."


# Where the fields of a row are.


# Field -> the names under which it is looked for, the first one found wins.
NAMES = {
    "id": ("id", "queryLogId"),
    "question": testset.NAMES["question"],
    "status": ("status",),
    "createdAt": ("createdAt", "timestamp"),
    "answer": testset.NAMES["answer"],
    "context": ("rankedCourses", *(name for name in testset.NAMES["context"] if name != "rankedCourses")),
    "llmModel": ("llmModel", "model"),
    "llmProvider": ("llmProvider", "provider"),
    "promptVersion": ("promptVersion",),
    "tokenUsage": ("tokenUsage",),
    "duration": ("duration",),
}
DETAILS = ("llmModel", "llmProvider", "promptVersion", "tokenUsage", "duration")

Folded = dict[str, Any]  # by folded name
_FOLDED_NAMES = {field: tuple(map(fold, names)) for field, names in NAMES.items()}


class Finder:
    """Looks fields of one row up, at their mapped places or by their names."""

    def __init__(self, raw: Raw, mapping: Mapping[str, str]) -> None:
        self._raw = raw
        self._row = _folded(raw)
        self._mapping = mapping

    def find(self, field: str) -> Any:
        if field in self._mapping:
            return value_at(self._raw, self._mapping[field])
        for holder in self._holders(field):
            if (value := _named(holder, field)) is not None:
                return value
        return None

    def _holders(self, field: str) -> Iterator[Folded]:
        """Details come from the step that wrote the answer rather than from the row as a whole."""
        if field in DETAILS:
            yield from self._answering_step
        yield self._row
        if field in ("answer", "context"):
            for step in self._steps:
                yield from step

    @cached_property
    def _steps(self) -> list[list[Folded]]:
        return list(_steps(_from_json(self._row.get("steps"), "steps")))

    @cached_property
    def _answering_step(self) -> list[Folded]:
        answering = (step for step in self._steps if any(_named(part, "answer") is not None for part in step))
        return next(answering, [])


def _folded(holder: Raw) -> Folded:
    """The values by folded name, absent ones left out; of two that fold alike the first counts."""
    found: Folded = {}
    for name, value in holder.items():
        if value is not None:
            found.setdefault(fold(str(name)), value)
    return found


def _named(holder: Folded, field: str) -> Any:
    for name in _FOLDED_NAMES[field]:
        if name in holder:
            return holder[name]
    return None


def _steps(steps: object) -> Iterator[list[Folded]]:
    """Each step as the objects that may hold its results: its output, then the step itself.

    The object of all steps may hold results too, but a step that is called `answer` is none.
    """
    if isinstance(steps, Mapping):
        yield [_folded({name: value for name, value in steps.items() if not isinstance(value, Mapping)})]
        steps = list(steps.values())
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, Mapping):
            own = _folded(step)
            output = _from_json(own.get("output"), "a step's output")
            yield [_folded(output), own] if isinstance(output, Mapping) else [own]


class _MalformedValueError(Exception):
    """A value has the wrong kind; the caller, who knows its place, reports it."""


def _from_json(value: Any, what: str) -> Any:
    """The value, decoded if it is a text that holds a JSON array or object."""
    found = decoded(value)
    if isinstance(found, str) and looks_like_json(found):
        raise _MalformedValueError(f"{what} looks like JSON but is not valid")
    return found


def _as_number(value: object) -> object:
    """A number that came as a text, as a number; anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    if not math.isfinite(number):
        return value
    return int(number) if number.is_integer() else number


def _as_moment(value: object) -> datetime | None:
    """A date, time stamp, ISO text or epoch (seconds or milliseconds) in UTC; None if it is none of these."""
    seconds = moment(value)
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


class LogHead(msgspec.Struct, frozen=True):
    """What rows are chosen by. `index` orders rows as the log does, `position` is for people (`line 3`)."""

    index: int
    position: str
    id: str
    status: str | None
    created_at: datetime | None


class LogRow(LogHead, frozen=True):
    """One logged query."""

    question: str | None
    answer: str | None
    context: object
    details: dict[str, Any]


def _parse_head(raw: Raw, index: int, position: str, mapping: Mapping[str, str]) -> LogHead:
    """The head of a row; raises `_MalformedValueError` when there is no id."""
    finder = Finder(raw, mapping)
    name = finder.find("id")
    if name is None or not str(name).strip():
        columns = ", ".join(list(raw)[:12])
        raise _MalformedValueError(f"has no id; its columns: {columns}. Name the right one with --map id=COLUMN")
    status = _text(finder.find("status"), "the status")
    return LogHead(index, position, str(name), status, _as_moment(finder.find("createdAt")))


def _parse_row(head: LogHead, raw: Raw, mapping: Mapping[str, str]) -> LogRow:
    """The whole row; raises `_MalformedValueError` for a value of the wrong kind."""
    finder = Finder(raw, mapping)
    details = {field: _detail(field, finder.find(field)) for field in DETAILS}
    return LogRow(
        **msgspec.structs.asdict(head),
        question=_text(finder.find("question"), "the question"),
        answer=_text(finder.find("answer"), "the answer"),
        context=_from_json(finder.find("context"), "the context"),
        details={field: value for field, value in details.items() if value is not None},
    )


def _text(value: object, what: str) -> str | None:
    if isinstance(value, Mapping | list):
        raise _MalformedValueError(f"{what} must be a text, not {kind_of(value)}; --map can point into it")
    return None if value is None or not str(value).strip() else str(value)


def _detail(field: str, value: object) -> object:
    if field == "duration":
        return _as_number(value)
    return _from_json(value, "the token usage") if field == "tokenUsage" else value


# Which rows are wanted. Rows stream through; only the chosen ones are kept.


_EARLIEST = datetime.min.replace(tzinfo=UTC)


class Selection(msgspec.Struct, frozen=True):
    """Filters first, then the newest `limit`, of these a `sample`. `until` itself is outside."""

    ids: frozenset[str] = frozenset()
    statuses: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    limit: int | None = None
    sample: int | None = None
    seed: int = 0

    def wants(self, row: LogHead) -> bool:
        return self._wants_name(row) and self._wants_date(row.created_at)

    def _wants_name(self, row: LogHead) -> bool:
        statuses = {status.casefold() for status in self.statuses}
        wanted = not statuses or (row.status or "").casefold() in statuses
        return wanted and (not self.ids or row.id in self.ids)

    def _wants_date(self, created: datetime | None) -> bool:
        if self.since is None and self.until is None:
            return True
        if created is None:
            return False
        return (self.since is None or created >= self.since) and (self.until is None or created < self.until)


def period(since: str | None, until: str | None) -> tuple[datetime | None, datetime | None]:
    """Two option values as moments in UTC; a date as the end includes that whole day."""
    start, end = _option_moment(since, "--from"), _option_moment(until, "--until")
    if end is not None and until is not None and len(until.strip()) <= len("2025-01-31"):
        end += timedelta(days=1)
    if start is not None and end is not None and start >= end:
        raise OptionError("--from is later than --until", hint="Swap them.")
    return start, end


def _option_moment(text: str | None, option: str) -> datetime | None:
    if text is None:
        return None
    found = _as_moment(text) if "-" in text else None
    if found is None:
        hint = "Write 2025-01-31 or 2025-01-31T12:00:00Z."
        raise OptionError(f"{option} '{text}' is not a date", hint=hint)
    return found


def pick(rows: Iterable[LogRow], selection: Selection) -> list[LogRow]:
    """The newest `limit` of the rows and of these a sample, in the order of the log."""
    if selection.limit is not None:
        rows = newest_first(rows, selection.limit)
    if selection.sample is not None:
        rows = _sample(rows, selection.sample, selection.seed)
    return sorted(rows, key=lambda row: row.index)


def newest_first(rows: Iterable[LogRow], limit: int) -> list[LogRow]:
    """The newest rows; where dates are missing or equal, the later row is newer."""
    return heapq.nlargest(limit, rows, key=lambda row: (row.created_at or _EARLIEST, row.index))


def _sample(rows: Iterable[LogRow], size: int, seed: int) -> list[LogRow]:
    """Chosen by a hash of seed and id: the order of the log does not matter, a grown log changes little."""
    return heapq.nsmallest(size, rows, key=lambda row: (_rank(row, seed), row.index))


def _rank(row: LogRow, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\n{row.id}".encode("utf-8", "surrogatepass")).digest()


# A log is read row by row and becomes a test set.


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
        if isinstance(raw, Problem):
            problems.add(position, raw.message)
            continue
        try:
            head = _parse_head(raw, index, position, mapping or {})
            if wants(head):
                yield _parse_row(head, raw, mapping or {})
        except _MalformedValueError as error:
            problems.add(position, str(error))
    if unusable is None:
        problems.raise_if_any()


def source_name(source: str) -> str:
    """The source as it may be shown: a database URL without its password."""
    with as_test_set_errors():
        return shown_url(source) if _is_url(source) else source


def _is_url(source: str) -> bool:
    return "://" in source


def _placed(source: str, table: str | None, most_line: int) -> Iterator[tuple[str, Raw | Problem]]:
    if _is_url(source):
        if not table:
            raise OptionError("a database needs --table", hint="Name the table that holds the query logs.")
        return _table_rows(source, table)
    if table:
        raise OptionError("--table goes with a database URL", hint=f"'{source}' is a file; leave --table out.")
    return map(_without_empty_cells, placed_rows(source, most_line, "row"))


def _table_rows(url: str, table: str) -> Iterator[tuple[str, Raw | Problem]]:
    with as_test_set_errors():
        for row in database_rows(url, table):
            yield f"row {row.number}", plain(row.fields)


def _without_empty_cells(placed: Placed) -> tuple[str, Raw | Problem]:
    """An empty cell of a table is an absent value."""
    position, row = placed
    if isinstance(row, Problem):
        return position, row
    return position, {name: value for name, value in cast(Raw, row).items() if value != ""}


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
    return Built(loaded.cases, written(objects, loaded.cases), (*builder.notes(len(rows)), *loaded.notes))


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
