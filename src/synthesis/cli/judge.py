"""`synthesis judge`: judged evaluation of generated answers."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synthesis.cli import exits
from synthesis.cli.judge_interruption import run_interruptible
from synthesis.cli.judge_options import evaluation_options, read_inputs, run_root, stored_run
from synthesis.cli.judge_output import calibration_lines, estimate_lines, status_lines, summary_lines
from synthesis.cli.judge_panel import panel
from synthesis.cli.judge_progress import Reporter
from synthesis.cli.saving import Saving, saving_options
from synthesis.cli.terminal import print_lines, safe
from synthesis.errors import OptionError, OutputError
from synthesis.settings import find_settings

if TYPE_CHECKING:
    from synthesis.judge.config import EvaluationResult
    from synthesis.judge.journal.ledger import Ledger


@click.group()
def judge() -> None:
    """Judged evaluation of generated answers: faithfulness and completeness, or the axes of your own rubric.

    What is judged is stored at once; the same command resumes where it stopped and pays for nothing twice.
    """


judge.add_command(panel)


@judge.command()
@evaluation_options
@click.option(
    "--grace",
    type=float,
    default=30.0,
    show_default=True,
    help="When interrupted: seconds to wait for calls under way.",
)
@click.option("--fail-under", type=float, metavar="RATE", help="Exit with 2 when the pass rate is below (0 to 1).")
@saving_options
def run(fail_under: float | None, **options: Any) -> int:
    """Judge a test set: a file, a name from data/evaluation/test-sets or one that is bundled.

    Without a test set the bundled 'passages' are judged, without --judge-provider by the offline judge.
    """
    from synthesis.judge.run import run_evaluation

    if fail_under is not None and not 0 <= fail_under <= 1:
        raise OptionError(f"--fail-under must be between 0 and 1, not {fail_under:g}")
    wanted = {name: options.pop(name) for name in ("save", "save_text", "history")}
    inputs = read_inputs(**options)
    saving = Saving.of(wanted, find_settings(Path.cwd()).values)
    _print(inputs.notes, err=True)
    with Reporter(inputs.config.grace) as reporter:
        try:
            work = run_evaluation(inputs.cases, inputs.config, observer=reporter.update)
            result = run_interruptible(work)
        except asyncio.CancelledError:
            return _interrupted(reporter)
        except OutputError as error:
            return _cut_short(error, reporter)
    _print(summary_lines(result.run, result.total, result.results, result.folder))
    _print([f"warning: {warning}" for warning in result.warnings], err=True)
    saved = saving is None or saving.save_judged(result.folder)
    verdict = _verdict(result, fail_under)
    return verdict if saved else exits.INCOMPLETE


@judge.command()
@evaluation_options
def estimate(**options: Any) -> int:
    """Tokens and cost of what is left to judge, before the first call; sends and writes nothing."""
    from synthesis.judge.estimate import estimate_evaluation

    inputs = read_inputs(**options)
    _print(inputs.notes, err=True)
    _print(estimate_lines(asyncio.run(estimate_evaluation(inputs.cases, inputs.config))))
    return exits.OK


@judge.command()
@click.argument("name")
@run_root
def status(name: str, root: Path) -> int:
    """What is done, pending, failed and stale in a run, read from its journal."""
    _print(status_lines(stored_run(name, root)[1]))
    return exits.OK


@judge.command()
@click.argument("name")
@run_root
@click.option("--format", "form", type=click.Choice(["text", "html", "markdown"]), default="text", show_default=True)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="PATH", help="Where to write it. [default: the run's folder]"
)
def report(name: str, root: Path, form: str, out: Path | None) -> int:
    """The figures of a run, computed again from its journal: on the console, as a page, or as Markdown."""
    from synthesis.judge.results import derive

    folder, ledger = stored_run(name, root)
    if form == "text":
        _print(summary_lines(ledger.present_run(), len(ledger.samples), derive(ledger), folder))
    else:
        _draw(ledger, form, out or folder / ("report.html" if form == "html" else "report.md"))
    return exits.OK


def _draw(ledger: "Ledger", form: str, path: Path) -> None:
    from synthesis.judge.results import judged_run
    from synthesis.report.formats import write_pieces
    from synthesis.report.judged import html, markdown

    run = judged_run(ledger)
    write_pieces(html.render(run) if form == "html" else markdown.render(run), path)
    click.echo(f"Written: {safe(str(path))}")


@judge.command("prompt")
@click.argument("name", required=False, default="v1")
def show_prompt(name: str) -> int:
    """Print a bundled prompt, to begin one of your own for --system-prompt-version FILE."""
    from synthesis.judge.prompt import prompt_source

    click.echo(prompt_source(name), nl=False)
    return exits.OK


@judge.command()
@click.argument("name")
@click.argument("labels", type=click.Path())
@run_root
def calibrate(name: str, labels: str, root: Path) -> int:
    """Compare a run's verdicts with human LABELS: agreement, confusion, bias."""
    from synthesis.judge.calibration import calibrate as compare
    from synthesis.judge.calibration import load_labels
    from synthesis.judge.result_files import write_calibration
    from synthesis.judge.results import derive

    human = load_labels(labels)
    folder, ledger = stored_run(name, root)
    for iteration in derive(ledger).iterations:
        found = compare(iteration.records, human, ledger.present_run().rubric)
        path = write_calibration(folder, iteration.number, found)
        _print([f"Iteration {iteration.number}, judge against people:", *calibration_lines(found)])
        _print([f"Written to {path}"])
    return exits.OK


def _interrupted(reporter: Reporter) -> int:
    _print([f"Interrupted. {reporter.summary()} The same command resumes from here."], err=True)
    return exits.INTERRUPTED


def _cut_short(error: OutputError, reporter: Reporter) -> int:
    """The disk refused a write; what the journal already has is safe."""
    if not reporter.has_begun:
        raise error
    _print([f"error: {error}", reporter.summary()], err=True)
    return exits.INCOMPLETE


def _verdict(result: "EvaluationResult", fail_under: float | None) -> int:
    if result.stopped is not None:
        _print([f"Stopped: {result.stopped}. The same command resumes from here."], err=True)
    if not result.complete:
        return exits.INCOMPLETE
    if fail_under is not None and result.gate_rate < fail_under:
        _print([f"The pass rate {result.gate_rate:.1%} is below {fail_under:.1%}."], err=True)
        return exits.UNMET
    return exits.OK


def _print(lines: Iterable[str], *, err: bool = False) -> None:
    print_lines((safe(line, keep_lines=True) for line in lines), err=err)
