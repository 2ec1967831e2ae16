"""`synthesis judge`: judged evaluation of generated answers."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from synthesis.cli import ExitCode
from synthesis.cli.history import Saving, saving_options
from synthesis.cli.judge_output import (
    RunProgress,
    calibration_lines,
    estimate_lines,
    figures,
    standing,
    status_lines,
    summary_lines,
)
from synthesis.cli.options import (
    Command,
    Group,
    answers_option,
    contexts_option,
    format_option,
    formats_and_paths,
    json_option,
    limit_option,
    map_option,
    max_line_option,
    out_option,
    print_json,
    quiet_option,
)
from synthesis.cli.running import run_interruptible
from synthesis.cli.terminal import print_lines
from synthesis.errors import OptionError, OutputError, did_you_mean, shorten
from synthesis.io import SUFFIXES, TEST_SETS
from synthesis.printable import safe
from synthesis.report.findings import count
from synthesis.settings import JUDGED_RUNS, find_settings

if TYPE_CHECKING:
    from synthesis.judge.ledger import Ledger
    from synthesis.judge.model import TestCase
    from synthesis.judge.panel import Panel, PanelJudge, PanelSample
    from synthesis.judge.run import EvaluationConfig, EvaluationResult
    from synthesis.report.judged.run import Rate
    from synthesis.stats import Agreement

SUMMARY_INDENT = 15  # of the figures beside their names, so that what is left of a line stands below them
OWN_TEST_SETS = Path("data/evaluation/test-sets")
DEFAULT_TEST_SET = "passages"

run_root = click.option(
    "--root",
    type=click.Path(path_type=Path),
    default=Path(JUDGED_RUNS),
    show_default=True,
    metavar="DIR",
    help="Folder that holds the runs.",
)
_OPTIONS = (
    click.argument("test_set", required=False, metavar="[FILE]"),
    answers_option,
    contexts_option,
    click.option(
        "--judge-provider",
        metavar="NAME",
        help="offline, openai, openrouter, anthropic, replay, ... [default: offline]",
    ),
    click.option(
        "--judge-model",
        metavar="NAME",
        help="The judge's model; for replay the recording: a records file or a run.",
    ),
    click.option(
        "--escalate",
        metavar="PROVIDER:MODEL",
        help="Ask this model about what the offline judge cannot tell, such as openai:gpt-4o-mini.",
    ),
    click.option("--base-url", metavar="URL", help="An OpenAI-compatible server in place of the vendor's own."),
    click.option(
        "--api-key-env", metavar="NAME", help="Environment variable that holds the key. [default: OPENAI_API_KEY]"
    ),
    click.option(
        "--iterations", type=click.IntRange(min=1), default=1, metavar="N", help="Judge N times. [default: 1]"
    ),
    click.option(
        "--concurrency",
        type=click.IntRange(min=1),
        default=5,
        metavar="N",
        help="At most N calls at a time. [default: 5]",
    ),
    click.option("--output-dir", metavar="NAME", help="Name of the run's folder. [default: the set's name]"),
    run_root,
    click.option(
        "--system-prompt-version", metavar="NAME|FILE", default="v1", help="The prompt of a chat judge. [default: v1]"
    ),
    click.option("--rubric", metavar="NAME|FILE", help="course, rag, relational or a file of your own."),
    click.option(
        "--detail",
        type=click.Choice(["scores", "claims"]),
        default="scores",
        show_default=True,
        help="claims: a chat judge lists the answer's claims with quotes, which are checked.",
    ),
    click.option("--max-cost", type=float, metavar="USD", help="Stop before the run could cost more."),
    click.option(
        "--price-file", type=click.Path(path_type=Path), metavar="FILE", help="Prices in USD per million tokens."
    ),
    click.option(
        "--on-change",
        type=click.Choice(["keep", "rejudge", "error"]),
        default="rejudge",
        show_default=True,
        help="What to do with a verdict whose question, context or answer has changed; kept ones count as none.",
    ),
    click.option(
        "--replace-judge",
        is_flag=True,
        help="Let this judge take over the folder of another; earlier verdicts stay in the journal.",
    ),
    map_option("question=prompt,answer=out[0].text,context=docs"),
    click.option("--id", "ids", multiple=True, metavar="ID", help="Only the one with this id; repeatable."),
    limit_option("samples, the first."),
    max_line_option,
    click.option("--temperature", type=float, metavar="T", help="Sent to a chat judge only if given."),
    click.option("--judge-seed", "seed", type=int, metavar="S", help="Sent to a chat judge only if given."),
    click.option("--reasoning-effort", metavar="LEVEL", help="none, minimal, low, medium, high; sent only if given."),
    click.option(
        "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Extra request header; repeatable."
    ),
    click.option("--extra-body", metavar="JSON|@FILE", help="Fields to add to every request."),
    click.option("--timeout", type=float, default=60.0, metavar="SECONDS", help="Limit for one call. [default: 60]"),
    click.option(
        "--max-output-tokens",
        type=click.IntRange(min=1),
        metavar="N",
        help="Limit of one reply; a truncated reply is retried once with four times the limit.",
    ),
)


class Inputs(NamedTuple):
    """What to judge, how, and notes for the user."""

    cases: "tuple[TestCase, ...]"
    config: "EvaluationConfig"
    notes: tuple[str, ...]


def evaluation_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `run` and `estimate` share."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_inputs(
    *,
    test_set: str | None,
    answers: Path | None,
    contexts: Path | None,
    judge_provider: str | None,
    output_dir: str | None,
    rubric: str | None,
    columns: tuple[str, ...],
    max_line: int,
    ids: tuple[str, ...],
    limit: int | None,
    headers: tuple[str, ...],
    extra_body: str | None,
    **settings: Any,
) -> Inputs:
    """Read the test set and put the configuration together."""
    from synthesis.judge.clients import parse_body, parse_header
    from synthesis.judge.rubric import load_rubric
    from synthesis.judge.run import EvaluationConfig
    from synthesis.judge.testset import NAMES
    from synthesis.read.mapping import parse_map

    cases, name, notes = _read_cases(test_set, answers, contexts, parse_map(columns, NAMES), max_line)
    cases = _chosen(cases, ids, limit, notes)
    config = EvaluationConfig(
        output_dir=name if output_dir is None else output_dir,
        judge_provider=judge_provider or "offline",
        rubric=load_rubric(rubric) if rubric is not None else None,
        headers=dict(map(parse_header, headers)),
        extra_body=parse_body(extra_body) if extra_body is not None else {},
        **settings,
    )
    if judge_provider is None:
        notes.append(_DEFAULT_JUDGE if config.escalate is None else f"{_FIRST_OFFLINE} {config.escalate}.")
    return Inputs(cases, config, tuple(notes))


_DEFAULT_JUDGE = "Judge: offline (the default). It compares words and needs no key and no network."
_FIRST_OFFLINE = "Judge: offline (the default), and for what it cannot tell"


def stored_run(name: str, root: Path) -> "tuple[Path, Ledger]":
    """The folder of a run and what its journal adds up to."""
    from synthesis.judge.journal import read_ledger
    from synthesis.judge.results import run_folder

    folder = run_folder(root, name)
    return folder, read_ledger(folder)


def _read_cases(
    test_set: str | None, answers: Path | None, contexts: Path | None, mapping: dict[str, str], max_line: int
) -> "tuple[tuple[TestCase, ...], str, list[str]]":
    from synthesis.judge.testset import join, read_test_set

    if answers is None and contexts is None:
        path = _find(test_set or DEFAULT_TEST_SET)
        note = [f"Test set: the bundled '{DEFAULT_TEST_SET}' (no test set given)."] if test_set is None else []
        loaded = read_test_set(path, mapping=mapping, most_line=max_line)
        return loaded.cases, stem(path), [*note, *_warnings(loaded.notes)]
    if test_set is not None:
        raise OptionError("give either a test set or --answers with --contexts, not both")
    if answers is None or contexts is None:
        raise OptionError("--answers and --contexts must be given together", hint="Give both.")
    joined = join(answers, contexts, mapping=mapping, most_line=max_line)
    return joined.cases, stem(answers), _warnings(joined.notes)


def _warnings(notes: Iterable[str]) -> list[str]:
    return [f"warning: {note}" for note in notes]


def stem(path: Path) -> str:
    """The name of a set: its file's name without suffixes, including that of a compression."""
    return Path(path.stem).stem if path.suffix in SUFFIXES else path.stem


