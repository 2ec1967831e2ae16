"""Rows of the tables: of a run, and of its cases or samples in batches; and the rows of a report."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import msgspec

from synthesis.errors import shorten
from synthesis.history.model import CHECKS, RunFields
from synthesis.history.provenance import Provenance, new_id, now, read_export_metadata
from synthesis.model import CaseResult, CheckResult
from synthesis.model.result import NOT_APPLICABLE, PASS
from synthesis.report.reading import StoredReport
from synthesis.report.texts import redacted
from synthesis.report.verdicts import kind_of

BATCH = 500  # cases or samples in memory at once, whatever the length of a run
T = TypeVar("T")
_NAME_WIDTH = 200
_KEPT_EVIDENCE = ("applicable", "reason", "pass_strength")
_encode = msgspec.json.Encoder().encode


class RunRow(RunFields, frozen=True):
    """A row of the table of runs; `conditions` and `summary` are JSON.

    `origin` identifies a judged run that can be resumed, so that saving it again replaces it.
    """

    conditions: str
    summary: str
    origin: str | None = None


class CaseRow(msgspec.Struct, frozen=True):
    """A case; `words` is what a search looks through, `record` is the whole result as JSON."""

    position: int
    case_id: str
    outcome: str
    kind: str
    language: str
    words: str
    record: str


class CheckRow(msgspec.Struct, frozen=True):
    """The outcome of one check on a case."""

    position: int
    check_name: str
    outcome: str
    expected: bool | None
    matched: bool | None


class FindingRow(msgspec.Struct, frozen=True):
    """A finding, without its words."""

    position: int
    number: int
    rule: str
    signal: str
    side: str
    turn: int
    start_at: int
    end_at: int


class SampleRow(msgspec.Struct, frozen=True):
    """A judged sample; `record` is the whole record as JSON."""

    iteration: int
    position: int
    query_log_id: str
    faithfulness: int | None
    completeness: int | None
    overall: float | None
    passed: bool | None
    error: str | None
    words: str
    record: str


Rows = Sequence[CaseRow] | Sequence[CheckRow] | Sequence[FindingRow] | Sequence[SampleRow]


class NewRun(msgspec.Struct, frozen=True):
    """A run to save: its row, its tags, and batches of other rows, which are read only once."""

    row: RunRow
    batches: Iterable[Sequence[Rows]]
    tags: tuple[str, ...] = ()


def encoded(value: Any) -> str:
    return _encode(value).decode()


def storable(text: str) -> str:
    """Text that every database accepts: PostgreSQL refuses NUL, and none stores a lone surrogate."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def searchable(*texts: str) -> str:
    return storable("\n".join(texts).casefold())


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


def batched(rows: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, size)):
        yield batch


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
