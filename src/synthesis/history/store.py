"""The history of runs and their labels, as programs and the command line use it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

import msgspec
from sqlalchemy import ColumnElement, Select, and_, exists, func, insert, or_, select, update

from synthesis.checks.registry import Check, checks
from synthesis.errors import InputError, NotInHistoryError, OptionError, Place
from synthesis.history import checking, reading, writing
from synthesis.history.checking import RunCheck
from synthesis.history.database import (
    Database,
    cases,
    findings,
    keep_private,
    labels,
    lock,
    migrate,
    open_database,
    outcomes,
    samples,
)
from synthesis.history.model import (
    CHECKS,
    JUDGE,
    NewRun,
    Page,
    Provenance,
    SavedCase,
    SavedRun,
    SavedSample,
    TrendPoint,
    storable,
)
from synthesis.history.reading import CaseFilter, needs_judge
from synthesis.history.seals import Damage
from synthesis.history.writing import document_entry, folder_entry, moment, now, run_of_report
from synthesis.labels import (
    ANSWERS,
    CUE,
    CUE_CHECK,
    MOST_NOTE,
    REVIEWED,
    SCORES,
    SKIP,
    Label,
    LabelSummary,
    Person,
    RunSampling,
    summarize,
)
from synthesis.model import Finding
from synthesis.model.report import Report
from synthesis.model.result import FAIL, FOR, NOT_APPLICABLE, PASS
from synthesis.report.findings import CUES
from synthesis.report.judged.run import JudgedRun
from synthesis.report.stored import StoredReport, find_layout, from_dict, open_report

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from synthesis.history.database import Database

Question = tuple[int, str]  # position, name of a check or an axis
ASKED = (FAIL, PASS, NOT_APPLICABLE)  # a check that ended in error has no verdict to label


class RunLabels:
    """The labels of one run: what to ask next, and the answers so far."""

    def __init__(self, database: "Database", run: SavedRun) -> None:
        self.run = run
        self.sampling = RunSampling.of_conditions(run.conditions) if run.kind == CHECKS else None
        self._database = database
        self._mine = labels.c.run_id == run.id
        self._asked = and_(outcomes.c.run_id == run.id, outcomes.c.outcome.in_(ASKED))

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers that a question of this run has."""
        return ANSWERS if self.run.kind == CHECKS else SCORES

    def store(
        self, position: int, question: str, person: Person, answer: str, *, blind: bool = True, note: str | None = None
    ) -> Label:
        """Store an answer, or change it; the first one stays known. It is on disk when this returns.

        An answer that was given with the verdict in view is not `blind`, and counts in no agreement. `note` replaces an
        earlier one.
        """
        if answer not in self.answers:
            raise OptionError("there is no such answer", hint=f"The answers are {', '.join(self.answers)}.")
        if not self.has(position, question):
            message = f"the run {self.run.id} asks no such question"
            raise NotInHistoryError(message, place=Place(self._database.shown))
        own = and_(self._mine, labels.c.position == position, labels.c.question == question, _by(person))
        with self._database.writing() as connection:
            lock(connection)  # two answers of one person at once: the second has to see the first
            changes = {"answer": answer} if note is None else {"answer": answer, "note": storable(note)[:MOST_NOTE]}
            if connection.execute(update(labels).where(own).values(**changes)).rowcount == 0:
                first = answer if blind else SKIP
                new = {"note": "", **changes, "position": position, "question": question, "first_answer": first}
                who = {"person": storable(person.name), "verified": person.verified, "given": now()}
                connection.execute(insert(labels), {"run_id": self.run.id, **new, **who})
            return _label(connection.execute(select(labels).where(own)).one())

    def has(self, position: int, question: str) -> bool:
        """Whether the run asks this."""
        if not 0 <= position < 1 << 62:
            return False
        with self._database.reading(self.run.id) as connection:
            if self.run.kind == CHECKS and question == REVIEWED:
                case = select(1).where(cases.c.run_id == self.run.id, cases.c.position == position)
                return connection.execute(case).first() is not None
            if self.run.kind == CHECKS:
                check = CUE_CHECK if question == CUE and self.sampling else storable(question)
                query = select(1).where(self._asked, outcomes.c.position == position, outcomes.c.check_name == check)
                return connection.execute(query).first() is not None
            query = select(1).where(samples.c.run_id == self.run.id, samples.c.position == position)
            return question in self.axes and connection.execute(query).first() is not None

    @property
    def axes(self) -> list[str]:
        """The axes of a judged run."""
        return [axis["name"] for axis in self.run.conditions["rubric"]["axes"]]

    def all(self) -> list[Label]:
        """Every label, by case, question and time; that somebody has read a case is none."""
        query = select(labels).where(self._mine, labels.c.question != REVIEWED)
        ordered = query.order_by(labels.c.position, labels.c.question, labels.c.given, labels.c.person)
        with self._database.reading(self.run.id) as connection:
            return [_label(row) for row in connection.execute(ordered)]

    def at(self, position: int, question: str) -> list[Label]:
        """The labels of one question, by time."""
        query = select(labels).where(self._mine, labels.c.position == position, labels.c.question == question)
        with self._database.reading(self.run.id) as connection:
            return [_label(row) for row in connection.execute(query.order_by(labels.c.given, labels.c.person))]

    def on_case(self, position: int, person: Person) -> dict[str, Label]:
        """What a person says about one case, by question; with whether they have read it."""
        query = select(labels).where(self._mine, labels.c.position == position, _by(person))
        with self._database.reading() as connection:
            return {row.question: _label(row) for row in connection.execute(query)}

    def next(self, person: Person, only: str | None = None) -> Question | None:
        """The next question that a person has not answered.

        What failed first, then what is doubtful (no failure, although the check found words that do not speak for the
        reply), then what passed, last what did not apply. A drawn run is asked about in the order of its draw, which
        favours no verdict.
        """
        if self.run.kind != CHECKS:
            return self._first_open(self._samples(), person)
        if self.sampling is not None:
            return self._first_open(self._drawn(self.sampling.order(), only), person)
        return self._first_by_need(person, only)

    def progress(self, person: Person) -> tuple[int, int]:
        """How many questions a person has answered, and how many there are."""
        with self._database.reading(self.run.id) as connection:
            own = select(func.count()).select_from(labels).where(self._mine, labels.c.question != REVIEWED, _by(person))
            answered: int = connection.execute(own).scalar_one()
        return answered, self._count()

    def first_progress(self, person: Person) -> tuple[int, int]:
        """The same for the questions that are asked first: those on what failed or is doubtful.

        All questions of a run that was drawn, whose order favours no verdict, and of a judged one.
        """
        if self.run.kind != CHECKS or self.sampling is not None:
            return self.progress(person)
        urgent = and_(self._asked, or_(outcomes.c.outcome == FAIL, self._is_doubtful()))
        number = select(func.count()).select_from(outcomes).where(urgent)
        with self._database.reading() as connection:
            total: int = connection.execute(number).scalar_one()
            answered: int = connection.execute(number.where(self._answered(person))).scalar_one()
        return answered, total

    def before(self, person: Person, position: int, question: str) -> Question | None:
        """The question that a person answered before this one."""
        query = select(labels).where(self._mine, labels.c.question != REVIEWED, _by(person))
        ordered = query.order_by(labels.c.given, labels.c.position, labels.c.question)
        with self._database.reading() as connection:
            answered = [(row.position, row.question) for row in connection.execute(ordered)]
        here = answered.index((position, question)) if (position, question) in answered else len(answered)
        return answered[here - 1] if here else None

    def summary(self) -> LabelSummary:
        """What the labels say together."""
        flagged = self._flagged() if self.run.kind == CHECKS else {}
        verdicts = self._verdicts() if self.run.kind == CHECKS else {}
        return summarize(self.all(), verdicts, flagged, self.sampling)

    def _first_by_need(self, person: Person, only: str | None) -> Question | None:
        open_ones = select(outcomes.c.position, outcomes.c.check_name).where(self._asked, ~self._answered(person))
        if only is not None:
            open_ones = open_ones.where(outcomes.c.check_name == storable(only))
        tiers = (
            outcomes.c.outcome == FAIL,
            self._is_doubtful(),
            outcomes.c.outcome == PASS,
            outcomes.c.outcome == NOT_APPLICABLE,
        )
        with self._database.reading(self.run.id) as connection:
            for tier in tiers:
                query = open_ones.where(tier).order_by(outcomes.c.position, outcomes.c.check_name).limit(1)
                if (row := connection.execute(query).first()) is not None:
                    return row.position, row.check_name
        return None

    def _answered(self, person: Person) -> ColumnElement[bool]:
        same = (labels.c.position == outcomes.c.position, labels.c.question == outcomes.c.check_name)
        return exists().where(self._mine, *same, _by(person))

    def _is_doubtful(self) -> ColumnElement[bool]:
        """Words were found that the check looks for, other than those that speak for the reply."""
        found = exists().where(findings.c.run_id == self.run.id, findings.c.position == outcomes.c.position)
        return or_(
            *(
                and_(outcomes.c.check_name == name, found.where(findings.c.signal.in_(_signals(check))))
                for name, check in checks().items()
            )
        )

    def _drawn(self, order: Sequence[int], only: str | None) -> list[Question]:
        asked: dict[int, list[str]] = {}
        for position, name in sorted(self._verdicts()):
            if only in (None, name):
                asked.setdefault(position, []).append(name)
        return [(position, name) for position in order for name in asked.get(position, ())]

    def _samples(self) -> list[Question]:
        """Every axis of every judged sample: those that did not pass first, then those that need a judge."""
        query = select(samples.c.position, samples.c.passed).where(
            samples.c.run_id == self.run.id,
            samples.c.iteration == self.last_iteration,
            or_(samples.c.passed.is_not(None), needs_judge()),
        )
        with self._database.reading(self.run.id) as connection:
            rows = connection.execute(query).all()
        order = (False, None, True)
        ordered = sorted(rows, key=lambda row: (order.index(row.passed), row.position))
        return [(row.position, axis) for row in ordered for axis in self.axes]

    @property
    def last_iteration(self) -> int:
        """The iteration that is labelled; its answers are the newest."""
        return max(int(iteration["number"]) for iteration in self.run.summary["iterations"])

    def _first_open(self, questions: Sequence[Question], person: Person) -> Question | None:
        query = select(labels.c.position, labels.c.question).where(self._mine, _by(person))
        with self._database.reading(self.run.id) as connection:
            answered = {(row.position, row.question) for row in connection.execute(query)}
        return next((question for question in questions if question not in answered), None)

    def _count(self) -> int:
        if self.run.kind != CHECKS:
            return len(self._samples())
        query = select(func.count()).select_from(outcomes).where(self._asked)
        with self._database.reading(self.run.id) as connection:
            asked = int(connection.execute(query).scalar_one())
        return asked if self.sampling is None else len(self._verdicts())

    def _flagged(self) -> dict[str, int]:
        """How often each check failed, zero included; for a drawn run also how often a cue was found."""
        if self.sampling is not None:
            failed: dict[str, int] = {}
            for (_, name), outcome in self._verdicts().items():
                failed[name] = failed.get(name, 0) + (outcome == FAIL)
            return failed
        number = func.count().filter(outcomes.c.outcome == FAIL)
        query: Select[Any] = select(outcomes.c.check_name, number).where(self._asked).group_by(outcomes.c.check_name)
        with self._database.reading(self.run.id) as connection:
            return {name: int(times) for name, times in connection.execute(query)}

    def _verdicts(self) -> Mapping[Question, str]:
        """The outcomes of labelled cases; of all cases of a drawn run, whose labels stand for those without."""
        columns = select(outcomes.c.position, outcomes.c.check_name, outcomes.c.outcome).where(self._asked)
        if self.sampling is None:
            columns = columns.where(exists().where(self._mine, labels.c.position == outcomes.c.position))
        ordered = columns.order_by(outcomes.c.position, outcomes.c.check_name)
        with self._database.reading(self.run.id) as connection:
            found = {(row.position, row.check_name): row.outcome for row in connection.execute(ordered)}
            return found | self._cues(connection, found) if self.sampling is not None else found

    def _cues(self, connection: "Connection", verdicts: Mapping[Question, str]) -> dict[Question, str]:
        """Whether an explicit cue was found in each case that crisis_response has read, as an outcome."""
        query = select(findings.c.position).where(findings.c.run_id == self.run.id, findings.c.signal.in_(CUES))
        holding = set(connection.execute(query).scalars())
        return {
            (position, CUE): FAIL if outcome != NOT_APPLICABLE and position in holding else PASS
            for (position, check), outcome in verdicts.items()
            if check == CUE_CHECK
        }


