"""Saves runs in a history: from a report, a judged run or an exported document, each in one transaction."""

import hashlib
import secrets
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec
from sqlalchemy import Table, delete, insert, select, update

from synthesis._version import __version__
from synthesis.errors import HistoryError, InputError, OptionError, Place, shorten
from synthesis.history.database import cases, findings, metadata, outcomes, runs, samples, tags
from synthesis.history.model import (
    CHECKS,
    JUDGE,
    CaseRow,
    CheckRow,
    FindingRow,
    NewRun,
    Provenance,
    Rows,
    RunRow,
    SampleRow,
    SavedRun,
    batched,
    encoded,
    judged_figures,
    searchable,
    storable,
)
from synthesis.history.seals import (
    CASE_COLUMNS,
    CHECKSUM,
    FINDINGS,
    OUTCOMES,
    ROWS,
    RUN_COLUMNS,
    SAMPLE_COLUMNS,
    SealOfRows,
    seal,
    seal_of_findings,
    seal_of_outcomes,
)
from synthesis.judge.journal import read_ledger
from synthesis.judge.ledger import Ledger
from synthesis.judge.results import IterationResults, Results, derive
from synthesis.model import CaseResult, CheckResult
from synthesis.model.result import NOT_APPLICABLE, PASS
from synthesis.report.findings import kind_of
from synthesis.report.judged.layout import Layout, saved_layout, told
from synthesis.report.judged.run import JudgedSample, SavedScore, UnjudgedSample, decode_sample
from synthesis.report.stored import Record, StoredReport, redacted

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from synthesis.history.database import Database

_GIT_SECONDS = 2.0


class ExportMetadata(msgspec.Struct, frozen=True):
    """What an exported run states about itself, so that adding it again restores the same run."""

    id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{12}$")]
    name: str
    started: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")]
    tool_version: str
    rules_hash: str | None
    input_hash: str | None
    revision: str | None
    with_text: bool
    tags: tuple[str, ...] = ()
    origin: str | None = None

    @classmethod
    def of(cls, run: SavedRun, origin: str | None) -> "ExportMetadata":
        known = {name: getattr(run, name) for name in cls.__struct_fields__ if name != "origin"}
        return cls(**known, origin=origin)


def read_export_metadata(value: Any) -> ExportMetadata:
    try:
        return msgspec.convert(value, ExportMetadata)
    except msgspec.ValidationError as error:
        raise InputError(f"'history' does not describe an exported run: {error}") from None


def now() -> str:
    """UTC to the millisecond, always of the same length, so that texts sort as times do."""
    return moment(datetime.now(UTC))


