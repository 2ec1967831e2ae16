"""Runs on their way into a history: a run's row, and the rows of its cases or samples in batches."""

import secrets
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any, TypeVar

import msgspec

from synthesis.errors import InputError, shorten
from synthesis.history.model import CHECKS, Run
from synthesis.model import CaseResult, CheckResult
from synthesis.model.result import NOT_APPLICABLE, PASS
from synthesis.report.reading import StoredReport
from synthesis.report.texts import redacted
from synthesis.report.verdicts import kind_of

Row = dict[str, Any]
T = TypeVar("T")
Rows = dict[str, list[Row]]  # table -> rows
BATCH = 500
_NAME_WIDTH = 200
_KEPT_EVIDENCE = ("applicable", "reason", "pass_strength")
_encode = msgspec.json.Encoder().encode


class Entry(msgspec.Struct, frozen=True):
    """A run to be saved: its row, its tags, and batches of rows that are read only once."""

    run: Row
    batches: Iterable[Rows]
    tags: tuple[str, ...] = ()


class Passport(msgspec.Struct, frozen=True):
    """What an exported run says of itself, so that it comes back as the same run."""

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
    def of(cls, run: Run, origin: str | None) -> "Passport":
        known = {name: getattr(run, name) for name in cls.__struct_fields__ if name != "origin"}
        return cls(**known, origin=origin)


class Provenance(msgspec.Struct, frozen=True):
    """What a run's files do not say: when it began, at which revision of the code, and whether texts are kept.

    `name` takes the place of the name that the files give.
    """

    started: str | None = None
    revision: str | None = None
    with_text: bool = False
    tags: tuple[str, ...] = ()
    name: str | None = None


def now() -> str:
    """UTC to the millisecond: texts of equal length, so that they sort as times do."""
    return moment(datetime.now(UTC))


def moment(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def new_id() -> str:
    return secrets.token_hex(6)


def encoded(value: Any) -> str:
    return _encode(value).decode()


def storable(text: str) -> str:
    """Text that every database takes: PostgreSQL has no NUL, and half a character is none."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def searchable(*texts: str) -> str:
    return storable("\n".join(texts).casefold())


def report_entry(report: StoredReport, provenance: Provenance) -> Entry:
    """A report as it is, or without the words of anybody unless these are to be kept."""
    known = read_passport(report.header["history"]) if "history" in report.header else None
    with_text = provenance.with_text and not report.header.get("redacted", False)
    source = report if with_text else redacted(report)
    header = {key: value for key, value in source.header.items() if key not in {"history", "results_file"}}
    given = header.get("input") or {}
    name = provenance.name or ", ".join(given.get("files", ())) or "cases from a program"
    run = {
        "id": known.id if known else new_id(),
        "kind": CHECKS,
        "name": storable(shorten(name, _NAME_WIDTH)),
        "started": known.started if known else provenance.started or now(),
        "tool_version": storable(header["tool"]["version"]),
        "rules_hash": header["rules"]["hash"],
        "input_hash": given.get("sha256"),
        "revision": known.revision if known else provenance.revision,
        "with_text": with_text,
        "conditions": encoded(header),
        "summary": encoded(report.summary),
        "origin": None,
    }
    tags = (*provenance.tags, *(known.tags if known else ()))
    return Entry(run, _case_batches(run["id"], source.results(), with_text), tags)


def read_passport(value: Any) -> Passport:
    try:
        return msgspec.convert(value, Passport)
    except msgspec.ValidationError as error:
        raise InputError(f"'history' is not what an exported run says of itself: {error}") from None


def batched(rows: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, size)):
        yield batch


def _case_batches(run_id: str, results: Iterable[CaseResult], with_text: bool) -> Iterator[Rows]:
    first = 0
    for batch in batched(results):
        rows: Rows = {"cases": [], "outcomes": [], "findings": []}
        for position, result in enumerate(batch, start=first):
            key = {"run_id": run_id, "position": position}
            kept = result if with_text else _evidence_of_trouble(result)
            rows["cases"].append(key | _case(kept, with_text))
            rows["outcomes"] += (key | outcome for outcome in _outcomes(result))
            rows["findings"] += (key | finding for finding in _findings(kept))
        yield rows
        first += len(batch)


def _evidence_of_trouble(result: CaseResult) -> CaseResult:
    """What is as it should be needs no evidence; its verdicts are enough."""
    labels = result.label_comparison.values()
    if kind_of(result) not in {PASS, NOT_APPLICABLE} or not all(label.match for label in labels):
        return result
    checks = {name: _verdict_alone(check) for name, check in result.checks.items()}
    return msgspec.structs.replace(result, checks=checks, findings=(), texts={})


def _verdict_alone(check: CheckResult) -> CheckResult:
    kept = {key: check.evidence[key] for key in _KEPT_EVIDENCE if key in check.evidence}
    return msgspec.structs.replace(check, evidence=kept, findings=(), turns=(), missing=())


def _case(result: CaseResult, with_text: bool) -> Row:
    said = [text for turn in result.exchanges for text in turn] if with_text else []
    return {
        "case_id": storable(result.id),
        "outcome": result.outcome,
        "kind": kind_of(result),
        "language": storable(result.language),
        "words": searchable(result.id, *said),
        "record": encoded(result.to_dict()),
    }


def _outcomes(result: CaseResult) -> Iterator[Row]:
    for name, check in result.checks.items():
        label = result.label_comparison.get(name)
        yield {
            "check_name": storable(name),
            "outcome": check.outcome,
            "expected": label and label.expected,
            "matched": label and label.match,
        }


def _findings(result: CaseResult) -> Iterator[Row]:
    for number, finding in enumerate(result.findings):
        yield {
            "number": number,
            "rule": storable(finding.rule),
            "signal": storable(finding.signal),
            "side": finding.where,
            "turn": finding.turn,
            "start_at": finding.start,
            "end_at": finding.end,
        }