def _chosen(
    cases: "tuple[TestCase, ...]", ids: tuple[str, ...], limit: int | None, notes: list[str]
) -> "tuple[TestCase, ...]":
    """The samples that --id and --limit select. The same command without them judges the rest."""
    known = {case.query_log_id for case in cases}
    parts = ([text] if text in known else text.split(",") for text in ids)  # an id may hold a comma itself
    wanted = {name.strip() for names in parts for name in names if name.strip()}
    if missing := sorted(wanted - known):
        raise OptionError(f"--id: the set has no sample '{missing[0]}'", hint=did_you_mean(missing[0], known))
    chosen = tuple(case for case in cases if not wanted or case.query_log_id in wanted)[:limit]
    if len(chosen) < len(cases):
        notes.append(f"Judging {len(chosen)} of {len(cases)} samples (--id, --limit).")
    return chosen


def _find(name: str) -> Path:
    """A file, or a name among the user's own test sets, then among the bundled ones."""
    path = Path(name)
    if path.is_file() or path.suffix or path.parent != Path():
        return path
    for folder in (OWN_TEST_SETS, TEST_SETS):
        for ending in (".json", ".jsonl", ".csv"):
            if (found := folder / f"{name}{ending}").is_file():
                return found
    known = [file.stem for folder in (OWN_TEST_SETS, TEST_SETS) for file in folder.glob("*.*")]
    raise OptionError(f"there is no test set '{name}'", hint=did_you_mean(name, known))


