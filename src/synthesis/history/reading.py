"""Queries: runs, their cases and samples page by page, and whole runs to export."""

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec
from sqlalchemy import Select, Table, and_, exists, false, func, literal_column, or_, select
from sqlalchemy.exc import NoResultFound, SQLAlchemyError

from synthesis.checks.registry import checks
from synthesis.errors import NotInHistoryError, OptionError, Place, shorten
from synthesis.history.database import cases, findings, outcomes, runs, samples, tags
from synthesis.history.model import (
    BATCH,
    CHECKS,
    JUDGE,
    KINDS,
    NEEDS_JUDGE,
    STALE,
    Page,
    SavedCase,
    SavedCheck,
    SavedRun,
    SavedSample,
    encoded,
    storable,
)
from synthesis.history.seals import (
    CASE_COLUMNS,
    OUTCOMES,
    RUN_COLUMNS,
    SAMPLE_COLUMNS,
    Damage,
    DamagedValueError,
    Key,
    damaged_column,
    is_damage,
    seal_of_outcomes,
)
from synthesis.history.writing import ExportMetadata
from synthesis.model import CaseResult
from synthesis.model.result import ERROR, FAIL, PASS
from synthesis.report.findings import Glossary
from synthesis.report.judged.run import Iteration, JudgedRun, JudgedSample, UnjudgedSample, decode_sample
from synthesis.report.stored import Record, StoredReport, render

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Row

    from synthesis.history.database import Database

AnyOf = str | Sequence[str] | None  # one value, or any of several
LATEST = "latest"
MOST_PER_PAGE = 1000
_decode = msgspec.json.decode
_SHOWN = 5
_NAME_WIDTH = 40


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
    """Runs, newest first, without those that are damaged; with `before`, the id of a run, only older ones."""
    return [
        run
        for run in read_runs(database, limit=limit, before=before, kind=kind, tag=tag, name=name, older_than=older_than)
        if isinstance(run, SavedRun)
    ]


def read_runs(
    database: "Database",
    *,
    limit: int | None = None,
    before: str | None = None,
    kind: str | None = None,
    tag: str | None = None,
    name: str | None = None,
    older_than: str | None = None,
) -> list[SavedRun | Damage]:
    """The same, with what is damaged in its place."""
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
            known = find_run(connection, before, database.shown)
            last = connection.execute(select(runs.c.id, runs.c.started).where(runs.c.id == known)).one()
            same = and_(runs.c.started == last.started, runs.c.id < last.id)
            query = query.where(or_(runs.c.started < last.started, same))
        return [_run_or_damage(connection, row) for row in whole_rows(connection, query, runs)]


def get_run(database: "Database", wanted: str) -> SavedRun:
    """The run with this id, with an id that begins like this, or the `latest`; DamagedRunError if it is damaged."""
    with database.reading() as connection:
        run_id = find_run(connection, wanted, database.shown)
    with database.reading(run_id) as connection:
        row = connection.execute(select(runs).where(runs.c.id == run_id)).first()
        found = _run_or_damage(connection, row or Damage(run_id, "id", reason="its row cannot be found"))
    if isinstance(found, Damage):
        raise found.error(database.shown)
    return found


def find_run(connection: "Connection", wanted: str, shown: str) -> str:
    """The id of a run by the beginning of it, or of the `latest`; its other columns may be damaged."""
    query = select(runs.c.id).order_by(runs.c.started.desc(), runs.c.id.desc())
    if wanted == LATEST:
        query = query.limit(1)
    else:
        query = query.where(runs.c.id.startswith(storable(wanted).lower(), autoescape=True)).limit(_SHOWN)
    found: list[str] = list(connection.execute(query).scalars()) if wanted else []
    exact = [run_id for run_id in found if run_id == wanted.lower()] or found
    if not exact:
        hint = "`synthesis history list` shows the runs."
        raise NotInHistoryError(f"there is no run '{wanted}'", place=Place(shown), hint=hint)
    if len(exact) > 1:
        hint = f"Give more of the id: {', '.join(exact)}"
        raise NotInHistoryError(f"several runs begin with '{wanted}'", place=Place(shown), hint=hint)
    return exact[0]


