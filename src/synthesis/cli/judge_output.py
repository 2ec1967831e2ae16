"""What `synthesis judge` prints about a judged run: figures with their base and interval."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthesis.cli.running import ProgressLine, speed_and_time
from synthesis.errors import shorten
from synthesis.run.files import Pace, duration

if TYPE_CHECKING:
    from synthesis.judge.ledger import Ledger, RunLine
    from synthesis.judge.results import IterationResults, Results
    from synthesis.judge.run import Estimate, Progress

SHOWN_FAILURES = 5
Figures = Mapping[str, Any]
_COUNTS = (
    ("errors", "ended in error"),
    ("notJudged", "not judged"),
    ("stale", "stale: changed since they were judged"),
)


class RunProgress:
    """What is judged so far: for the line of progress, and for the last message of a run that was cut short."""

    def __init__(self, grace: float, *, quiet: bool = False) -> None:
        self.line = ProgressLine(self._describe, quiet=quiet)
        self._grace = grace
        self._is_stopping = False
        self._last: Progress | None = None
        self._pace = Pace()

    @property
    def has_begun(self) -> bool:
        """The run has reached its first sample."""
        return self._last is not None

    def update(self, progress: "Progress") -> None:
        self._last = progress
        asked = progress.done + progress.failed - progress.stored_before
        self._pace.note(asked, asked, progress.total - progress.stored_before - progress.left_stale)
        if progress.interrupted and not self._is_stopping:
            self._is_stopping = True
            self.line.say(self._stopping(progress.under_way))

    def summary(self) -> str:
        """One sentence on what is judged and stored."""
        if self._last is None:
            return "Nothing was judged."
        return f"{self._last.done} of {self._last.total} judged and stored, {self._last.failed} failed."

    def _stopping(self, calls: int) -> str:
        if not calls:
            return "Stopping: no call is in flight."
        return (
            f"Stopping: nothing new is sent. Waiting up to {self._grace:g} s for {calls} "
            f"call{'s' if calls > 1 else ''} in flight, already paid for. Press Ctrl-C again to stop at once."
        )

    def _describe(self) -> str:
        """`12 of 40 judged, 1 failed, 0.0031 USD, 2.5 per second, about 10 s left`."""
        if self._last is None:
            return f"nothing judged yet, {duration(self._pace.elapsed)} so far"
        cost = [] if self._last.cost is None else [f"{self._last.cost:.4f} USD"]
        counts = [f"{self._last.done} of {self._last.total} judged", f"{self._last.failed} failed"]
        return ", ".join([*counts, *cost, *speed_and_time(self._pace)])


def summary_lines(run: "RunLine", total: int, results: "Results", folder: Path) -> Iterator[str]:
    """The console summary of a run."""
    yield _heading(run, total)
    for iteration in results.iterations:
        yield ""
        yield from _iteration_lines(run, iteration, several=run.iterations > 1)
    if results.final_metrics is not None and run.iterations > 1:
        yield ""
        yield from _stability_lines(run, results.final_metrics)
    yield ""
    yield f"Files: {folder}"


def figures(run: "RunLine", total: int, results: "Results", folder: Path) -> dict[str, Any]:
    """The same as JSON: what the files of the run hold about it, without its records."""
    from synthesis.report.judged.layout import told

    iterations = [
        {"iteration": found.number, "metrics": found.metrics, "cost": found.cost, "errors": found.errors}
        for found in results.iterations
    ]
    return {
        "run": run.test_set_name,
        "samples": total,
        "judge": {"provider": run.judge.provider, "model": run.judge.model},
        "rubric": run.rubric.name,
        "iterations": told(iterations, run.layout),
        "final": told(results.final_metrics, run.layout),
        "folder": str(folder),
    }


def standing(ledger: "Ledger") -> dict[str, Any]:
    """The state of every sample, as JSON."""
    from synthesis.judge.ledger import State
    from synthesis.judge.results import derive, states
    from synthesis.report.judged.layout import told

    run = ledger.present_run()
    iterations = []
    for found in derive(ledger).iterations:
        counts = states(ledger, found.number)
        known = {str(state): counts[state] for state in State}
        iterations.append({"iteration": found.number, **known, "cost": found.cost, "errors": found.errors})
    return {"run": run.test_set_name, "samples": len(ledger.samples), "iterations": told(iterations, run.layout)}


def status_lines(ledger: "Ledger") -> Iterator[str]:
    """The state of every sample."""
    from synthesis.judge.ledger import State
    from synthesis.judge.results import derive, states

    run = ledger.present_run()
    yield _heading(run, len(ledger.samples))
    for iteration in derive(ledger).iterations:
        counts = states(ledger, iteration.number)
        standing = ", ".join(f"{counts[state]} {state}" for state in State)
        yield f"  iteration {iteration.number} of {run.iterations}: {standing}"
        yield f"    cost: {cost_line(iteration.cost)}"
        for error in iteration.errors[:SHOWN_FAILURES]:
            yield f"    failed {error['queryLogId']}: {error['reason']}"
    yield from _proof_lines(run)


def _proof_lines(run: "RunLine") -> Iterator[str]:
    """Every summary of a run names the axes that are not validated."""
    from synthesis.report.judged.run import axis_title

    for axis in run.rubric.axes:
        if (title := axis_title(run.judge.provider, axis.name)) != axis.name:
            yield f"  {title}: not validated: this judge was not found to agree with people"


def cost_line(cost: Figures) -> str:
    """Cost and tokens; unknown figures are named as such."""
    tokens = f"{cost['totalTokens']['input']:,} input and {cost['totalTokens']['output']:,} output tokens"
    if not cost["tokenUsage"] and not cost["unaccountedCalls"]:
        return "none: no paid call was answered"
    spent = "unknown" if cost["totalCost"] is None else f"{cost['totalCost']:.6f} USD"
    line = f"{spent}, {tokens}, {len(cost['tokenUsage'])} calls"
    unanswered = len(cost["unaccountedCalls"])
    return f"{line}; {unanswered} more were not answered, at unknown cost" if unanswered else line


def estimate_lines(estimate: "Estimate") -> Iterator[str]:
    """Tokens and cost before the first call."""
    yield f"{estimate.samples} samples, {estimate.calls} verdicts to request, judge {estimate.model}"
    if estimate.is_free:
        yield "  no tokens, no cost"
        return
    yield f"  input:  about {estimate.likely_input:,} tokens, at most {estimate.worst_input:,}"
    yield f"  output: about {estimate.likely_output:,} tokens, at most {estimate.worst_output:,}"
    likely, worst = estimate.likely_cost(), estimate.worst_cost()
    if likely is None or worst is None or estimate.price is None:
        yield f"  cost:   unknown: no price for {estimate.model}; add one with --price-file"
    else:
        yield f"  cost:   about {likely:.4f} USD, at most {worst:.4f} USD ({estimate.price.source})"
        yield "  retries are extra"


def calibration_lines(found: Figures) -> Iterator[str]:
    """Agreement with people, axis by axis."""
    yield f"  {found['n']} samples have both a verdict and a label ({found['labels']} labels)"
    if found["unknownAxes"]:
        yield f"  labels on axes that the rubric does not have: {', '.join(found['unknownAxes'])}"
    for axis, figures in found["axes"].items():
        kappa = figures["quadraticWeightedKappa"]
        yield f"  {axis}: quadratic-weighted kappa {_number(kappa)} over {figures['n']} samples"
        if "reason" in figures:
            yield f"    {figures['reason']}"
        yield f"    bias {_number(figures['bias'])} (judge minus people)"
        yield f"    same score {_rate(figures['exactAgreement'])}"
        yield f"    same side of the threshold {_rate(figures['passAgreement'])}"
        yield "    people (rows) against judge (columns), 1 to 5:"
        for score, row in enumerate(figures["confusion"]["counts"], start=1):
            yield f"      {score} | " + " ".join(f"{count:4d}" for count in row)


def _heading(run: "RunLine", total: int) -> str:
    judge = f"{run.judge.provider} ({run.judge.model})"
    return f"{run.test_set_name}: {total} samples, judge {judge}, rubric {run.rubric.name}"


def _iteration_lines(run: "RunLine", iteration: "IterationResults", *, several: bool) -> Iterator[str]:
    from synthesis.judge.records import camel
    from synthesis.report.judged.run import NOT_VALIDATED, axis_title

    metrics = iteration.metrics
    if several:
        yield f"Iteration {iteration.number}"
    for axis in run.rubric.axes:
        average = metrics[f"average{camel(axis.name, capital=True)}Score"]
        rate = metrics[f"{camel(axis.name)}PassRate"]
        proof = f"; {NOT_VALIDATED}" if axis_title(run.judge.provider, axis.name) != axis.name else ""
        yield f"  {axis.name:<14} mean {_number(average)}, {axis.pass_at} or more: {_rate(rate)}{proof}"
    overall = metrics["overallPassRate"]
    yield f"  {'passed':<14} {_rate(overall)}"
    counts = [f"{metrics[key]} {words}" for key, words in _COUNTS if metrics[key]]
    if counts:
        yield f"  {'missing':<14} {', '.join(counts)}; judged samples only: {_rate(overall['judgedOnly'])}"
    if claims := metrics.get("claims"):
        yield f"  {'claims':<14} not supported: {_rate(claims['unsupported'])}"
        yield f"  {'quotes':<14} false: {_rate(claims['falseQuotes'])}"
    if metrics["callsPerSample"]["numerator"]:
        yield f"  {'calls':<14} {_calls(metrics['callsPerSample'])}"
    yield f"  {'cost':<14} {cost_line(iteration.cost)}"
    yield from _failure_lines(run, iteration)


def _calls(figure: Figures) -> str:
    """`28 for 26 samples: 24 took 1, 2 took 2`."""
    spread = ", ".join(f"{samples} took {calls}" for calls, samples in figure["distribution"].items())
    return f"{figure['numerator']} for {figure['denominator']} samples: {spread}"


def _failure_lines(run: "RunLine", iteration: "IterationResults") -> Iterator[str]:
    failed = [record for record in iteration.judged if not record["passed"]]
    for record in failed[:SHOWN_FAILURES]:
        scores = ", ".join(f"{axis.name} {record['judgeVerdict'][axis.name]['score']}" for axis in run.rubric.axes)
        yield f"  not passed     {record['queryLogId']}: {scores}: {shorten(record['question'], 60)}"
    if len(failed) > SHOWN_FAILURES:
        yield f"                 and {len(failed) - SHOWN_FAILURES} more"
    for error in iteration.errors[:SHOWN_FAILURES]:
        yield f"  error          {error['queryLogId']}: {shorten(error['reason'], 100)}"
    yield from _flag_lines(iteration)


def _flag_lines(iteration: "IterationResults") -> Iterator[str]:
    from synthesis.judge.records import IMITATES, REPAIRED
    from synthesis.report.judged.run import EMPTY

    meanings = {
        EMPTY: "answers are empty: 1 on every axis, not sent to the judge",
        IMITATES: "answers address the judge",
        REPAIRED: "verdicts held text that cannot be stored; U+FFFD is in its place",
    }
    for flag, meaning in meanings.items():
        flagged = [record["queryLogId"] for record in iteration.judged if flag in record.get("flags", ())]
        if flagged:
            yield f"  flagged        {len(flagged)} {meaning}: {', '.join(flagged[:SHOWN_FAILURES])}"


def _stability_lines(run: "RunLine", final: Figures) -> Iterator[str]:
    spread = final["aggregateMetrics"]["overallPassRate"]
    yield f"Over {final['iterations']} iterations"
    if spread["mean"] is not None:
        yield (
            f"  pass rate      mean {spread['mean']:.1%}, from {spread['min']:.1%} to {spread['max']:.1%}, "
            f"standard deviation {spread['stdDev']:.3f}"
        )
    stability = final["stability"]
    flipped = ", ".join(f"{name} {count}" for name, count in stability["flipped"].items())
    yield f"  flipped        of {stability['sampleCount']} samples, across the threshold: {flipped}"
    hats = ", ".join(f"pass^{k} {_share(value)}" for k, value in stability["passHatK"].items())
    yield f"  all of k pass  {hats}"
    for axis in run.rubric.axes:
        agreement = final["agreement"][axis.name]
        alpha = agreement.get("reason") or f"alpha {agreement['alpha']:.3f}"
        yield f"  agreement      {axis.name}: {alpha} ({agreement['samples']} samples)"


def _number(figure: Figures) -> str:
    """`4.12 (3.40 to 4.75)`."""
    if figure["value"] is None:
        return "not defined"
    return f"{figure['value']:.2f}{_interval(figure['interval'], '{:.2f}')}"


def _rate(figure: Figures) -> str:
    """`6 of 8, 75.0% (40.9% to 92.9%)`."""
    base = f"{figure['numerator']} of {figure['denominator']}"
    return f"{base}, {_share(figure['value'])}{_interval(figure['interval'], '{:.1%}')}"


def _share(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.1%}"


def _interval(interval: Sequence[float] | None, form: str) -> str:
    return f" ({form.format(interval[0])} to {form.format(interval[1])})" if interval else ""