def moment(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def git_revision(folder: Path) -> str | None:
    """The commit that is checked out in a folder; None outside a repository, or if git is missing or slow."""
    command = ["git", "-C", str(folder), "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def new_id() -> str:
    return secrets.token_hex(6)


# Runs of the checks, from a report.


_NAME_WIDTH = 200
_KEPT_EVIDENCE = ("applicable", "reason", "pass_strength")


def run_of_report(report: StoredReport, provenance: Provenance) -> NewRun:
    """The run of a report, without texts unless they are to be kept."""
    known = read_export_metadata(report.header["history"]) if "history" in report.header else None
    with_text = provenance.with_text and not report.header.get("redacted", False)
    source = report if with_text else redacted(report)
    header = {key: value for key, value in source.header.items() if key not in {"history", "results_file"}}
    given = header.get("input") or {}
    name = provenance.name or ", ".join(given.get("files", ())) or "cases from a program"
    row = RunRow(
        id=known.id if known else new_id(),
        kind=CHECKS,
        name=storable(shorten(name, _NAME_WIDTH)),
        started=known.started if known else provenance.started or now(),
        tool_version=storable(header["tool"]["version"]),
        rules_hash=header["rules"]["hash"],
        input_hash=given.get("sha256"),
        revision=known.revision if known else provenance.revision,
        with_text=with_text,
        conditions=encoded(header),
        summary=encoded(report.summary),
    )
    tags = (*provenance.tags, *(known.tags if known else ()))
    return NewRun(row, _case_batches(source.results(), with_text), tags)


def _case_batches(results: Iterable[CaseResult], with_text: bool) -> Iterator[Sequence[Rows]]:
    for batch in batched(enumerate(results)):
        kept = [(position, result if with_text else _without_idle_evidence(result)) for position, result in batch]
        yield (
            [_case(position, result, with_text) for position, result in kept],
            [row for position, result in batch for row in _checks(position, result)],
            [row for position, result in kept for row in _findings(position, result)],
        )


def _without_idle_evidence(result: CaseResult) -> CaseResult:
    """A case that ended as it should needs no evidence: without texts nobody reads it, and it is most of a history."""
    labels = result.label_comparison.values()
    if kind_of(result) not in {PASS, NOT_APPLICABLE} or not all(label.match for label in labels):
        return result
    checks = {name: _verdict_alone(check) for name, check in result.checks.items()}
    return msgspec.structs.replace(result, checks=checks, findings=(), texts={})


def _verdict_alone(check: CheckResult) -> CheckResult:
    kept = {key: check.evidence[key] for key in _KEPT_EVIDENCE if key in check.evidence}
    turns = tuple(_outcome_alone(turn) for turn in check.turns)
    return msgspec.structs.replace(check, evidence=kept, findings=(), turns=turns, missing=())


def _outcome_alone(turn: CheckResult) -> CheckResult:
    """What the strip of a conversation shows."""
    return msgspec.structs.replace(turn, evidence={}, findings=(), missing=(), reason=None)


def _case(position: int, result: CaseResult, with_text: bool) -> CaseRow:
    texts = [text for turn in result.exchanges for text in turn] if with_text else []
    return CaseRow(
        position,
        case_id=storable(result.name),
        outcome=result.outcome,
        kind=kind_of(result),
        language=storable(result.language),
        words=searchable(result.name, *texts),
        record=encoded(result.to_dict()),
    )


def _checks(position: int, result: CaseResult) -> Iterator[CheckRow]:
    for name, check in result.checks.items():
        label = result.label_comparison.get(name)
        expected, matched = (label.expected, label.match) if label else (None, None)
        yield CheckRow(position, storable(name), check.outcome, expected, matched)


def _findings(position: int, result: CaseResult) -> Iterator[FindingRow]:
    for number, finding in enumerate(result.findings):
        yield FindingRow(
            position,
            number,
            rule=storable(finding.rule),
            signal=storable(finding.signal),
            side=finding.where,
            turn=finding.turn,
            start_at=finding.start,
            end_at=finding.end,
        )


# Judged runs, from the folder of a run or from an exported document.


Sample = JudgedSample | UnjudgedSample


def folder_entry(folder: Path, provenance: Provenance) -> NewRun:
    """The run in a folder, with its figures computed again from the journal."""
    ledger = read_ledger(folder)
    results = derive(ledger)
    if not any(iteration.records or iteration.errors for iteration in results.iterations):
        hint = "Run `synthesis judge run` first."
        raise HistoryError("this run has no verdict yet", place=Place(str(folder)), hint=hint)
    run = ledger.present_run()
    row = RunRow(
        id=new_id(),
        kind=JUDGE,
        name=storable(provenance.name or run.test_set_name),
        started=provenance.started or run.at,
        tool_version=__version__,
        rules_hash=run.judge.rubric,
        input_hash=_hash([(sample.query_log_id, sample.fingerprint) for sample in ledger.samples]),
        revision=provenance.revision,
        with_text=provenance.with_text,
        conditions=encoded(_conditions(ledger)),
        summary=encoded(told(_summary(results, provenance.with_text), run.layout)),
        origin=_hash([run.test_set_name, run.at, msgspec.to_builtins(run.judge)]),
    )
    found = _rows(ledger, results, provenance.with_text)
    return NewRun(row, _batches(found), provenance.tags)


class Document(msgspec.Struct, frozen=True):
    """A judged run as `history export` writes it."""

    history: ExportMetadata
    conditions: Record
    summary: Record
    results: list["DocumentSample"]


class DocumentSample(msgspec.Struct, frozen=True):
    iteration: int
    position: int
    record: Record


def document_entry(path: Path, provenance: Provenance) -> NewRun:
    """A run that was exported, restored with its id."""
    try:
        document = msgspec.json.decode(path.read_bytes(), type=Document)
        with_text = provenance.with_text and document.history.with_text
        layout = saved_layout(document.conditions)
        summary = told(_without_words(document.summary, with_text), layout)
        judged_figures(summary, document.conditions)
        found = [
            _row(sample.iteration, sample.position, decode_sample(sample.record), with_text, layout)
            for sample in document.results
        ]
    except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError, AttributeError) as error:
        hint = "`synthesis history export` writes one."
        raise InputError(f"is not an exported run: {error}", place=Place(str(path)), hint=hint) from None
    known = document.history
    named = {name: getattr(known, name) for name in known.__struct_fields__ if name not in {"tags", "with_text"}}
    conditions = encoded(document.conditions)
    row = RunRow(**named, kind=JUDGE, with_text=with_text, conditions=conditions, summary=encoded(summary))
    return NewRun(row, _batches(found), (*known.tags, *provenance.tags))


def _hash(value: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(value)).hexdigest()


def _conditions(ledger: Ledger) -> Record:
    run = ledger.present_run()
    judge: Record = msgspec.to_builtins(run.judge)
    axes = [{"name": axis.name, "pass_at": axis.pass_at} for axis in run.rubric.axes]
    rubric = {"name": run.rubric.name, "version": run.rubric.version, "axes": axes}
    courses = {"has_courses": True} if run.has_courses else {}
    return {"judge": judge, "rubric": rubric, "iterations": run.iterations, "samples": len(ledger.samples), **courses}


def _summary(results: Results, with_text: bool) -> Record:
    summary = {
        "iterations": [_iteration(iteration) for iteration in results.iterations],
        "final_metrics": results.final_metrics,
        "final_cost": results.final_cost,
    }
    return cast(Record, _without_words(summary, with_text))


def _iteration(iteration: IterationResults) -> Record:
    return {
        "number": iteration.number,
        "metrics": iteration.metrics,
        "cost": iteration.cost,
        "analysis": iteration.analysis,
        "errors": [error["queryLogId"] for error in iteration.errors],
    }


def _without_words(value: Any, with_text: bool) -> Any:
    """Without the list of every call, and without examples in full unless texts are to be kept."""
    left_out = {"tokenUsage"} if with_text else {"tokenUsage", "examples"}
    if isinstance(value, dict):
        return {key: _without_words(item, with_text) for key, item in value.items() if key not in left_out}
    return [_without_words(item, with_text) for item in value] if isinstance(value, list | tuple) else value


def _rows(ledger: Ledger, results: Results, with_text: bool) -> Iterator[SampleRow]:
    layout = ledger.present_run().layout
    places = {sample.query_log_id: sample.position for sample in ledger.samples}
    for iteration in results.iterations:
        for record in (*iteration.records, *iteration.errors):
            sample = decode_sample(record)
            yield _row(iteration.number, places[sample.query_log_id], sample, with_text, layout)


def _bare(sample: Sample) -> Sample:
    """Scores without reasons; of an error only its kind, because its text may quote what was sent."""
    if isinstance(sample, UnjudgedSample):
        kind = sample.reason.partition(":")[0]
        return msgspec.structs.replace(sample, question=None, reason=kind, token_usage=msgspec.UNSET)
    return JudgedSample(
        query_log_id=sample.query_log_id,
        judge_verdict={axis: SavedScore(verdict.score) for axis, verdict in sample.judge_verdict.items()},
        overall_score=sample.overall_score,
        passed=sample.passed,
        faithfulness_passed=sample.faithfulness_passed,
        needs_judge=sample.needs_judge,
        details={"judgedBy": sample.judged_by} if sample.judged_by else {},
        course_count=sample.course_count,
        stale=sample.stale,
    )


def _batches(rows: Iterable[SampleRow]) -> Iterator[Sequence[Rows]]:
    return ([batch] for batch in batched(rows))


def _row(iteration: int, position: int, sample: Sample, with_text: bool, layout: Layout) -> SampleRow:
    kept = sample if with_text else _bare(sample)
    judged = kept if isinstance(kept, JudgedSample) else None
    # A stale verdict is in the record alone: lists, labels and trends go by the columns.
    present = judged if judged and not judged.stale else None
    scores = {axis: verdict.score for axis, verdict in present.judge_verdict.items()} if present else {}
    texts = (kept.query_log_id, kept.question, judged.system_answer if judged else None)
    return SampleRow(
        iteration=iteration,
        position=position,
        query_log_id=storable(kept.query_log_id),
        faithfulness=scores.get("faithfulness"),
        completeness=scores.get("completeness"),
        overall=present.overall_score if present else None,
        passed=_passed(present) if present else None,
        error=storable(kept.reason) if isinstance(kept, UnjudgedSample) else None,
        words=searchable(*(text for text in texts if text is not None)),
        record=encoded(told(msgspec.to_builtins(kept), layout)),
    )


def _passed(sample: JudgedSample) -> bool | None:
    """By the gate: offline, faithfulness decides; a sample that needs a judge neither passes nor fails."""
    if sample.needs_judge:
        return None
    return sample.passed if sample.faithfulness_passed is None else sample.faithfulness_passed


# Changes to a history. Each is one transaction: a run that fails midway leaves nothing behind.


_TAG_WIDTH = 100
_TABLES: dict[type, Table] = {CaseRow: cases, CheckRow: outcomes, FindingRow: findings, SampleRow: samples}


def save(database: "Database", run: NewRun) -> str:
    """Write a run with everything that belongs to it; returns its id."""
    check_tags(run.tags)
    with database.writing() as connection:
        run_id = _write_run(connection, run, database.shown)
        batches, sealed = 0, SealOfRows()
        for batch in run.batches:
            batches += 1
            for rows, seals in zip(batch, _seals(batch), strict=True):
                if rows:
                    fields = [{"run_id": run_id, **msgspec.structs.asdict(row)} for row in rows]
                    _insert(connection, _TABLES[type(rows[0])], _with_seals(fields, seals, sealed))
        _seal_run(connection, run_id, str(sealed))
        _add_tags(connection, run_id, run.tags)
    if batches > 1 and database.engine.dialect.name == "postgresql":
        _analyze(database)
    return run_id


def _seals(batch: Sequence[Rows]) -> list[list[str]]:
    """The seals of each case or sample; other rows have none, they are sealed with their case."""
    found: list[list[str]] = [[] for _ in batch]
    of_cases: dict[type, dict[int, list[Any]]] = {CheckRow: defaultdict(list), FindingRow: defaultdict(list)}
    for rows in batch:
        for row in rows:
            if type(row) in of_cases:
                of_cases[type(row)][row.position].append(row)
    for seals, rows in zip(found, batch, strict=True):
        for row in rows:
            if isinstance(row, SampleRow):
                seals.append(seal(SAMPLE_COLUMNS, msgspec.structs.asdict(row)))
            elif isinstance(row, CaseRow):
                outcomes_here = seal_of_outcomes(of_cases[CheckRow][row.position])
                findings_here = seal_of_findings(of_cases[FindingRow][row.position])
                own = msgspec.structs.asdict(row) | {OUTCOMES: outcomes_here, FINDINGS: findings_here}
                seals.append(seal(CASE_COLUMNS, own))
    return found


def _with_seals(fields: list[dict[str, Any]], seals: list[str], sealed: SealOfRows) -> list[dict[str, Any]]:
    for one, mark in zip(fields, seals, strict=False):
        one[CHECKSUM] = mark
        sealed.add(mark)
    return fields


def _seal_run(connection: "Connection", run_id: str, rows: str) -> None:
    """Seal the run as the database has it: one that is saved again keeps some of its columns."""
    here = runs.c.id == run_id
    connection.execute(update(runs).where(here), {ROWS: rows})
    stored = connection.execute(select(runs).where(here)).one()._mapping
    connection.execute(update(runs).where(here), {CHECKSUM: seal(RUN_COLUMNS, stored)})


def _insert(connection: "Connection", table: Table, rows: list[dict[str, Any]]) -> None:
    """Insert rows with the same fields; PostgreSQL takes them several times faster by COPY."""
    if connection.dialect.name != "postgresql":
        connection.execute(insert(table), rows)
        return
    names = list(rows[0])
    cursor: Any = connection.connection.cursor()
    with cursor, cursor.copy(f"COPY {table.name} ({', '.join(names)}) FROM STDIN") as stream:
        for row in rows:
            stream.write_row([row[name] for name in names])


def _analyze(database: "Database") -> None:
    """PostgreSQL plans by table statistics; without fresh ones, a search in a new large run takes minutes."""
    with database.writing() as connection:
        connection.exec_driver_sql(f"ANALYZE {', '.join(table.name for table in metadata.sorted_tables)}")


def _write_run(connection: "Connection", run: NewRun, shown: str) -> str:
    """Insert a new run, or replace the same judged run that was saved before it was resumed."""
    row = run.row
    fields = msgspec.structs.asdict(row)
    same = select(runs.c.id).where(runs.c.origin == row.origin)
    earlier = connection.execute(same).scalar() if row.origin else None
    if earlier is not None:
        connection.execute(delete(samples).where(samples.c.run_id == earlier))
        kept = {"id", "started", "revision"}  # it is still the run that started then and there
        changed = {name: value for name, value in fields.items() if name not in kept}
        connection.execute(update(runs).where(runs.c.id == earlier), changed)
        return str(earlier)
    if connection.execute(select(runs.c.id).where(runs.c.id == row.id)).scalar() is not None:
        hint = "Delete it first to add it again."
        raise HistoryError(f"the run {row.id} is already in this history", place=Place(shown), hint=hint)
    connection.execute(insert(runs), fields)
    return row.id


def change_tags(database: "Database", run_id: str, add: Sequence[str], remove: Sequence[str]) -> None:
    check_tags(add)
    with database.writing() as connection:
        connection.execute(delete(tags).where(tags.c.run_id == run_id, tags.c.tag.in_(list(remove))))
        _add_tags(connection, run_id, add)


def _add_tags(connection: "Connection", run_id: str, added: Iterable[str]) -> None:
    present = set(connection.execute(select(tags.c.tag).where(tags.c.run_id == run_id)).scalars())
    rows = [{"run_id": run_id, "tag": tag} for tag in sorted(set(added) - present)]
    if rows:
        connection.execute(insert(tags), rows)


def check_tags(names: Iterable[str]) -> None:
    for name in names:
        if not name.strip() or len(name) > _TAG_WIDTH or not name.isprintable() or storable(name) != name:
            hint = f"Use 1 to {_TAG_WIDTH} printable characters."
            raise OptionError(f"{name!r} is not a valid tag", hint=hint)


def delete_runs(database: "Database", run_ids: Sequence[str]) -> int:
    """Delete runs with everything that belongs to them; returns how many there were."""
    with database.writing() as connection:
        return sum(connection.execute(delete(runs).where(runs.c.id == run_id)).rowcount for run_id in run_ids)
