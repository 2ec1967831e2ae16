"""A judged run as Markdown, short enough for a comment on a pull request."""

from collections.abc import Iterator

from synthesis.report.judged.run import JudgedRun, axis_figures, cost, failed, mean, share
from synthesis.report.markdown import plain_words as words

MOST_FAILURES = 20


def render(run: JudgedRun) -> Iterator[str]:
    metrics = run.last.metrics
    yield f"### Judged run: {words(run.name)}\n\n"
    yield f"{share(metrics['overallPassRate'])} passed. Judge: {words(run.judge)}, rubric {words(run.rubric)}.\n\n"
    yield "| axis | mean | passed |\n| --- | --- | --- |\n"
    for axis, passes_at in run.axes:
        average, rate, _ = axis_figures(run, axis)
        yield f"| {words(axis)} ({passes_at} or more) | {mean(average)} | {share(rate)} |\n"
    yield f"\n{metrics['errors']} could not be judged, {metrics['notJudged']} not yet judged, "
    yield f"{metrics['stale']} stale. Cost: {cost(run)}.\n"
    lowest = failed(run)
    if lowest:
        yield f"\n<details><summary>{len(lowest)} not passed</summary>\n\n"
        yield from (f"- {_line(run, record)}\n" for record in lowest[:MOST_FAILURES])
        yield f"- ... and {len(lowest) - MOST_FAILURES} more\n" if len(lowest) > MOST_FAILURES else ""
        yield "\n</details>\n"


def _line(run: JudgedRun, record: dict[str, object]) -> str:
    verdict = record["judgeVerdict"]
    assert isinstance(verdict, dict)
    scores = ", ".join(f"{axis} {verdict[axis]['score']}" for axis, _ in run.axes)
    return f"{words(str(record['queryLogId']))}: {words(scores)}: {words(str(record['question'])[:120])}"