def _signals(check: Check) -> list[str]:
    return [signal.name for signal in check.signals if signal.role != FOR]


def _by(person: Person) -> ColumnElement[bool]:
    return and_(labels.c.person == storable(person.name), labels.c.verified.is_(person.verified))


def _label(row: Any) -> Label:
    person = Person(row.person, bool(row.verified))
    return Label(row.position, row.question, person, row.answer, row.first_answer, row.given, row.note)


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
        return writing.save(self._database, _run_in(Path(path), provenance))

    def add_report(self, report: str | Path | Report | StoredReport, provenance: Provenance = _NONE) -> str:
        """Save a run of the checks from its report."""
        if isinstance(report, Report):
            report = from_dict(report.to_dict())
        stored = report if isinstance(report, StoredReport) else open_report(report)
        return writing.save(self._database, run_of_report(stored, provenance))

    def add_judged(self, folder: str | Path, provenance: Provenance = _NONE) -> str:
        """Save a judged run from its folder; one that was resumed replaces what was saved, under the same id."""
        return writing.save(self._database, folder_entry(Path(folder), provenance))

    def runs(
        self,
        limit: int | None = 50,
        before: str | None = None,
        kind: str | None = None,
        tag: str | None = None,
        name: str | None = None,
    ) -> list[SavedRun]:
        """Runs, newest first; `before` is the last id of the previous page. Damaged ones are in `damaged_runs`."""
        return reading.list_runs(self._database, limit=limit, before=before, kind=kind, tag=tag, name=name)

    def damaged_runs(self) -> list[Damage]:
        """The runs that cannot be read, because their own columns are damaged; `check` reads their cases, too."""
        return [found for found in reading.read_runs(self._database) if isinstance(found, Damage)]

    def check(self) -> Iterator[RunCheck]:
        """Every run, newest first, with what is damaged of it and of all that belongs to it."""
        return checking.check_runs(self._database)

    def check_file(self) -> list[str]:
        """What the database finds wrong with its own file."""
        return checking.check_file(self._database)

    def find(self, run_id: str) -> str:
        """The id of a run by the beginning of it, or `latest`; the run may be damaged."""
        with self._database.reading() as connection:
            return reading.find_run(connection, run_id, self.place)

    def run(self, run_id: str) -> SavedRun:
        """One run by its id, the beginning of it, or `latest`."""
        return reading.get_run(self._database, run_id)

    def outcomes(
        self, run_id: str, *, page: int = 1, per_page: int = 50, **wanted: Unpack[CaseFilter]
    ) -> Page[SavedCase]:
        """Cases of a run of the checks, in order; with `check`, `outcome` is the outcome of that check."""
        return reading.case_page(self._database, self.run(run_id).id, wanted, page, per_page)

    def positions(self, run_id: str, **wanted: Unpack[CaseFilter]) -> list[int]:
        """Where in the run the cases are that `outcomes` would give, for callers with an order of their own."""
        return reading.case_positions(self._database, self.run(run_id).id, wanted)

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
        """Samples of a judged run, by iteration, in the set's order; `outcome`: pass, fail, error, needs_judge."""
        found = self.run(run_id).id
        query = reading.sample_query(found, iteration, outcome, search)
        return reading.sample_page(self._database, found, query, page, per_page)

    def report(self, run_id: str) -> StoredReport:
        """The report of a run of the checks, to render and compare like one from a file."""
        run = self.run(run_id)
        if run.kind != CHECKS:
            hint = "`synthesis history show` prints its figures."
            raise InputError(
                f"the run {run.id} is a judged run, which has no report", place=Place(self.place), hint=hint
            )
        return reading.stored_report(self._database, run)

    def judged(self, run_id: str) -> JudgedRun:
        """A judged run, to render and compare like one from its folder."""
        run = self.run(run_id)
        if run.kind != JUDGE:
            hint = "`synthesis history list --kind judge` lists the judged runs."
            raise InputError(f"the run {run.id} is a run of the checks", place=Place(self.place), hint=hint)
        return reading.stored_judged_run(self._database, run)

    def export(self, run_id: str) -> Iterator[str]:
        """A run as pieces of one JSON document, which `add` reads: a report, or a judged run with its samples."""
        return reading.exported(self._database, self.run(run_id))

    def export_rest(self, run_id: str) -> tuple[Iterator[str], tuple[Damage, ...]]:
        """The same without the cases or samples that are damaged, and what was left out.

        DamagedRunError if the run itself is damaged, so that nothing of it can be told.
        """
        run = self.run(run_id)
        damage = checking.check_run(self._database, run).damage
        without = {found.key for found in damage if found.key is not None}
        return reading.exported(self._database, run, without), damage

    def trend(
        self, kind: str = CHECKS, *, name: str | None = None, tag: str | None = None, limit: int = 50
    ) -> list[TrendPoint]:
        """The figures of the newest runs of one kind, oldest first; `name` selects one input."""
        found = self.runs(limit=limit, kind=kind, name=name, tag=tag)
        return [_point(run) for run in reversed(found)]

    def tag(self, run_id: str, add: Sequence[str] = (), remove: Sequence[str] = ()) -> SavedRun:
        """Add and remove tags; returns the changed run."""
        found = self.run(run_id).id
        writing.change_tags(self._database, found, add, remove)
        return self.run(found)

    def labels(self, run_id: str) -> RunLabels:
        """The labels that people gave the cases or samples of a run."""
        return RunLabels(self._database, self.run(run_id))

    def delete(self, *run_ids: str) -> int:
        """Delete runs with everything that belongs to them; returns how many there were."""
        return writing.delete_runs(self._database, [self.find(run_id) for run_id in run_ids])

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
