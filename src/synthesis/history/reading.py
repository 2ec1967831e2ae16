"""Queries: runs, their cases and samples page by page, and whole runs to export."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec
from sqlalchemy import Select, and_, exists, false, func, or_, select

from synthesis.checks.registry import checks
from synthesis.errors import NotInHistoryError, OptionError, Place
from synthesis.history.database import cases, findings, outcomes, runs, samples, tags
from synthesis.history.model import (
    BATCH,
    CHECKS,
    JUDGE,
    Page,
    SavedCase,
    SavedCheck,
    SavedRun,
    SavedSample,
    encoded,
    storable,
)
from synthesis.history.writing import ExportMetadata
from synthesis.model import CaseResult
from synthesis.model.result import ERROR, FAIL, PASS
from synthesis.report.findings import Glossary
from synthesis.report.judged.run import Iteration, JudgedRun, JudgedSample, UnjudgedSample, decode_sample
from synthesis.report.stored import Record, StoredReport, render

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from synthesis.history.database import Database

AnyOf = str | Sequence[str] | None  # one value, or any of several
LATEST = "latest"
MOST_PER_PAGE = 1000
_decode = msgspec.json.decode
_SHOWN = 5


def list_runs(
    database: "Database",
    *,
    limit: int | None,
    before: str | None = None,
    kind: str | None = None,
    tag: str | None = None,
    name: str | None = None,
    older_than: str | None = None,
) -> list[SavedRun]:
    """Runs, newest first; with `before`, the id of a run, only older ones."""
    with database.reading() as connection:
        query = select(runs).order_by(runs.c.started.desc(), runs.c.id.desc()).limit(limit)
        wanted = {runs.c.kind: kind, runs.c.name: name}
        for column, value in wanted.items():
            query = query.where(column == value) if value is not None else query
        if tag is not None:
            query = query.where(exists().where(tags.c.run_id == runs.c.id, tags.c.tag == tag))
        if older_than is not None:
            query = query.where(runs.c.started < older_than)
        if before is not None:
            last = _find(connection, before, database.shown)
            same = and_(runs.c.started == last.started, runs.c.id < last.id)
            query = query.where(or_(runs.c.started < last.started, same))
        return _runs(connection, connection.execute(query).all())


def get_run(database: "Database", wanted: str) -> SavedRun:
    """The run with this id, with an id that begins like this, or the `latest`."""
    with database.reading() as connection:
        return _runs(connection, [_find(connection, wanted, database.shown)])[0]


def _find(connection: "Connection", wanted: str, shown: str) -> "Row[Any]":
    query = select(runs).order_by(runs.c.started.desc(), runs.c.id.desc())
    if wanted == LATEST:
        query = query.limit(1)
    else:
        query = query.where(runs.c.id.startswith(storable(wanted).lower(), autoescape=True)).limit(_SHOWN)
    found = connection.execute(query).all() if wanted else []
    exact = [row for row in found if row.id == wanted.lower()] or found
    if not exact:
        hint = "`synthesis history list` shows the runs."
        raise NotInHistoryError(f"there is no run '{wanted}'", place=Place(shown), hint=hint)
    if len(exact) > 1:
        hint = f"Give more of the id: {', '.join(row.id for row in exact)}"
        raise NotInHistoryError(f"several runs begin with '{wanted}'", place=Place(shown), hint=hint)
    return exact[0]


def _runs(connection: "Connection", rows: "Sequence[Row[Any]]") -> list[SavedRun]:
    named: dict[str, list[str]] = {row.id: [] for row in rows}
    ids = list(named)
    for first in range(0, len(ids), BATCH):
        some = ids[first : first + BATCH]
        query = select(tags.c.run_id, tags.c.tag).where(tags.c.run_id.in_(some)).order_by(tags.c.tag)
        for run_id, tag in connection.execute(query):
            named[run_id].append(tag)
    return [_run(row, named[row.id]) for row in rows]


def _run(row: "Row[Any]", named: Iterable[str]) -> SavedRun:
    fields = {name: row._mapping[name] for name in SavedRun.__struct_fields__ if name in row._mapping}
    read = {"tags": tuple(named), "conditions": _decode(row.conditions), "summary": _decode(row.summary)}
    return SavedRun(**(fields | read))


def page_of(number: int, per_page: int) -> tuple[int, int]:
    """Limit and offset of a page."""
    if number < 1 or not 1 <= per_page <= MOST_PER_PAGE:
        raise OptionError(
            f"there is no page {number} of {per_page}", hint=f"Pages count from 1, up to {MOST_PER_PAGE}."
        )
    return per_page, (number - 1) * per_page


class CaseFilter(TypedDict, total=False):
    """What `case_query` can be asked for, by name; None asks for nothing."""

    check: str | None
    outcome: str | None
    kind: AnyOf
    rule: str | None
    search: str | None


def case_query(
    run_id: str,
    check: str | None = None,
    outcome: str | None = None,
    kind: AnyOf = None,
    rule: str | None = None,
    search: str | None = None,
) -> "Select[Any]":
    """The cases of a run that match every filter; with `check`, `outcome` is the outcome of that check."""
    query = select(cases).where(cases.c.run_id == run_id)
    if check is not None:
        has_check = exists().where(
            outcomes.c.run_id == run_id, outcomes.c.position == cases.c.position, outcomes.c.check_name == check
        )
        query = query.where(has_check.where(outcomes.c.outcome == outcome) if outcome is not None else has_check)
    elif outcome is not None:
        query = query.where(cases.c.outcome == outcome)
    if kind is not None:
        query = query.where(cases.c.kind.in_(_several(kind)))
    if rule is not None:
        fired = exists().where(findings.c.run_id == run_id, findings.c.position == cases.c.position)
        query = query.where(fired.where(findings.c.rule == rule))
    if search:
        query = query.where(cases.c.words.contains(storable(search.casefold()), autoescape=True))
    return query


def case_page(database: "Database", query: "Select[Any]", number: int, per_page: int) -> Page[SavedCase]:
    limit, offset = page_of(number, per_page)
    with database.reading() as connection:
        total = connection.execute(select(func.count()).select_from(query.subquery())).scalar_one()
        rows = connection.execute(query.order_by(cases.c.position).limit(limit).offset(offset)).all()
        return Page(tuple(_with_checks(connection, rows)), total, number, per_page)


def case_positions(database: "Database", query: "Select[Any]") -> list[int]:
    """Where the cases of a query are in their run, in order."""
    positions = query.with_only_columns(cases.c.position).order_by(cases.c.position)
    with database.reading() as connection:
        return list(connection.execute(positions).scalars())


def cases_at(database: "Database", run_id: str, positions: Sequence[int]) -> list[SavedCase]:
    """The cases at these positions, in this order."""
    query = select(cases).where(cases.c.run_id == run_id, cases.c.position.in_(positions))
    with database.reading() as connection:
        found = {case.position: case for case in _with_checks(connection, connection.execute(query).all())}
    return [found[position] for position in positions]


def _with_checks(connection: "Connection", rows: "Sequence[Row[Any]]") -> Iterator[SavedCase]:
    by_position: dict[int, list[SavedCheck]] = {row.position: [] for row in rows}
    if rows:
        wanted = (outcomes.c.run_id == rows[0].run_id, outcomes.c.position.in_(list(by_position)))
        for row in connection.execute(select(outcomes).where(*wanted)):
            by_position[row.position].append(SavedCheck(row.check_name, row.outcome, row.expected, row.matched))
    for row in rows:
        record = _decode(row.record)
        order = list(record["checks"])
        checks = sorted(by_position[row.position], key=lambda outcome: order.index(outcome.check))
        yield SavedCase(row.position, row.case_id, row.outcome, row.kind, row.language, tuple(checks), record)


def one_case(database: "Database", run_id: str, case_id: str) -> SavedCase:
    """The first case of a run with this id."""
    query = select(cases).where(cases.c.run_id == run_id, cases.c.case_id == storable(case_id))
    with database.reading() as connection:
        rows = connection.execute(query.order_by(cases.c.position).limit(1)).all()
        for found in _with_checks(connection, rows):
            return found
    raise NotInHistoryError(f"the run {run_id} has no case '{case_id}'", place=Place(database.shown))


def sample_query(run_id: str, iteration: int | None, outcome: AnyOf, search: str | None) -> "Select[Any]":
    query = select(samples).where(samples.c.run_id == run_id)
    if iteration is not None:
        query = query.where(samples.c.iteration == iteration)
    if outcome is not None:
        meaning = {
            PASS: samples.c.passed.is_(True),
            FAIL: samples.c.passed.is_(False),
            ERROR: samples.c.passed.is_(None),
        }
        query = query.where(or_(false(), *(meaning[name] for name in _several(outcome) if name in meaning)))
    if search:
        query = query.where(samples.c.words.contains(storable(search.casefold()), autoescape=True))
    return query


def _several(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def sample_page(database: "Database", query: "Select[Any]", number: int, per_page: int) -> Page[SavedSample]:
    limit, offset = page_of(number, per_page)
    with database.reading() as connection:
        total = connection.execute(select(func.count()).select_from(query.subquery())).scalar_one()
        ordered = query.order_by(samples.c.iteration, samples.c.position).limit(limit).offset(offset)
        items = tuple(_sample(row) for row in connection.execute(ordered))
    return Page(items, total, number, per_page)


def _sample(row: "Row[Any]") -> SavedSample:
    fields = {name: row._mapping[name] for name in SavedSample.__struct_fields__}
    return SavedSample(**(fields | {"record": _decode(row.record)}))


# Whole runs: a report or a judged run to render and compare, or an exported JSON document.


def stored_report(database: "Database", run: SavedRun) -> StoredReport:
    """The report of a run of the checks; its lists are read in batches, so that memory stays constant."""

    def results() -> Iterator[CaseResult]:
        last = -1
        while True:
            query = select(cases.c.position, cases.c.record).where(cases.c.run_id == run.id, cases.c.position > last)
            with database.reading() as connection:
                rows = connection.execute(query.order_by(cases.c.position).limit(BATCH)).all()
            if not rows:
                return
            yield from (CaseResult.from_dict(msgspec.json.decode(row.record)) for row in rows)
            last = rows[-1].position

    header = run.conditions | {"history": msgspec.to_builtins(ExportMetadata.of(run, None))}
    return StoredReport(header, run.summary, results)


class _JudgeConditions(msgspec.Struct, frozen=True):
    provider: str
    model: str


class _AxisConditions(msgspec.Struct, frozen=True):
    name: str
    pass_at: int


class _RubricConditions(msgspec.Struct, frozen=True):
    name: str
    axes: list[_AxisConditions]


class _JudgedConditions(msgspec.Struct, frozen=True):
    """The part of a judged run's conditions that is drawn."""

    judge: _JudgeConditions
    rubric: _RubricConditions


