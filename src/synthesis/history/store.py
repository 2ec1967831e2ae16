"""The history of runs, as programs and the command line use it."""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

import msgspec

from synthesis.errors import InputError, Place
from synthesis.history import exporting, reading, saving
from synthesis.history.checked import run_of_report
from synthesis.history.database import Database, keep_private, open_database
from synthesis.history.judged import document_entry, folder_entry
from synthesis.history.labelling import RunLabels
from synthesis.history.model import CHECKS, JUDGE, Page, SavedCase, SavedRun, SavedSample, TrendPoint
from synthesis.history.provenance import Provenance, moment
from synthesis.history.reading import CaseFilter
from synthesis.history.rows import NewRun
from synthesis.history.schema import migrate
from synthesis.model import Finding
from synthesis.model.report import Report
from synthesis.report.judged.run import JudgedRun
from synthesis.report.layout import find_layout
from synthesis.report.reading import StoredReport, from_dict, open_report

_NONE = Provenance()


class History:
    """Runs that outlive their process. Threads may share it; every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, where: str | Path | None = None, *, create: bool = True) -> "History":
        """The history in a file or at a URL, its tables brought up to date."""
        database = open_database(where, create=create)
        try:
            migrate(database)
            keep_private(database)
        except BaseException:
            database.engine.dispose()
            raise
        return cls(database)

    def close(self) -> None:
        self._database.engine.dispose()

    def __enter__(self) -> "History":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def place(self) -> str:
        """Where it is, without a password."""
        return self._database.shown

    def add(self, path: str | Path, provenance: Provenance = _NONE) -> str:
        """Save a report, the folder of a judged run, or an exported run; returns its id."""
        return saving.save(self._database, _run_in(Path(path), provenance))

    def add_report(self, report: str | Path | Report | StoredReport, provenance: Provenance = _NONE) -> str:
        """Save a run of the checks from its report."""
        if isinstance(report, Report):
            report = from_dict(report.to_dict())
        stored = report if isinstance(report, StoredReport) else open_report(report)
        return saving.save(self._database, run_of_report(stored, provenance))

    def add_judged(self, folder: str | Path, provenance: Provenance = _NONE) -> str:
        """Save a judged run from its folder; one that was resumed replaces what was saved, under the same id."""
        return saving.save(self._database, folder_entry(Path(folder), provenance))

    def runs(
        self,
        limit: int | None = 50,
        before: str | None = None,
        kind: str | None = None,
        tag: str | None = None,
        name: str | None = None,
    ) -> list[SavedRun]:
        """Runs, newest first; `before` is the last id of the previous page."""
        return reading.list_runs(self._database, limit=limit, before=before, kind=kind, tag=tag, name=name)

    def run(self, run_id: str) -> SavedRun:
        """One run by its id, the beginning of it, or `latest`."""
        return reading.get_run(self._database, run_id)

    def outcomes(
        self, run_id: str, *, page: int = 1, per_page: int = 50, **wanted: Unpack[CaseFilter]
    ) -> Page[SavedCase]:
        """Cases of a run of the checks, in order; with `check`, `outcome` is the outcome of that check."""
        query = reading.case_query(self.run(run_id).id, **wanted)
        return reading.case_page(self._database, query, page, per_page)

    def positions(self, run_id: str, **wanted: Unpack[CaseFilter]) -> list[int]:
        """Where in the run the cases are that `outcomes` would give, for callers with an order of their own."""
        return reading.case_positions(self._database, reading.case_query(self.run(run_id).id, **wanted))

    def cases_at(self, run_id: str, positions: Sequence[int]) -> list[SavedCase]:
        """A page of cases by their positions, in the order given."""
        return reading.cases_at(self._database, self.run(run_id).id, positions)

    def case(self, run_id: str, case_id: str) -> SavedCase:
        """One case of a run of the checks."""
        return reading.one_case(self._database, self.run(run_id).id, case_id)

    def findings(self, run_id: str, case_id: str) -> tuple[Finding, ...]:
        """The findings of one case; their `text` is only a length unless the run was saved with its texts."""
        return self.case(run_id, case_id).result.findings

    def samples(
        self,
        run_id: str,
        *,
        iteration: int | None = None,
        outcome: str | Sequence[str] | None = None,
        search: str | None = None,
        page: int = 1,
        per_page: int = 50,
    ) -> Page[SavedSample]:
        """Samples of a judged run, by iteration and in the order of the set; `outcome` is pass, fail or error."""
        query = reading.sample_query(self.run(run_id).id, iteration, outcome, search)
        return reading.sample_page(self._database, query, page, per_page)

    def report(self, run_id: str) -> StoredReport:
        """The report of a run of the checks, to render and compare like one from a file."""
        run = self.run(run_id)
        if run.kind != CHECKS:
            hint = "`synthesis history show` prints its figures."
            raise InputError(
                f"the run {run.id} is a judged run, which has no report", place=Place(self.place), hint=hint
            )
        return exporting.stored_report(self._database, run)

    def judged(self, run_id: str) -> JudgedRun:
        """A judged run, to render and compare like one from its folder."""
        run = self.run(run_id)
        if run.kind != JUDGE:
            hint = "`synthesis history list --kind judge` lists the judged runs."
            raise InputError(f"the run {run.id} is a run of the checks", place=Place(self.place), hint=hint)
        return exporting.stored_judged_run(self._database, run)

    def export(self, run_id: str) -> Iterator[str]:
        """A run as pieces of one JSON document, which `add` reads: a report, or a judged run with its samples."""
        return exporting.exported(self._database, self.run(run_id))

    def trend(
        self, kind: str = CHECKS, *, name: str | None = None, tag: str | None = None, limit: int = 50
    ) -> list[TrendPoint]:
        """The figures of the newest runs of one kind, oldest first; `name` selects one input."""
        found = self.runs(limit=limit, kind=kind, name=name, tag=tag)
        return [_point(run) for run in reversed(found)]

    def tag(self, run_id: str, add: Sequence[str] = (), remove: Sequence[str] = ()) -> SavedRun:
        """Add and remove tags; returns the changed run."""
        found = self.run(run_id).id
        saving.change_tags(self._database, found, add, remove)
        return self.run(found)

    def labels(self, run_id: str) -> RunLabels:
        """The labels that people gave the cases or samples of a run."""
        return RunLabels(self._database, self.run(run_id))

    def delete(self, *run_ids: str) -> int:
        """Delete runs with everything that belongs to them; returns how many there were."""
        return saving.delete_runs(self._database, [self.run(run_id).id for run_id in run_ids])

    def older_than(self, age: timedelta) -> list[SavedRun]:
        """The runs that started longer ago than this, newest first."""
        limit = moment(datetime.now(UTC) - age)
        return reading.list_runs(self._database, limit=None, older_than=limit)


def _point(run: SavedRun) -> TrendPoint:
    fields: dict[str, Any] = {name: getattr(run, name) for name in TrendPoint.__struct_fields__ if name != "run_id"}
    return TrendPoint(run_id=run.id, **fields)


def _run_in(path: Path, provenance: Provenance) -> NewRun:
    if path.is_dir():
        return folder_entry(path, provenance)
    try:
        layout = find_layout(path)
        if layout and layout.header.get("kind") == JUDGE:
            return document_entry(path, provenance)
        began = moment(datetime.fromtimestamp(os.path.getmtime(path), UTC))
    except OSError:
        began = None  # opening it as a report says what is wrong
    known = msgspec.structs.replace(provenance, started=provenance.started or began)
    return run_of_report(open_report(path), known)
