"""Runs of the checks on their way into a history: from a report."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from synthesis.errors import shorten
from synthesis.history.model import CHECKS
from synthesis.history.provenance import Provenance, new_id, now, read_export_metadata
from synthesis.history.rows import (
    CaseRow,
    CheckRow,
    FindingRow,
    NewRun,
    Rows,
    RunRow,
    batched,
    encoded,
    searchable,
    storable,
)
from synthesis.model import CaseResult, CheckResult
from synthesis.model.result import NOT_APPLICABLE, PASS
from synthesis.report.reading import StoredReport
from synthesis.report.texts import redacted
from synthesis.report.verdicts import kind_of

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
    said = [text for turn in result.exchanges for text in turn] if with_text else []
    return CaseRow(
        position,
        case_id=storable(result.name),
        outcome=result.outcome,
        kind=kind_of(result),
        language=storable(result.language),
        words=searchable(result.name, *said),
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