def whole_rows(connection: "Connection", query: "Select[Any]", table: Table) -> "Iterator[Row[Any] | Damage]":
    """The rows of a query; where some cannot be read, those are told and the others are given all the same."""
    try:
        yield from connection.execute(query).all()
        return
    except (DamagedValueError, SQLAlchemyError) as error:
        if not is_damage(error):
            raise
    number: Any = literal_column(f"{table.name}.rowid")  # only SQLite can be damaged in this way
    for row_id in list(connection.execute(query.with_only_columns(number).select_from(table)).scalars()):
        yield _row_or_damage(connection, select(table).where(number == row_id), table, row_id)


def _row_or_damage(connection: "Connection", query: "Select[Any]", table: Table, row_id: int) -> "Row[Any] | Damage":
    try:
        return connection.execute(query).one()
    except (DamagedValueError, SQLAlchemyError) as error:
        if not (is_damage(error) or isinstance(error, NoResultFound)):
            raise
        column, reason = getattr(error, "column", "record"), getattr(error, "reason", "its part of the file is damaged")
    owner = runs.c.id if table is runs else table.c.run_id
    try:
        run_id = connection.execute(query.with_only_columns(owner)).scalar_one()
    except (DamagedValueError, SQLAlchemyError):
        run_id = f"(row {row_id})"
    return Damage(run_id, column, None if table is runs else f"row {row_id}", reason)


def _run_or_damage(connection: "Connection", row: "Row[Any] | Damage") -> SavedRun | Damage:
    if isinstance(row, Damage):
        return row
    if column := damaged_column(RUN_COLUMNS, row._mapping):
        return Damage(row.id, column)
    try:
        query = select(tags.c.tag).where(tags.c.run_id == row.id).order_by(tags.c.tag)
        named = tuple(connection.execute(query).scalars())
    except DamagedValueError as error:
        return Damage(row.id, error.column, reason=error.reason)
    return _decoded_run(row, named)


def _decoded_run(row: "Row[Any]", named: tuple[str, ...]) -> SavedRun | Damage:
    """A run that an earlier version saved has no checksum, so that only what cannot be decoded shows."""
    if row.kind not in KINDS:
        return Damage(row.id, "kind", reason="there is no such kind of run")
    fields = {name: row._mapping[name] for name in SavedRun.__struct_fields__ if name in row._mapping}
    for column in ("conditions", "summary"):
        try:
            fields[column] = _decode(row._mapping[column], type=dict[str, Any])
        except msgspec.DecodeError as error:
            return Damage(row.id, column, reason=str(error))
    run = SavedRun(**(fields | {"tags": named}))
    for column, convert in (("summary", lambda: run.figures), ("conditions", lambda: _judged_conditions(run))):
        try:
            convert()
        except msgspec.ValidationError as error:
            return Damage(row.id, column, reason=str(error))
    return run


def _judged_conditions(run: SavedRun) -> "_JudgedConditions | None":
    return msgspec.convert(run.conditions, _JudgedConditions) if run.kind == JUDGE and run.conditions else None


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


def case_page(database: "Database", run_id: str, wanted: CaseFilter, number: int, per_page: int) -> Page[SavedCase]:
    limit, offset = page_of(number, per_page)
    query = case_query(run_id, **wanted)
    with database.reading(run_id) as connection:
        total = connection.execute(select(func.count()).select_from(query.subquery())).scalar_one()
        rows = connection.execute(query.order_by(cases.c.position).limit(limit).offset(offset)).all()
        return Page(tuple(_with_checks(connection, rows, database.shown)), total, number, per_page)


def case_positions(database: "Database", run_id: str, wanted: CaseFilter) -> list[int]:
    """Where the cases of a query are in their run, in order."""
    positions = case_query(run_id, **wanted).with_only_columns(cases.c.position).order_by(cases.c.position)
    with database.reading(run_id) as connection:
        return list(connection.execute(positions).scalars())


