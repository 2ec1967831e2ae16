"""A judged run as Markdown, short enough for a comment on a pull request."""

from collections.abc import Iterator

from synthesis.report.judged.html import cost
from synthesis.report.judged.run import Interval, JudgedRun, JudgedSample, Mean, Rate, last_figures
from synthesis.report.markdown import plain_words as words

MOST_FAILURES = 20


def render(run: JudgedRun) -> Iterator[str]:
    figures = last_figures(run)
    totals = figures.totals
    yield f"### Judged run: {words(run.name)}\n\n"
    yield f"{_share(totals.overall_pass_rate)} passed. Judge: {words(run.judge)}, rubric {words(run.rubric)}.\n\n"
    yield "| axis | mean | passed |\n| --- | --- | --- |\n"
    for axis in figures.axes:
        yield f"| {words(axis.title)} ({axis.passes_at} or more) | {_mean(axis.mean)} | {_share(axis.rate)} |\n"
    yield f"\n{totals.errors} could not be judged, {totals.not_judged} not yet judged, "
    yield f"{totals.stale} stale. Cost: {cost(run)}.\n"
    lowest = run.failed()
    if lowest:
        yield f"\n<details><summary>{len(lowest)} not passed</summary>\n\n"
        yield from (f"- {_line(run, sample)}\n" for sample in lowest[:MOST_FAILURES])
        yield f"- ... and {len(lowest) - MOST_FAILURES} more\n" if len(lowest) > MOST_FAILURES else ""
        yield "\n</details>\n"


def _line(run: JudgedRun, sample: JudgedSample) -> str:
    scores = ", ".join(f"{axis} {sample.judge_verdict[axis].score}" for axis, _ in run.axes)
    return f"{words(sample.query_log_id)}: {words(scores)}: {words((sample.question or '')[:120])}"


def _share(rate: Rate) -> str:
    """`5 of 8, 62.5 % (30.6 to 86.3)`: a rate with its base and its interval."""
    base = f"{rate.numerator} of {rate.denominator}"
    return base if rate.value is None else f"{base}, {100 * rate.value:.1f} %{_interval(rate.interval, 100, 1)}"


def _mean(mean: Mean) -> str:
    """`3.75 (2.88 to 4.63)`: a mean with its interval."""
    return "none" if mean.value is None else f"{mean.value:.2f}{_interval(mean.interval, 1, 2)}"


def _interval(interval: Interval | None, scale: int, digits: int) -> str:
    return f" ({scale * interval[0]:.{digits}f} to {scale * interval[1]:.{digits}f})" if interval else ""
