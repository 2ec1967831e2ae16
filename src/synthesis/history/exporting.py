"""Runs on their way out: a report as `synthesis eval` writes it, or a judged run as one JSON document."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import select

from synthesis.checks.registry import checks
from synthesis.history.entries import BATCH, Passport, encoded
from synthesis.history.model import CHECKS, JUDGE, Run
from synthesis.history.tables import cases, runs, samples
from synthesis.model import CaseResult
from synthesis.report.files import render
from synthesis.report.glossary import Glossary
from synthesis.report.reading import StoredReport

if TYPE_CHECKING:
    from synthesis.history.database import Database


def stored_report(database: "Database", run: Run) -> StoredReport:
    """The report of a run of the checks, as it was saved; read page by page whenever its lists are asked for."""

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

    header = run.conditions | {"history": msgspec.to_builtins(Passport.of(run, None))}
    return StoredReport(header, run.summary, results)


def exported(database: "Database", run: Run) -> Iterator[str]:
    """A run as pieces of a JSON document with one record per line; `history add` takes it back."""
    if run.kind == CHECKS:
        names = {name: check.failure_evidence for name, check in checks().items()}
        return render(stored_report(database, run), Glossary(failure_evidence=names))
    return _judged_document(database, run)


def _judged_document(database: "Database", run: Run) -> Iterator[str]:
    with database.reading() as connection:
        origin = connection.execute(select(runs.c.origin).where(runs.c.id == run.id)).scalar()
        head = {"kind": JUDGE, "history": Passport.of(run, origin), "conditions": run.conditions}
        text = msgspec.json.format(encoded(head | {"summary": run.summary}), indent=2)
        yield text.removesuffix("\n}") + ',\n  "results": ['
        query = select(samples).where(samples.c.run_id == run.id).order_by(samples.c.iteration, samples.c.position)
        separator = "\n    "
        for row in connection.execution_options(yield_per=BATCH).execute(query):
            yield f'{separator}{{"iteration":{row.iteration},"position":{row.position},"record":{row.record}}}'
            separator = ",\n    "
    yield "\n  ]\n}\n"