def stored_judged_run(database: "Database", run: SavedRun) -> JudgedRun:
    """The judged run as it was saved: without texts unless it was saved with them."""
    assert run.kind == JUDGE
    found: dict[int, list[SavedSample]] = {}
    for sample in _samples(database, run.id):
        found.setdefault(sample.iteration, []).append(sample)
    conditions = msgspec.convert(run.conditions, _JudgedConditions)
    judge, rubric = conditions.judge, conditions.rubric
    return JudgedRun(
        name=run.name,
        judge=f"{judge.provider} ({judge.model})",
        rubric=rubric.name,
        axes=tuple((axis.name, axis.pass_at) for axis in rubric.axes),
        iterations=tuple(_iteration(stored, found.get(stored["number"], [])) for stored in run.summary["iterations"]),
        final_metrics=run.summary["final_metrics"],
        final_cost=run.summary["final_cost"],
    )


def _iteration(stored: Record, samples: list[SavedSample]) -> Iteration:
    decoded = [decode_sample(sample.record) for sample in samples]
    return Iteration(
        number=stored["number"],
        metrics=stored["metrics"],
        cost=stored["cost"],
        analysis=stored["analysis"],
        records=tuple(sample for sample in decoded if isinstance(sample, JudgedSample)),
        errors=tuple(sample for sample in decoded if isinstance(sample, UnjudgedSample)),
    )