# `synthesis judge panel`

PANEL_FORMATS = ("text", "markdown")
SHOWN = 10  # samples on which the judges differ most; panel.json has all
FILE_NAME = "panel.json"


@click.command(cls=Command)
@click.argument("names", nargs=-1, metavar="RUN RUN...")
@run_root
@format_option("text or markdown. [default: text, printed]", default=["text"])
@out_option(f"everything as JSON; a folder gets {FILE_NAME}.")
@json_option
def panel(names: tuple[str, ...], root: Path, formats: tuple[str, ...], out: str | None, as_json: bool) -> int:
    """Compare several judges on the same samples: median scores, agreement, and where they differ most.

    Name the runs of different judges on one test set. Exits with 3 if a judge has no verdict on a sample.
    """
    from synthesis.judge.panel import build_panel, panel_run
    from synthesis.report.judged.layout import told

    ledgers = [stored_run(name, root)[1] for name in names]
    found = build_panel([panel_run(name, ledger) for name, ledger in zip(names, ledgers, strict=True)])
    document = told(msgspec.to_builtins(found), ledgers[0].present_run().layout)
    if as_json:
        print_json(document)
    for form, path in () if as_json else formats_and_paths(formats, PANEL_FORMATS):
        _show_or_write(_text(found) if form == "text" else _markdown(found), path)
    for warning in found.warnings:
        click.echo(safe(f"warning: {warning}"), err=True)
    if out is not None:
        _write(document, Path(out) / FILE_NAME if Path(out).is_dir() else Path(out))
    return ExitCode.OK if found.is_complete else ExitCode.INCOMPLETE


def _show_or_write(lines: Iterable[str], path: str | None) -> None:
    from synthesis.report.formats import write_pieces

    if path is None:
        _print(lines, hang=SUMMARY_INDENT)
    else:
        write_pieces((f"{safe(line)}\n" for line in lines), Path(path))
        click.echo(f"Written: {safe(path)}", err=True)


