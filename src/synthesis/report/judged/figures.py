"""The figures of a judged run as attributes: their names in the files depend on the rubric's axes.

`averageFaithfulnessScore` of the file is the mean of the axis `faithfulness` here.
"""

from collections.abc import Iterator

import msgspec

from synthesis.report.judged.run import JudgedRun, axis_title

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
        msgspec.convert(run.last.analysis.get("claims"), ClaimCounts | None),
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
