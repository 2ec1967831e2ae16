"""Judged runs on their way into a history: from the folder of a run, or from an exported document."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from synthesis._version import __version__
from synthesis.errors import HistoryError, InputError, Place
from synthesis.history.model import JUDGE, judged_figures
from synthesis.history.provenance import ExportMetadata, Provenance, new_id
from synthesis.history.rows import NewRun, Rows, RunRow, SampleRow, batched, encoded, searchable, storable
from synthesis.judge.journal import read_ledger
from synthesis.judge.ledger import Ledger
from synthesis.judge.results import IterationResults, Results, derive
from synthesis.report.reading import Record

_KEPT = ("queryLogId", "overallScore", "passed", "courseCount", "stale", "hash", "calls", "failedAt")
_TEXTS = ("question", "systemAnswer")


def folder_entry(folder: Path, provenance: Provenance) -> NewRun:
    """The run in a folder, with its figures computed anew from the journal."""
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
        summary=encoded(_summary(results, provenance.with_text)),
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
    """A run that was exported; it comes back as itself."""
    try:
        document = msgspec.json.decode(path.read_bytes(), type=Document)
        with_text = provenance.with_text and document.history.with_text
        summary = _without_words(document.summary, with_text)
        judged_figures(summary)
        found = [_row(sample.iteration, sample.position, sample.record, with_text) for sample in document.results]
    except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError, AttributeError) as error:
        hint = "`synthesis history export` writes one."
        raise InputError(f"is no exported run: {error}", place=Place(str(path)), hint=hint) from None
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
    return {"judge": judge, "rubric": rubric, "iterations": run.iterations, "samples": len(ledger.samples)}


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
    places = {sample.query_log_id: sample.position for sample in ledger.samples}
    for iteration in results.iterations:
        for record in (*iteration.records, *iteration.errors):
            yield _row(iteration.number, places[record["queryLogId"]], record, with_text)


def _bare(record: Record) -> Record:
    """Scores without reasons; of an error only its kind, for its text may quote what was sent."""
    bare = {key: record[key] for key in _KEPT if key in record}
    if "judgeVerdict" in record:
        bare["judgeVerdict"] = {axis: {"score": said["score"]} for axis, said in record["judgeVerdict"].items()}
    if "reason" in record:
        bare["reason"] = record["reason"].partition(":")[0]
    return bare


def _batches(rows: Iterable[SampleRow]) -> Iterator[Sequence[Rows]]:
    return ([batch] for batch in batched(rows))


def _row(iteration: int, position: int, record: Record, with_text: bool) -> SampleRow:
    kept = record if with_text else _bare(record)
    verdict = kept.get("judgeVerdict", {})
    return SampleRow(
        iteration=iteration,
        position=position,
        query_log_id=storable(kept["queryLogId"]),
        faithfulness=verdict.get("faithfulness", {}).get("score"),
        completeness=verdict.get("completeness", {}).get("score"),
        overall=kept.get("overallScore"),
        passed=kept.get("passed"),
        error=storable(kept["reason"]) if "reason" in kept else None,
        words=searchable(kept["queryLogId"], *(kept[key] for key in _TEXTS if key in kept)),
        record=encoded(kept),
    )