def _write(document: Any, path: Path) -> None:
    from synthesis.report.formats import write_pieces

    write_pieces([msgspec.json.format(msgspec.json.encode(document), indent=2).decode(), "\n"], path)
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
    yield f"  {'divided':<14} {_rate(found.split)}: some judges pass it, others do not"
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


# The other commands of `synthesis judge`.


@click.group(cls=Group, alone="run")
def judge() -> None:
    """Judged evaluation of generated answers: faithfulness and completeness, or the axes of your own rubric.

    `synthesis judge FILE` is short for `judge run FILE`. Verdicts are stored as they arrive; the same command resumes
    where it stopped and pays for nothing twice. NAME is the name of a run's folder.
    """


@judge.command()
@evaluation_options
@click.option(
    "--grace",
    type=float,
    default=30.0,
    metavar="SECONDS",
    help="Wait for calls in flight when interrupted. [default: 30]",
)
@click.option("--fail-under", type=float, metavar="RATE", help="Exit with 2 if the pass rate is below RATE (0 to 1).")
@click.option(
    "--allow-untold",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="SHARE",
    help="Do not exit with 3 while at most this share of samples (0 to 1) could not be told offline. [default: 0]",
)
@saving_options
@json_option
@quiet_option
def run(fail_under: float | None, allow_untold: float, as_json: bool, quiet: bool, **options: Any) -> int:
    """Judge a test set.

    FILE is a file, a name from data/evaluation/test-sets, or the name of a bundled set. By default the offline judge
    judges the bundled set 'passages'.
    """
    from synthesis.judge.run import run_evaluation

    if fail_under is not None and not 0 <= fail_under <= 1:
        raise OptionError(f"--fail-under must be between 0 and 1, not {fail_under:g}")
    wanted = {name: options.pop(name) for name in ("save", "save_text", "run_name", "release", "history")}
    inputs = read_inputs(**options)
    saving = Saving.of(wanted, find_settings(Path.cwd()).values)
    _print(() if quiet else inputs.notes, err=True)
    progress = RunProgress(inputs.config.grace, quiet=quiet)
    with progress.line:
        try:
            result = run_interruptible(run_evaluation(inputs.cases, inputs.config, observer=progress.update))
        except asyncio.CancelledError:
            return _interrupted(progress)
        except OutputError as error:
            return _cut_short(error, progress)
    if as_json:
        print_json(figures(result.run, result.total, result.results, result.folder))
    elif not quiet:
        _print(summary_lines(result.run, result.total, result.results, result.folder), hang=SUMMARY_INDENT)
    _print([f"warning: {warning}" for warning in result.warnings], err=True)
    saved = saving is None or saving.save_judged(result.folder, quiet=quiet, to_stderr=as_json)
    verdict = _verdict(result, fail_under, allow_untold)
    return verdict if saved else ExitCode.INCOMPLETE


@judge.command()
@evaluation_options
@json_option
def estimate(as_json: bool, **options: Any) -> int:
    """Estimate tokens and cost of what is left to judge. Sends and writes nothing."""
    from synthesis.judge.run import estimate_evaluation

    inputs = read_inputs(**options)
    _print(inputs.notes, err=True)
    found = asyncio.run(estimate_evaluation(inputs.cases, inputs.config))
    if as_json:
        print_json({**msgspec.to_builtins(found), "likely_cost": found.likely_cost(), "worst_cost": found.worst_cost()})
    else:
        _print(estimate_lines(found))
    return ExitCode.OK


@judge.command()
@click.argument("name")
@run_root
@json_option
def status(name: str, root: Path, as_json: bool) -> int:
    """Show what is done, pending, failed and stale in a run."""
    ledger = stored_run(name, root)[1]
    if as_json:
        print_json(standing(ledger))
    else:
        _print(status_lines(ledger))
    return ExitCode.OK