def cases_at(database: "Database", run_id: str, positions: Sequence[int]) -> list[SavedCase]:
    """The cases at these positions, in this order."""
    query = select(cases).where(cases.c.run_id == run_id, cases.c.position.in_(positions))
    with database.reading(run_id) as connection:
        rows = connection.execute(query).all()
        found = {case.position: case for case in _with_checks(connection, rows, database.shown)}
    return [found[position] for position in positions]


def _with_checks(connection: "Connection", rows: "Sequence[Row[Any]]", shown: str) -> Iterator[SavedCase]:
    of_case = belonging(connection, outcomes, rows)
    for row in rows:
        found = of_case[row.position]
        if column := damaged_column(CASE_COLUMNS, {**row._mapping, OUTCOMES: seal_of_outcomes(found)}):
            raise Damage(row.run_id, column, case_name(row)).error(shown)
        checks = [SavedCheck(one.check_name, one.outcome, one.expected, one.matched) for one in found]
        record = decoded_record(row, shown)
        order = {name: at for at, name in enumerate(record["checks"])}
        checks.sort(key=lambda outcome: order.get(outcome.check, len(order)))
        yield SavedCase(row.position, row.case_id, row.outcome, row.kind, row.language, tuple(checks), record)


def belonging(connection: "Connection", table: Table, rows: "Sequence[Row[Any]]") -> "dict[int, list[Row[Any]]]":
    """The rows of a table that belong to these cases of one run, by position."""
    found: dict[int, list[Row[Any]]] = {row.position: [] for row in rows}
    if rows:
        wanted = (table.c.run_id == rows[0].run_id, table.c.position.in_(list(found)))
        for row in connection.execute(select(table).where(*wanted)):
            found.setdefault(row.position, []).append(row)
    return found


def case_name(row: "Row[Any]") -> str:
    return f"case {row.position} ({shorten(row.case_id, _NAME_WIDTH)})"


def sample_name(row: "Row[Any]") -> str:
    return f"sample {row.position} of iteration {row.iteration} ({shorten(row.query_log_id, _NAME_WIDTH)})"


def decoded_record(row: "Row[Any]", shown: str) -> Record:
    """The record of a case; DamagedRunError if there is none, or no result can be made of one without a checksum."""
    try:
        record: Record = _decode(row.record, type=dict[str, Any])
        if row.checksum is None:
            CaseResult.from_dict(record)
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError, AttributeError) as error:
        reason = f"it is not the result of a case ({type(error).__name__})"
        raise Damage(row.run_id, "record", case_name(row), reason).error(shown) from None
    return record


def one_case(database: "Database", run_id: str, case_id: str) -> SavedCase:
    """The first case of a run with this id."""
    query = select(cases).where(cases.c.run_id == run_id, cases.c.case_id == storable(case_id))
    with database.reading(run_id) as connection:
        rows = connection.execute(query.order_by(cases.c.position).limit(1)).all()
        for found in _with_checks(connection, rows, database.shown):
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
            ERROR: samples.c.error.is_not(None),
            NEEDS_JUDGE: needs_judge(),
            STALE: samples.c.record.contains('"stale":true'),
        }
        query = query.where(or_(false(), *(meaning[name] for name in _several(outcome) if name in meaning)))
    if search:
        query = query.where(samples.c.words.contains(storable(search.casefold()), autoescape=True))
    return query


def needs_judge() -> "ColumnElement[bool]":
    """A stale verdict has no outcome either, so the record has to say it."""
    return and_(samples.c.passed.is_(None), samples.c.record.contains('"needsJudge":true'))


