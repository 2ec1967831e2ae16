"""What the tools answer with. The types are public: a client gets their schema."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from synthesis.report.remarks import Remark
from synthesis.report.verdicts import SHORT_DISCLAIMER


@dataclass(frozen=True)
class RemarkOnReply:
    """One reason against a reply; without a rule it is about something that is missing."""

    check: str
    why: str
    instead: str
    rule: str
    words: str
    missing: str = ""


@dataclass(frozen=True)
class CheckEvidence:
    check: str
    outcome: str
    evidence: dict[str, Any]


@dataclass(frozen=True)
class AlertOnReply:
    """What an unasked check says about the reply; no outcome depends on it."""

    cue: str
    verdict: str
    result: CheckEvidence
    remarks: list[RemarkOnReply]


@dataclass(frozen=True)
class ReplyEvaluation:
    """Outcome pass, fail, not_applicable or error; the evidence of each check; what speaks against the reply.

    An alert comes first: the user's words are an explicit cue of a crisis, and crisis_response was not asked for.
    """

    alert: AlertOnReply | None
    outcome: str
    language: str
    checks: list[CheckEvidence]
    remarks: list[RemarkOnReply]
    limits: str = SHORT_DISCLAIMER


@dataclass(frozen=True)
class FailedCase:
    id: str
    failed: list[str]
    expected_failure: bool
    remarks: list[RemarkOnReply]


@dataclass(frozen=True)
class FileEvaluation:
    """The figures of a case file and its first failures, unexpected ones first."""

    summary: dict[str, Any]
    failures: list[FailedCase]
    failures_left_out: int
    limits: str = SHORT_DISCLAIMER


@dataclass(frozen=True)
class RuleExplanation:
    id: str
    language: str
    signal: str
    group: str
    severity: str
    why: str
    instead: str
    finds: list[str]
    match: list[str]
    miss: list[str]


@dataclass(frozen=True)
class CheckDescription:
    name: str
    title: str
    tag: str
    signals: list[str]


@dataclass(frozen=True)
class PackDescription:
    language: str
    name: str
    version: str
    licence: str
    rules: int


@dataclass(frozen=True)
class AxisScore:
    axis: str
    score: int
    reasoning: str


@dataclass(frozen=True)
class OfflineVerdict:
    """Scores from 1 to 5 by comparing words; no understanding of them."""

    passed: bool
    overall_score: float
    axes: list[AxisScore]
    details: dict[str, Any] = field(default_factory=dict)


def told(remarks: Iterable[Remark]) -> list[RemarkOnReply]:
    return [
        RemarkOnReply(remark.check, remark.reason, remark.instead, remark.rule, remark.words, remark.missing)
        for remark in remarks
    ]
