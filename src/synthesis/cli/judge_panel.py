"""`synthesis judge panel`: several judges on the same samples."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from synthesis.cli import exits
from synthesis.cli.judge_options import run_root, stored_run
from synthesis.cli.terminal import safe
from synthesis.errors import shorten
from synthesis.report.findings import count

if TYPE_CHECKING:
    from synthesis.judge.agreement import Agreement
    from synthesis.judge.panel_model import Panel, PanelJudge, PanelSample
    from synthesis.report.judged.run import Rate

SHOWN = 10  # samples on which the judges differ most; panel.json has all
FILE_NAME = "panel.json"


@click.command()
@click.argument("names", nargs=-1, metavar="RUN RUN...")
@run_root
@click.option("--format", "form", type=click.Choice(["text", "markdown"]), default="text", show_default=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help=f"Write everything as JSON; a folder gets {FILE_NAME}.",
)
def panel(names: tuple[str, ...], root: Path, form: str, out: Path | None) -> int:
    """Several judges on the same samples: median scores, agreement, and where they differ most.

    Name the runs of different judges on one test set. Exits with 3 if a judge has no verdict on a sample.
    """
    from synthesis.judge.panel import build_panel, panel_run

    found = build_panel([panel_run(name, stored_run(name, root)[1]) for name in names])
    for line in _text(found) if form == "text" else _markdown(found):
        click.echo(safe(line))
    for warning in found.warnings:
        click.echo(safe(f"warning: {warning}"), err=True)
    if out is not None:
        _write(found, out / FILE_NAME if out.is_dir() else out)
    return exits.OK if found.is_complete else exits.INCOMPLETE


def _write(found: "Panel", path: Path) -> None:
    import msgspec

    from synthesis.report.formats import write_pieces

    write_pieces([msgspec.json.format(msgspec.json.encode(found), indent=2).decode(), "\n"], path)
    click.echo(f"Written: {safe(str(path))}", err=True)


def _text(found: "Panel") -> Iterator[str]:
    yield f"Panel of {len(found.judges)} judges, rubric {found.rubric}: {count(len(found.samples), 'sample')}"
    width = max(len(judge.run) for judge in found.judges)
    for judge in found.judges:
        yield f"  {judge.run:<{width}}  {judge.judge}: {_means(judge)}, passed {_rate(judge.passed)}"
    yield ""
    for axis in found.axes:
        yield f"  {axis.name:<14} median {axis.mean_of_medians:.2f} on average, agreement {_alpha(axis.agreement)}"
    yield f"  {'passed':<14} {_rate(found.passed)}, by the medians"
    yield f"  {'divided':<14} {_rate(found.split)}: some judges let it pass, others do not"
    if found.differ_most:
        yield ""
        yield f"The judges differ on {count(len(found.differ_most), 'sample')}, most on:"
        yield from (f"  {sample.query_log_id}: {_scores(sample)}{_question(sample)}" for sample in _shown(found))


def _markdown(found: "Panel") -> Iterator[str]:
    from synthesis.report.markdown import plain_words as words

    samples = count(len(found.samples), "sample")
    yield f"### Panel of {len(found.judges)} judges: {samples}, rubric {words(found.rubric)}"
    yield from ("", "| run | judge | mean scores | passed |", "| --- | --- | --- | --- |")
    for judge in found.judges:
        yield f"| {words(judge.run)} | {words(judge.judge)} | {words(_means(judge))} | {_rate(judge.passed)} |"
    yield f"| **median** | | {words(_medians(found))} | {_rate(found.passed)} |"
    yield from ("", "| axis | agreement |", "| --- | --- |")
    yield from (f"| {words(axis.name)} | {_alpha(axis.agreement)} |" for axis in found.axes)
    yield from ("", f"Divided on passing: {_rate(found.split)}.")
    if found.differ_most:
        yield from ("", f"They differ on {count(len(found.differ_most), 'sample')}, most on:", "")
        yield from (f"- {words(sample.query_log_id)}: {words(_scores(sample))}" for sample in _shown(found))


def _shown(found: "Panel") -> "list[PanelSample]":
    return found.most_different(SHOWN)


def _means(judge: "PanelJudge") -> str:
    from synthesis.report.judged.run import axis_title

    pairs = [(axis_title(judge.judge, axis), mean) for axis, mean in judge.means.items()]
    return ", ".join(f"{axis} {'none' if mean is None else f'{mean:.2f}'}" for axis, mean in pairs)


def _medians(found: "Panel") -> str:
    return ", ".join(f"{axis.name} {axis.mean_of_medians:.2f}" for axis in found.axes)


def _scores(sample: "PanelSample") -> str:
    """`faithfulness demo 2, second 5`, for each axis on which they differ."""
    return "; ".join(
        f"{axis} " + ", ".join(f"{run} {scores[axis]}" for run, scores in sample.scores.items())
        for axis, spread in sample.spread.items()
        if spread
    )


def _question(sample: "PanelSample") -> str:
    return f": {shorten(sample.question, 60)}" if sample.question else ""


def _alpha(agreement: "Agreement") -> str:
    """`alpha 0.62 (0.12 to 0.91)`."""
    if agreement.alpha is None:
        return f"not defined: {agreement.reason}"
    if agreement.interval is None:
        return f"alpha {agreement.alpha:.2f} ({agreement.reason or 'no interval'})"
    return f"alpha {agreement.alpha:.2f} ({agreement.interval[0]:.2f} to {agreement.interval[1]:.2f})"


def _rate(rate: "Rate") -> str:
    """`6 of 8, 75.0% (40.9% to 92.9%)`."""
    base = f"{rate.numerator} of {rate.denominator}"
    if rate.value is None or rate.interval is None:
        return base
    return f"{base}, {rate.value:.1%} ({rate.interval[0]:.1%} to {rate.interval[1]:.1%})"
