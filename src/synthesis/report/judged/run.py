"""Judged runs as the renderers see them: records and figures, decoded once, and two runs compared."""

from collections.abc import Iterator
from typing import Any

import msgspec

from synthesis.report.compare import JUDGE, MEASURED_DIFFERENTLY, RUBRIC, ruler_changes
from synthesis.report.judged.layout import canonical, canonical_record
from synthesis.stats import Difference, difference, verdict_on

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
        """The judge quotes what is not in the passage that it names."""
        return bool(self.quote) and self.quote_found is False


class PassagePart(msgspec.Struct, frozen=True):
    """A part of a passage that a claim rests on; `start` is its place, `length` that of the passage."""

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
    """A record of a run's files in either layout; an error record is the one without a verdict."""
    record = canonical_record(record)
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

    @property
    def judged(self) -> list[JudgedSample]:
        """The records on the present texts, which the figures are about; a stale one counts nowhere."""
        return [sample for sample in self.records if not sample.stale]

    @property
    def stale(self) -> list[JudgedSample]:
        """The records whose question, context or answer has changed since."""
        return [sample for sample in self.records if sample.stale]


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
        found = (sample for sample in self.last.judged if not sample.passed)
        return sorted(found, key=lambda sample: (sample.overall_score, sample.query_log_id))


def cost(run: JudgedRun) -> str:
    """What the run has cost, in words."""
    if run.total_cost is None:
        return "unknown (no price)"
    return f"{run.total_cost:.4f} USD" if run.total_cost else "none"


def axis_title(judge: str, axis: str) -> str:
    """The axis as it is shown: completeness by the offline judge agrees with people no better than length does."""
    return f"{axis} ({NOT_VALIDATED})" if is_offline(judge) and axis == "completeness" else axis


def is_offline(judge: str) -> bool:
    """Whether a judge, named by its provider or as `JudgedRun.judge` names it, is the offline one."""
    return judge.partition(" ")[0] == OFFLINE


# The figures of a judged run as attributes: their names in the files depend on the rubric's axes.


Interval = tuple[float, float]


class Rate(msgspec.Struct, frozen=True):
    """A share with its base and its 95 % interval."""

    value: float | None
    numerator: int
    denominator: int
    interval: Interval | None = None


class Mean(msgspec.Struct, frozen=True):
    """A mean with its 95 % interval."""

    value: float | None
    interval: Interval | None = None


class FailureKind(msgspec.Struct, frozen=True):
    """How often a failing score was given, with what the rubric means by it."""

    count: int
    description: str


class AxisFigures(msgspec.Struct, frozen=True):
    """One axis: mean, pass rate, how often each score was given (`score1` to `score5`), and the kinds of failure.

    `title` is how the axis is shown.
    """

    name: str
    title: str
    passes_at: int
    mean: Mean
    rate: Rate
    distribution: dict[str, int]
    failures: tuple[FailureKind, ...]

    def count(self, score: int) -> int:
        return self.distribution[f"score{score}"]


class Insights(msgspec.Struct, frozen=True, rename="camel"):
    """What the failure analysis concludes, in sentences."""

    system_strengths: tuple[str, ...] = ()
    system_weaknesses: tuple[str, ...] = ()
    recommendations: tuple[str, ...] = ()

    def rows(self) -> Iterator[tuple[str, str]]:
        """Each sentence with its kind."""
        yield from (("strength", finding) for finding in self.system_strengths)
        yield from (("weakness", finding) for finding in self.system_weaknesses)
        yield from (("recommendation", finding) for finding in self.recommendations)


class FrequentClaim(msgspec.Struct, frozen=True, rename="camel"):
    """A claim that is not supported, and the samples whose answers make it."""

    text: str
    verdict: str
    count: int
    query_log_ids: tuple[str, ...]


class ClaimCounts(msgspec.Struct, frozen=True, rename="camel"):
    """Claims by verdict; `examples` are the unsupported ones that most answers have."""

    total: int
    supported: int
    contradicted: int
    not_found: int
    false_quotes: int
    examples: tuple[FrequentClaim, ...] = ()


class Totals(msgspec.Struct, frozen=True, rename="camel"):
    """Figures whose names do not depend on the axes."""

    overall_pass_rate: Rate
    errors: int
    not_judged: int
    stale: int


