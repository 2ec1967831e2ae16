"""Runs on their way out: a report or a judged run to render and compare, or one exported JSON document."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import select

from synthesis.checks.registry import checks
from synthesis.history.model import CHECKS, JUDGE, SavedRun, SavedSample
from synthesis.history.provenance import ExportMetadata
from synthesis.history.reading import MOST_PER_PAGE, sample_page, sample_query
from synthesis.history.rows import BATCH, encoded
from synthesis.history.schema import cases, runs, samples
from synthesis.model import CaseResult
from synthesis.report.files import render
from synthesis.report.glossary import Glossary
from synthesis.report.judged.run import Iteration, JudgedRun, JudgedSample, UnjudgedSample, decode_sample
from synthesis.report.reading import Record, StoredReport

if TYPE_CHECKING:
    from synthesis.history.database import Database


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
        iterations=tuple(_iteration(said, found.get(said["number"], [])) for said in run.summary["iterations"]),
        final_metrics=run.summary["final_metrics"],
        final_cost=run.summary["final_cost"],
    )


def _iteration(said: Record, samples: list[SavedSample]) -> Iteration:
    decoded = [decode_sample(sample.record) for sample in samples]
    return Iteration(
        number=said["number"],
        metrics=said["metrics"],
        cost=said["cost"],
        analysis=said["analysis"],
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
