"""Judged runs as the renderers see them: records and figures, decoded once, and two runs compared."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from synthesis.report.compare import JUDGE, MEASURED_DIFFERENTLY, RUBRIC, ruler_changes
from synthesis.report.judged.layout import canonical, canonical_record
from synthesis.stats import Difference, difference, verdict_on

Document = dict[str, Any]  # a file of a run, with names that depend on the rubric
EMPTY = "empty answer"  # a flag of a sample
OFFLINE, REPLAY, NOT_VALIDATED = "offline", "replay", "not validated"
FAITHFULNESS = "faithfulness"
PASSED, FAILED, UNTOLD, STALE = "passed", "failed", "needs a judge", "stale"  # how a sample with a record ends


class SavedScore(msgspec.Struct, frozen=True, omit_defaults=True):
    """The score on one axis, None where the judge cannot tell; without its texts a run has no reasoning."""

    score: int | None
    reasoning: str = ""


class Slot(msgspec.Struct, frozen=True):
    """What a claim says and what the source says in its place."""

    kind: str
    claim: str
    source: str


class ClaimEvidence(msgspec.Struct, frozen=True, rename="camel"):
    """What a judge found for one claim of an answer; runs of version 0.1 have no verdict and what follows it.

    `span` is its place in the answer, `quote_span` that of its quote in the passage (numbered from 1). `slot` is
    what the offline judge found to differ.
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
    slot: Slot | None = None

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
    """The record of a sample with a verdict; without texts where the run was saved without them.

    One that `needs_judge` has no score. `faithfulness_passed` is what the gate of an offline run looks at.
    """

    query_log_id: str
    question: str | None = None
    system_answer: str | None = None
    judge_verdict: dict[str, SavedScore]
    overall_score: float | None
    passed: bool
    faithfulness_passed: bool | None = None
    needs_judge: bool = False
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
    def judged_by(self) -> str:
        """The model that an offline run has asked about this sample; empty where it asked none."""
        return str(self.details.get("judgedBy", ""))

    @property
    def has_scores(self) -> bool:
        """One that needs a judge has none."""
        return all(said.score is not None for said in self.judge_verdict.values())

    def score(self, axis: str) -> int | None:
        """None where the judge could not tell."""
        said = self.judge_verdict.get(axis)
        return said.score if said else None

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

    @property
    def gate(self) -> tuple[tuple[str, int], ...]:
        """The axes that decide whether a sample passes, each with the score from which it does."""
        deciding = deciding_axes(self.judge, [axis for axis, _ in self.axes])
        return tuple(pair for pair in self.axes if pair[0] in deciding)

    def ending(self, sample: JudgedSample) -> str:
        """Passed or failed by the gate, or why it is neither."""
        if sample.stale:
            return STALE
        scores = [(sample.score(axis), passes_at) for axis, passes_at in self.gate]
        if any(score is None for score, _ in scores):
            return UNTOLD
        return PASSED if all(score is not None and score >= passes_at for score, passes_at in scores) else FAILED

    def ended(self, ending: str) -> list[JudgedSample]:
        """The samples of the last iteration that ended so, in the order of the set."""
        return [sample for sample in self.last.records if self.ending(sample) == ending]

    def failed(self) -> list[JudgedSample]:
        """Those of the last iteration that failed: lowest scores first, then most contradictions; empty ones last."""
        return sorted(self.ended(FAILED), key=self._need)

    def _need(self, sample: JudgedSample) -> tuple[bool, int, int, str]:
        contradictions = sum(claim.verdict == "contradicted" for claim in sample.claims)
        score = sum(sample.score(axis) or 0 for axis, _ in self.gate)
        return sample.is_empty, score, -contradictions, sample.query_log_id


def cost(run: JudgedRun) -> str:
    """What the run has cost, in words."""
    if run.total_cost is None:
        return "unknown (no price)"
    return f"{run.total_cost:.4f} USD" if run.total_cost else "none"


def axis_title(judge: str, axis: str) -> str:
    """The axis as it is shown: completeness by the offline judge agrees with people no better than length does."""
    return f"{axis} ({NOT_VALIDATED})" if is_offline(judge) and axis == "completeness" else axis


def deciding_axes(judge: str, axes: Sequence[str]) -> Sequence[str]:
    """Those that decide whether a sample passes: offline, only the one that was measured against people."""
    return [FAITHFULNESS] if FAITHFULNESS in axes and is_offline(judge) else axes


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
    cannot_tell: int = 0
    examples: tuple[FrequentClaim, ...] = ()


class Totals(msgspec.Struct, frozen=True, rename="camel"):
    """Figures whose names do not depend on the axes."""

    sample_count: int
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


def can_vary(judge: str, final: Document) -> bool:
    """Whether iterations can differ: an offline or replayed judge whose verdicts never did agrees by its nature."""
    rows = (row for sample in final["stability"]["samples"] for row in sample["scores"].values())
    varied = any(len({score for score in row if score is not None}) > 1 for row in rows)
    return varied or judge.partition(" ")[0] not in {OFFLINE, REPLAY}


def stability(run: JudgedRun) -> tuple[Stability, dict[str, Agreement]] | None:
    """Stability, and agreement by axis; None before the last of several iterations or for a judge that cannot vary."""
    final = run.final_metrics
    if not final or len(run.iterations) < 2 or not can_vary(run.judge, final):
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
    """What changed from one run to another, in the last iteration of each; ids in the order of the new run.

    `untold` are the samples that need a judge in either run.
    """

    in_both: int
    newly_failing: tuple[str, ...]
    newly_passing: tuple[str, ...]
    changed_scores: tuple[str, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    untold: tuple[str, ...]
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
    passed_before, passed_after = _passed(before), _passed(after)
    shared = [name for name in new if name in passed_before and name in passed_after]
    lost = tuple(name for name in shared if passed_before[name] and not passed_after[name])
    won = tuple(name for name in shared if passed_after[name] and not passed_before[name])
    return JudgedComparison(
        in_both=len(shared),
        newly_failing=lost,
        newly_passing=won,
        changed_scores=tuple(name for name in shared if _scores(old[name]) != _scores(new[name])),
        only_before=tuple(name for name in old if name not in new),
        only_after=tuple(name for name in new if name not in old),
        untold=tuple(name for name in (new | old) if UNTOLD in {_ending(before, old, name), _ending(after, new, name)}),
        conditions=_conditions(before, after),
        passed_before=sum(passed_before[name] for name in shared),
        passed_after=sum(passed_after[name] for name in shared),
        difference=difference(len(lost), len(won), len(shared)),
    )


def _by_id(run: JudgedRun) -> dict[str, JudgedSample]:
    return {sample.query_log_id: sample for sample in run.last.judged}


def _passed(run: JudgedRun) -> dict[str, bool]:
    """Whether each sample passes, of those that have a verdict."""
    endings = ((sample.query_log_id, run.ending(sample)) for sample in run.last.records)
    return {name: ending == PASSED for name, ending in endings if ending in {PASSED, FAILED}}


def _ending(run: JudgedRun, samples: dict[str, JudgedSample], name: str) -> str:
    return run.ending(samples[name]) if name in samples else ""


def _scores(sample: JudgedSample) -> dict[str, int | None]:
    return {axis: said.score for axis, said in sample.judge_verdict.items()}


def _conditions(before: JudgedRun, after: JudgedRun) -> dict[str, tuple[str, str]]:
    pairs = {JUDGE: (before.judge, after.judge), RUBRIC: (before.rubric, after.rubric)}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