class RunFigures(msgspec.Struct, frozen=True):
    """The figures of one iteration; `empty_answers` are in no kind of failure of an axis."""

    totals: Totals
    axes: tuple[AxisFigures, ...]
    insights: Insights
    empty_answers: int
    claims: ClaimCounts | None


class Agreement(msgspec.Struct, frozen=True):
    """Krippendorff's alpha of one axis over the iterations, or why there is none."""

    alpha: float | None
    reason: str = "undefined"


class Stability(msgspec.Struct, frozen=True, rename="camel"):
    """How verdicts change from one iteration to the next."""

    flipped: dict[str, int]
    sample_count: int
    pass_hat_k: dict[str, float | None]


def last_figures(run: JudgedRun) -> RunFigures:
    """The figures of the last iteration."""
    return RunFigures(
        msgspec.convert(run.last.metrics, Totals),
        tuple(_axis_figures(run, axis, passes_at) for axis, passes_at in run.axes),
        msgspec.convert(run.last.analysis["insights"], Insights),
        run.last.analysis.get("emptyAnswers", {}).get("count", 0),
        msgspec.convert(canonical(run.last.analysis.get("claims")), ClaimCounts | None),
    )


def stability(run: JudgedRun) -> tuple[Stability, dict[str, Agreement]] | None:
    """Stability, and agreement by axis; None before the last of several iterations is done."""
    final = run.final_metrics
    if not final or len(run.iterations) < 2:
        return None
    return msgspec.convert(final["stability"], Stability), msgspec.convert(final["agreement"], dict[str, Agreement])


def _axis_figures(run: JudgedRun, axis: str, passes_at: int) -> AxisFigures:
    metrics, name = run.last.metrics, axis[0].upper() + axis[1:]
    kinds = run.last.analysis.get(f"by{name}Reason", {})
    return AxisFigures(
        axis,
        axis_title(run.judge, axis),
        passes_at,
        msgspec.convert(metrics[f"average{name}Score"], Mean),
        msgspec.convert(metrics[f"{axis}PassRate"], Rate),
        msgspec.convert(metrics[f"{axis}Distribution"], dict[str, int]),
        msgspec.convert(tuple(kinds.values()), tuple[FailureKind, ...]),
    )


# Two judged runs of the same questions: what flipped, and whether that is more than chance.


class JudgedComparison(msgspec.Struct, frozen=True):
    """What changed from one run to another, in the last iteration of each; ids in the order of the new run."""

    in_both: int
    newly_failing: tuple[str, ...]
    newly_passing: tuple[str, ...]
    changed_scores: tuple[str, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    conditions: dict[str, tuple[str, str]]
    passed_before: int
    passed_after: int
    difference: Difference | None

    @property
    def ruler_changes(self) -> list[str]:
        """The changed conditions because of which neither run may be called better: judge and rubric."""
        return ruler_changes(self.conditions)

    @property
    def verdict(self) -> str:
        """Better or worse only where test and interval agree, and the same judge used the same rubric."""
        if self.ruler_changes:
            return MEASURED_DIFFERENTLY
        return verdict_on(self.difference) if self.difference else ""


def compare_runs(before: JudgedRun, after: JudgedRun) -> JudgedComparison:
    """Compare the samples that both runs have judged; one that could not be judged is in neither."""
    old, new = _by_id(before), _by_id(after)
    shared = [name for name in new if name in old]
    lost = tuple(name for name in shared if old[name].passed and not new[name].passed)
    won = tuple(name for name in shared if new[name].passed and not old[name].passed)
    return JudgedComparison(
        in_both=len(shared),
        newly_failing=lost,
        newly_passing=won,
        changed_scores=tuple(name for name in shared if _scores(old[name]) != _scores(new[name])),
        only_before=tuple(name for name in old if name not in new),
        only_after=tuple(name for name in new if name not in old),
        conditions=_conditions(before, after),
        passed_before=sum(old[name].passed for name in shared),
        passed_after=sum(new[name].passed for name in shared),
        difference=difference(len(lost), len(won), len(shared)),
    )


def _by_id(run: JudgedRun) -> dict[str, JudgedSample]:
    return {sample.query_log_id: sample for sample in run.last.judged}


def _scores(sample: JudgedSample) -> dict[str, int]:
    return {axis: said.score for axis, said in sample.judge_verdict.items()}


def _conditions(before: JudgedRun, after: JudgedRun) -> dict[str, tuple[str, str]]:
    pairs = {JUDGE: (before.judge, after.judge), RUBRIC: (before.rubric, after.rubric)}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