def _several(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def sample_page(
    database: "Database", run_id: str, query: "Select[Any]", number: int, per_page: int
) -> Page[SavedSample]:
    limit, offset = page_of(number, per_page)
    with database.reading(run_id) as connection:
        total = connection.execute(select(func.count()).select_from(query.subquery())).scalar_one()
        ordered = query.order_by(samples.c.iteration, samples.c.position).limit(limit).offset(offset)
        found = [saved_sample(row) for row in connection.execute(ordered)]
    items = tuple(sample for sample in found if isinstance(sample, SavedSample))
    for damage in found:
        if isinstance(damage, Damage):
            raise damage.error(database.shown)
    return Page(items, total, number, per_page)


def saved_sample(row: "Row[Any]") -> SavedSample | Damage:
    key = (row.iteration, row.position)
    if column := damaged_column(SAMPLE_COLUMNS, row._mapping):
        return Damage(row.run_id, column, sample_name(row), key=key)
    fields = {name: row._mapping[name] for name in SavedSample.__struct_fields__}
    try:
        record = _decode(row.record, type=dict[str, Any])
        if row.checksum is None and len(record) > 1:
            decode_sample(record)
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError, AttributeError):
        return Damage(row.run_id, "record", sample_name(row), "it is not the record of a sample", key)
    return SavedSample(**(fields | {"record": record}))


# Whole runs: a report or a judged run to render and compare, or an exported JSON document.


def stored_report(database: "Database", run: SavedRun, without: Collection[Key] = ()) -> StoredReport:
    """The report of a run of the checks; its lists are read in batches, so that memory stays constant.

    `without` are cases to leave out, by their position.
    """

    def results() -> Iterator[CaseResult]:
        last = -1
        while True:
            query = select(cases).where(cases.c.run_id == run.id, cases.c.position > last)
            if without:
                query = query.where(cases.c.position.not_in([position for (position,) in without]))
            with database.reading(run.id) as connection:
                rows = connection.execute(query.order_by(cases.c.position).limit(BATCH)).all()
            if not rows:
                return
            yield from (_result(row, database.shown) for row in rows)
            last = rows[-1].position

    header = run.conditions | {"history": msgspec.to_builtins(ExportMetadata.of(run, None))}
    return StoredReport(header, run.summary, results)


def _result(row: "Row[Any]", shown: str) -> CaseResult:
    if column := damaged_column(CASE_COLUMNS, row._mapping):
        raise Damage(row.run_id, column, case_name(row)).error(shown)
    return CaseResult.from_dict(decoded_record(row, shown))


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
    try:
        return _judged_run(database, run)
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError, AttributeError):  # only without checksums
        raise Damage(run.id, "summary", reason="it is not that of a judged run").error(database.shown) from None


def _judged_run(database: "Database", run: SavedRun) -> JudgedRun:
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
    while (page := sample_page(database, run_id, query, number, MOST_PER_PAGE)).items:
        yield from page.items
        number += 1


def exported(database: "Database", run: SavedRun, without: Collection[Key] = ()) -> Iterator[str]:
    """A run as pieces of a JSON document with one record per line, which `history add` reads.

    `without` are the places of cases or samples to leave out.
    """
    if run.kind == CHECKS:
        names = {name: check.failure_evidence for name, check in checks().items()}
        return render(stored_report(database, run, without), Glossary(failure_evidence=names))
    return _judged_document(database, run, without)


def _judged_document(database: "Database", run: SavedRun, without: Collection[Key]) -> Iterator[str]:
    with database.reading(run.id) as connection:
        origin = connection.execute(select(runs.c.origin).where(runs.c.id == run.id)).scalar()
        head = {"kind": JUDGE, "history": ExportMetadata.of(run, origin), "conditions": run.conditions}
        text = msgspec.json.format(encoded(head | {"summary": run.summary}), indent=2)
        yield text.removesuffix("\n}") + ',\n  "results": ['
        query = select(samples).where(samples.c.run_id == run.id).order_by(samples.c.iteration, samples.c.position)
        for iteration, position in without:
            query = query.where(~and_(samples.c.iteration == iteration, samples.c.position == position))
        separator = "\n    "
        for row in connection.execution_options(yield_per=BATCH).execute(query):
            if isinstance(damage := saved_sample(row), Damage):
                raise damage.error(database.shown)
            yield f'{separator}{{"iteration":{row.iteration},"position":{row.position},"record":{row.record}}}'
            separator = ",\n    "
    yield "\n  ]\n}\n"
