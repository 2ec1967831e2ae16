"""A judged run as the renderers see it: its records, decoded once from what the files of a run hold.

`JudgedRun` is also what the server's API returns, so its fields keep the names and the shape of the files.
"""

from typing import Any

import msgspec

Document = dict[str, Any]  # a file of a run, with names that depend on the rubric
EMPTY = "empty answer"  # a flag of a sample
OFFLINE, NOT_VALIDATED = "offline", "not validated"


class SavedScore(msgspec.Struct, frozen=True, omit_defaults=True):
    """The score on one axis; the reasoning is empty where a run was saved without its texts."""

    score: int
    reasoning: str = ""


class ClaimEvidence(msgspec.Struct, frozen=True, rename="camel"):
    """What a judge found for one claim of an answer; runs of version 0.1 have no verdict and what follows it.

    `span` is its place in the answer, `quote_span` that of its quote in the passage (numbered from 1).
    """

    text: str
    support: float
    evidence: str
    unsupported: tuple[str, ...]
    notes: tuple[str, ...]
    verdict: str = ""
    span: tuple[int, int] | None = None
    passage: int | None = None
    quote: str = ""
    quote_found: bool | None = None
    quote_span: tuple[int, int] | None = None

    @property
    def has_false_quote(self) -> bool:
        """The judge quotes what does not stand in the passage that it names."""
        return bool(self.quote) and self.quote_found is False


class PassagePart(msgspec.Struct, frozen=True):
    """A part of a passage of the context that a claim rests on; `start` is its place, `length` that of the passage."""

    passage: int
    start: int
    length: int
    text: str


class JudgedSample(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The record of a sample with a verdict; without texts where the run was saved without them."""

    query_log_id: str
    question: str | None = None
    system_answer: str | None = None
    judge_verdict: dict[str, SavedScore]
    overall_score: float
    passed: bool
    course_count: int | None = None
    token_usage: list[Document] | msgspec.UnsetType = msgspec.UNSET
    flags: tuple[str, ...] = ()
    details: Document = {}
    stale: bool = False

    @property
    def claims(self) -> tuple[ClaimEvidence, ...]:
        """The evidence for each claim, where the judge gave it."""
        return msgspec.convert(self.details.get("claims", ()), tuple[ClaimEvidence, ...])

    @property
    def passages(self) -> tuple[PassagePart, ...]:
        """The parts of the context that the record has kept."""
        return msgspec.convert(self.details.get("passages", ()), tuple[PassagePart, ...])

    @property
    def is_empty(self) -> bool:
        """The answer says nothing, so no judge was asked."""
        return EMPTY in self.flags


class UnjudgedSample(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The record of a sample that could not be judged."""

    query_log_id: str
    hash: str
    question: str | None = None
    reason: str
    kind: str | None = None
    calls: int
    failed_at: str
    token_usage: list[Document] | msgspec.UnsetType = msgspec.UNSET


def decode_sample(record: Document) -> JudgedSample | UnjudgedSample:
    """A record of a run's files; an error record is the one without a verdict."""
    if "judgeVerdict" in record:
        return msgspec.convert(record, JudgedSample)
    return msgspec.convert(record, UnjudgedSample)


class Iteration(msgspec.Struct, frozen=True):
    """One iteration: what was judged, what could not be, and the figures."""

    number: int
    metrics: Document
    cost: Document
    analysis: Document
    records: tuple[JudgedSample, ...]
    errors: tuple[UnjudgedSample, ...]


class JudgedRun(msgspec.Struct, frozen=True):
    """A run with all its iterations; `axes` are the names and the score from which each passes."""

    name: str
    judge: str
    rubric: str
    axes: tuple[tuple[str, int], ...]
    iterations: tuple[Iteration, ...]
    final_metrics: Document | None = None
    final_cost: Document | None = None

    @property
    def last(self) -> Iteration:
        return self.iterations[-1]

    @property
    def total_cost(self) -> float | None:
        """What the run has cost, over all iterations once the last one is done; None where it is not known."""
        cost: float | None = (self.final_cost["aggregateStats"] if self.final_cost else self.last.cost).get("totalCost")
        return cost

    def failed(self) -> list[JudgedSample]:
        """The samples of the last iteration that did not pass, the lowest scores first."""
        found = (sample for sample in self.last.records if not sample.passed)
        return sorted(found, key=lambda sample: (sample.overall_score, sample.query_log_id))


def axis_title(judge: str, axis: str) -> str:
    """The axis as it is shown: completeness by the offline judge agrees with people no better than length does."""
    return f"{axis} ({NOT_VALIDATED})" if is_offline(judge) and axis == "completeness" else axis


def is_offline(judge: str) -> bool:
    """Whether a judge, named by its provider or as `JudgedRun.judge` names it, is the offline one."""
    return judge.partition(" ")[0] == OFFLINE
