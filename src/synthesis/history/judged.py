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
from synthesis.judge.journal.file import read_ledger
from synthesis.judge.journal.ledger import Ledger
from synthesis.judge.results import IterationResults, Results, derive
from synthesis.report.judged.run import JudgedSample, SavedScore, UnjudgedSample, decode_sample
from synthesis.report.reading import Record

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
    """A run that was exported, restored with its id."""
    try:
        document = msgspec.json.decode(path.read_bytes(), type=Document)
        with_text = provenance.with_text and document.history.with_text
        summary = _without_words(document.summary, with_text)
        judged_figures(summary)
        found = [
            _row(sample.iteration, sample.position, decode_sample(sample.record), with_text)
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
            sample = decode_sample(record)
            yield _row(iteration.number, places[sample.query_log_id], sample, with_text)


def _bare(sample: Sample) -> Sample:
    """Scores without reasons; of an error only its kind, because its text may quote what was sent."""
    if isinstance(sample, UnjudgedSample):
        kind = sample.reason.partition(":")[0]
        return msgspec.structs.replace(sample, question=None, reason=kind, token_usage=msgspec.UNSET)
    return JudgedSample(
        query_log_id=sample.query_log_id,
        judge_verdict={axis: SavedScore(said.score) for axis, said in sample.judge_verdict.items()},
        overall_score=sample.overall_score,
        passed=sample.passed,
        course_count=sample.course_count,
        stale=sample.stale,
    )


def _batches(rows: Iterable[SampleRow]) -> Iterator[Sequence[Rows]]:
    return ([batch] for batch in batched(rows))


def _row(iteration: int, position: int, sample: Sample, with_text: bool) -> SampleRow:
    kept = sample if with_text else _bare(sample)
    judged = kept if isinstance(kept, JudgedSample) else None
    scores = {axis: said.score for axis, said in judged.judge_verdict.items()} if judged else {}
    texts = (kept.query_log_id, kept.question, judged.system_answer if judged else None)
    return SampleRow(
        iteration=iteration,
        position=position,
        query_log_id=storable(kept.query_log_id),
        faithfulness=scores.get("faithfulness"),
        completeness=scores.get("completeness"),
        overall=judged.overall_score if judged else None,
        passed=judged.passed if judged else None,
        error=storable(kept.reason) if isinstance(kept, UnjudgedSample) else None,
        words=searchable(*(text for text in texts if text is not None)),
        record=encoded(kept),
    )