def _samples(database: "Database", run_id: str) -> Iterator[SavedSample]:
    query, number = sample_query(run_id, None, None, None), 1
    while (page := sample_page(database, query, number, MOST_PER_PAGE)).items:
        yield from page.items
        number += 1


def exported(database: "Database", run: SavedRun) -> Iterator[str]:
    """A run as pieces of a JSON document with one record per line, which `history add` reads."""
    if run.kind == CHECKS:
        names = {name: check.failure_evidence for name, check in checks().items()}
        return render(stored_report(database, run), Glossary(failure_evidence=names))
    return _judged_document(database, run)


def _judged_document(database: "Database", run: SavedRun) -> Iterator[str]:
    with database.reading() as connection:
        origin = connection.execute(select(runs.c.origin).where(runs.c.id == run.id)).scalar()
        head = {"kind": JUDGE, "history": ExportMetadata.of(run, origin), "conditions": run.conditions}
        text = msgspec.json.format(encoded(head | {"summary": run.summary}), indent=2)
        yield text.removesuffix("\n}") + ',\n  "results": ['
        query = select(samples).where(samples.c.run_id == run.id).order_by(samples.c.iteration, samples.c.position)
        separator = "\n    "
        for row in connection.execution_options(yield_per=BATCH).execute(query):
            yield f'{separator}{{"iteration":{row.iteration},"position":{row.position},"record":{row.record}}}'
            separator = ",\n    "
    yield "\n  ]\n}\n"
