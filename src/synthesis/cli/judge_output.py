"""What `synthesis judge` prints about a judged run: figures with their base and interval."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthesis.cli.running import ProgressLine, speed_and_time
from synthesis.errors import shorten
from synthesis.run.files import Pace, duration

if TYPE_CHECKING:
    from synthesis.judge.ledger import Ledger, RunLine
    from synthesis.judge.results import Results
    from synthesis.judge.run import Estimate, Progress
    from synthesis.report.judged.run import JudgedRun, JudgedSample

SHOWN_FAILURES = 5
SHOWN_CLAIMS = 3  # of one sample
QUOTED = 100  # characters of what is quoted
WIDTH = 14  # of the names of figures
Figures = Mapping[str, Any]


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
    """The console summary of a run: its outcome, what failed and why, what needs a judge, then the figures."""
    from synthesis.judge.results import as_drawn
    from synthesis.report.judged.outcome import gate_words, headline

    if not results.iterations:
        yield _heading(run, total)
    else:
        drawn = as_drawn(run, results)
        yield f"{run.test_set_name}: {headline(drawn)}"
        yield f"  {'gate':<{WIDTH}} {gate_words(drawn)}"
        yield from _failed_lines(drawn)
        yield from _untold_lines(drawn)
        yield from _missing_lines(drawn)
        yield ""
        yield from _figure_lines(drawn, results)
        yield ""
        yield from _how_lines(drawn)
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
        known["untold"] = found.metrics["untold"]
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
        if untold := iteration.metrics["untold"]:
            yield f"    {untold} of the judged {'needs' if untold == 1 else 'need'} a judge that can tell"
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
        if estimate.model.startswith("offline"):
            yield "  with --escalate PROVIDER:MODEL: what it costs to ask a model about what cannot be told offline"
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
    if found["needJudge"]:
        yield f"  {len(found['needJudge'])} samples need a judge: they have no score to compare"
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


def _failed_lines(drawn: "JudgedRun") -> Iterator[str]:
    """The worst first, each with what the answer says and what the passage says instead."""
    failed = drawn.failed()
    if failed:
        yield ""
        yield f"Failed: {len(failed):,}"
    for sample in failed[:SHOWN_FAILURES]:
        yield f"  {_sample_name(sample)}"
        yield from _why_failed(drawn, sample)
    yield from _more(drawn, len(failed))


def _why_failed(drawn: "JudgedRun", sample: "JudgedSample") -> Iterator[str]:
    from synthesis.report.html.prose import plain
    from synthesis.report.judged.outcome import CONTRADICTED, NOT_FOUND, claims_of, difference, in_quotes

    claims = claims_of(sample, CONTRADICTED, NOT_FOUND)
    for claim in claims[:SHOWN_CLAIMS]:
        if claim.verdict == NOT_FOUND:
            yield f"    ✗ not in the context: “{shorten(plain(claim.text), QUOTED)}”"
            continue
        yield f"    ✗ {in_quotes(difference(claim))}"
        yield f"      answer: “{shorten(plain(claim.text), QUOTED)}”"
        if claim.quote and not claim.has_false_quote:
            yield f"      passage {claim.passage}: “{shorten(claim.quote, QUOTED)}”"
    if len(claims) > SHOWN_CLAIMS:
        yield f"      and {len(claims) - SHOWN_CLAIMS} more claims"
    if not claims:
        yield f"    {_scores(drawn, sample)}"


def _scores(drawn: "JudgedRun", sample: "JudgedSample") -> str:
    return (
        "the answer is empty"
        if sample.is_empty
        else ", ".join(f"{axis} {sample.score(axis)}" for axis, _ in drawn.gate)
    )


def _sample_name(sample: "JudgedSample") -> str:
    return f"{sample.query_log_id}: {shorten(sample.question, 60)}" if sample.question else sample.query_log_id


def _more(drawn: "JudgedRun", number: int, shown: int = SHOWN_FAILURES) -> Iterator[str]:
    if number > shown:
        yield f"  and {number - shown:,} more: synthesis judge report {drawn.name} --format html shows them"


def _untold_lines(drawn: "JudgedRun") -> Iterator[str]:
    """The claims that could not be told, each with the reason, and how to get a verdict."""
    from synthesis.report.html.prose import plain
    from synthesis.report.judged.outcome import CANNOT_TELL, claims_of, to_be_judged, why_untold
    from synthesis.report.judged.run import UNTOLD

    untold = drawn.ended(UNTOLD)
    if not untold:
        return
    yield ""
    yield f"{'Needs' if len(untold) == 1 else 'Need'} a judge: {len(untold):,}"
    for sample in untold[:SHOWN_FAILURES]:
        yield f"  {_sample_name(sample)}"
        for claim in claims_of(sample, CANNOT_TELL)[:SHOWN_CLAIMS]:
            yield f"    ? “{shorten(plain(claim.text), QUOTED)}”: {shorten(why_untold(claim), QUOTED)}"
    yield from _more(drawn, len(untold))
    yield f"  {''.join(words for words, _ in to_be_judged(drawn))}"


def _missing_lines(drawn: "JudgedRun") -> Iterator[str]:
    """Errors, and answers with a flag."""
    errors = drawn.last.errors
    flags = list(_flag_lines(drawn))
    if errors or flags:
        yield ""
    for error in errors[:SHOWN_FAILURES]:
        yield f"  {'error':<{WIDTH}} {error.query_log_id}: {shorten(error.reason, 100)}"
    yield from _more(drawn, len(errors))
    yield from flags


def _flag_lines(drawn: "JudgedRun") -> Iterator[str]:
    from synthesis.judge.records import IMITATES, REPAIRED
    from synthesis.report.judged.run import EMPTY

    meanings = {
        EMPTY: "answers are empty: 1 on every axis, not sent to the judge",
        IMITATES: "answers address the judge",
        REPAIRED: "verdicts held text that cannot be stored; U+FFFD is in its place",
    }
    for flag, meaning in meanings.items():
        flagged = [sample.query_log_id for sample in drawn.last.records if flag in sample.flags]
        if flagged:
            yield f"  {'flagged':<{WIDTH}} {len(flagged)} {meaning}: {', '.join(flagged[:SHOWN_FAILURES])}"


def _figure_lines(drawn: "JudgedRun", results: "Results") -> Iterator[str]:
    from synthesis.report.judged.figures import rows
    from synthesis.report.judged.outcome import outcome, weaknesses
    from synthesis.report.judged.run import last_figures

    table = rows(drawn, last_figures(drawn), outcome(drawn))
    figures = [(row.name, f"{row.value}{f', 95 % interval {row.interval}' if row.interval else ''}") for row in table]
    last = results.iterations[-1]
    if last.metrics["callsPerSample"]["numerator"]:
        figures.append(("calls", _calls(last.metrics["callsPerSample"])))
    figures += [("cost", cost_line(last.cost)), *_stability(drawn)]
    width = max(len(name) for name, _ in figures)
    yield from (f"  {name:<{width}}  {value}" for name, value in figures)
    shared = weaknesses(drawn)
    if shared:
        yield ""
        yield "What the failures share, and what to do"
    yield from (f"  {one}" for one in shared)


def _calls(figure: Figures) -> str:
    """`28 for 26 samples: 24 took 1, 2 took 2`."""
    spread = ", ".join(f"{samples} took {calls}" for calls, samples in figure["distribution"].items())
    return f"{figure['numerator']} for {figure['denominator']} samples: {spread}"


def _stability(drawn: "JudgedRun") -> Iterator[tuple[str, str]]:
    """How iterations differ; nothing for one, or for a judge that gives the same verdict every time."""
    from synthesis.report.judged.run import stability

    found = stability(drawn)
    if found is None or drawn.final_metrics is None:
        return
    spread = drawn.final_metrics["aggregateMetrics"]["overallPassRate"]
    if spread["mean"] is not None:
        between = f"from {spread['min']:.1%} to {spread['max']:.1%}, standard deviation {spread['stdDev']:.3f}"
        yield f"over {len(drawn.iterations)} iterations", f"pass rate {spread['mean']:.1%} on average, {between}"
    changes, agreement = found
    flipped = ", ".join(f"{name} {number}" for name, number in changes.flipped.items())
    yield "changed verdicts", f"of {changes.sample_count} samples: {flipped}"
    yield "all of k pass", ", ".join(f"pass^{k} {_share(value)}" for k, value in changes.pass_hat_k.items())
    for axis, one in agreement.items():
        yield f"agreement, {axis}", one.reason if one.alpha is None else f"alpha {one.alpha:.3f}"


def _how_lines(drawn: "JudgedRun") -> Iterator[str]:
    from synthesis.report.judged.outcome import how

    yield from (f"  {sentence}" for sentence in how(drawn) if not sentence.startswith("Cost:"))


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