@judge.command()
@click.argument("name")
@run_root
@format_option("text, html or markdown. [default: text, printed]", default=["text"])
@out_option("it, in place of =PATH. [default: the run's folder]")
@json_option
def report(name: str, root: Path, formats: tuple[str, ...], out: str | None, as_json: bool) -> int:
    """Report the figures of a run: on the console, as an HTML page, or as Markdown."""
    from synthesis.judge.results import derive

    folder, ledger = stored_run(name, root)
    shown = (ledger.present_run(), len(ledger.samples), derive(ledger), folder)
    if as_json:
        print_json(figures(*shown))
    if out is not None and len(formats) > 1:
        raise OptionError("--out says where one document goes", hint="Write --format F=PATH for each.")
    for form, path in formats_and_paths(formats, ("text", *_BESIDE)):
        where = path or out
        if form != "text":
            _draw(ledger, form, Path(where) if where else folder / _BESIDE[form], to_stderr=as_json)
        elif where or not as_json:
            _show_or_write(summary_lines(*shown), where)
    return ExitCode.OK


_BESIDE = {"html": "report.html", "markdown": "report.md"}


def _draw(ledger: "Ledger", form: str, path: Path, *, to_stderr: bool) -> None:
    from synthesis.judge.results import judged_run
    from synthesis.report.formats import write_pieces

    if form == "html":
        from synthesis.report.judged.html import render
    else:
        from synthesis.report.markdown import render_judged as render

    write_pieces(render(judged_run(ledger)), path)
    click.echo(f"Written: {safe(str(path))}", err=to_stderr)


@judge.command("prompt")
@click.argument("name", required=False, default="v1")
def show_prompt(name: str) -> int:
    """Print a bundled prompt, a starting point for --system-prompt-version FILE."""
    from synthesis.judge.prompt import prompt_source

    click.echo(prompt_source(name), nl=False)
    return ExitCode.OK


@judge.command()
@click.argument("name")
@click.argument("labels", type=click.Path())
@run_root
@json_option
def calibrate(name: str, labels: str, root: Path, as_json: bool) -> int:
    """Compare a run's verdicts with human LABELS: agreement, confusion, bias."""
    from synthesis.judge.calibration import calibrate as compare
    from synthesis.judge.calibration import load_labels
    from synthesis.judge.results import derive, write_calibration

    human = load_labels(labels)
    folder, ledger = stored_run(name, root)
    every = []
    for iteration in derive(ledger).iterations:
        found = compare(iteration.records, human, ledger.present_run().rubric)
        path = write_calibration(folder, iteration.number, found)
        every.append({"iteration": iteration.number, **found, "written": str(path)})
        if not as_json:
            _print([f"Iteration {iteration.number}, judge against people:", *calibration_lines(found)])
            _print([f"Written to {path}"])
    if as_json:
        print_json(every)
    return ExitCode.OK


def _interrupted(progress: RunProgress) -> int:
    _print([f"Interrupted. {progress.summary()} The same command resumes from here."], err=True)
    return ExitCode.INTERRUPTED


def _cut_short(error: OutputError, progress: RunProgress) -> int:
    """The disk refused a write; what the journal already has is safe."""
    if not progress.has_begun:
        raise error
    _print([f"error: {error}", progress.summary()], err=True)
    return ExitCode.INCOMPLETE


def _verdict(result: "EvaluationResult", fail_under: float | None, allow_untold: float) -> int:
    if result.stopped is not None:
        _print([f"Stopped: {result.stopped}. The same command resumes from here."], err=True)
    if not result.complete:
        return ExitCode.INCOMPLETE
    if result.untold > allow_untold:
        _print([f"{result.untold:.1%} of the samples need a judge: the offline one cannot tell. {_CURE}"], err=True)
        return ExitCode.INCOMPLETE
    if fail_under is not None and result.gate_rate < fail_under:
        _print([f"The pass rate {result.gate_rate:.1%} is below {fail_under:.1%}."], err=True)
        return ExitCode.UNMET
    return ExitCode.OK


_CURE = "Ask a model with --escalate PROVIDER:MODEL, or accept it with --allow-untold SHARE."


def _print(lines: Iterable[str], *, err: bool = False, hang: int = 2) -> None:
    print_lines((safe(line, keep_lines=True) for line in lines), err=err, hang=hang)


judge.add_command(panel)
