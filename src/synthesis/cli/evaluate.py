"""`synthesis eval`, which is also the bare `synthesis`: options become a RunSpec, and its outcome is shown."""

import dataclasses
import glob
import operator
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_origin, get_type_hints

import click
import msgspec

from synthesis.checks.learned import learned_reader
from synthesis.checks.registry import get_check, load_tables, named_checks
from synthesis.cli import ExitCode
from synthesis.cli.console import explained_lines, summary_lines, verdict_lines, warning_lines
from synthesis.cli.gates import Conclusion, exit_code, name_reasons, too_many_failures
from synthesis.cli.history import Saving, saving_options
from synthesis.cli.options import STDIN, Command, format_option, json_option, print_json, quiet_option, standard_input
from synthesis.cli.running import Interruption, progress
from synthesis.cli.terminal import print_lines
from synthesis.errors import OptionError, Place, SettingsError
from synthesis.io import CASE_SCHEMA, CASES, is_stream, replaced
from synthesis.model.report import percent
from synthesis.model.result import ERROR, FAIL
from synthesis.printable import safe
from synthesis.read.inputs import Input
from synthesis.read.mapping import parse_case_map
from synthesis.run.engines import ENGINES, RAY, SPARK
from synthesis.run.files import RunOutcome, available_cores, evaluate_files
from synthesis.run.limits import Limits
from synthesis.run.spec import RunSpec
from synthesis.settings import AUTHORED, FORMER_PROFILES, LEARNED, PROFILES, READERS, TRAFFIC, Settings

DEFAULT_CASES = "data/evals.jsonl"
DEFAULT_SCHEMA = "schemas/eval_case.schema.json"
DEFAULT_OUT = "out/report.json"
BUNDLED = "bundled:all"
ARTIFACT, JSON = "artifact", "json"  # what MCP_OUTPUT=json and --json print


def perform(
    spec: RunSpec,
    interruption: Interruption,
    *,
    report: Path | None,
    printed: str | None,
    quiet: bool,
    names_reason: bool = True,
) -> int:
    """Evaluate, write, show; returns the exit code. Names its reason unless more conditions follow.

    `report` is where the user finds the report; `spec.out` may be a copy of the run's own. `printed` is what standard
    output is for: ARTIFACT or JSON; None: for a person.
    """
    interruption.begin(spec, report)
    if not quiet:
        _name_slow_reader(spec)
    with progress("cases", enabled=not quiet and printed != ARTIFACT) as note:
        outcome = evaluate_files(spec, progress=interruption.counting(note))
    interruption.written()
    summary = outcome.report.summary
    if not quiet:
        _show(outcome, spec, report, printed)
        _name_leftovers(outcome.leftovers)
        if outcome.deferred:
            cases = "1 case" if outcome.deferred == 1 else f"{outcome.deferred:,} of {summary['cases']:,} cases"
            click.echo(f"note: {cases} had to be evaluated in Python, which takes longer.", err=True)
    if printed == ARTIFACT:
        click.echo(msgspec.json.encode(artifact(summary, report)).decode())
    elif printed == JSON:
        results = spec.results or spec.table
        where = {"report": report and str(report), "results": results and str(results)}
        ruler = {"profile": outcome.report.profile, "reader": outcome.report.reader}
        print_json({**where, **ruler, "summary": summary})
    unmet = too_many_failures(summary, spec)
    code = exit_code(summary, unmet=bool(unmet))
    if names_reason:
        name_reasons(summary, code, unmet)
    return code


def artifact(summary: dict[str, Any], path: Path | None) -> dict[str, Any]:
    """The one object that MCP_OUTPUT=json prints; without a report it has no path."""
    shown = {key: summary[key] for key in ("cases", "passed", "failed", "expected_failures", "unexpected_failures")}
    accuracy = summary.get("label_accuracy")
    shown["pass_rate"] = f"{percent(summary['passed'], summary['cases'])}%"
    shown["label_accuracy"] = f"{accuracy['accuracy']}%" if accuracy else "n/a"
    return {"type": "artifact", "name": "synthesis-report", "path": path and str(path), "summary": shown}


def _show(outcome: RunOutcome, spec: RunSpec, report: Path | None, printed: str | None) -> None:
    if printed == JSON:  # a program reads the summary, a person the warnings
        print_lines(warning_lines(outcome.report.warnings, outcome.warned), err=True)
        return
    results = spec.results or spec.table
    place = safe(str(report)) if report else "none (--no-report)"
    lines = [
        *warning_lines(outcome.report.warnings, outcome.warned),
        *summary_lines(outcome.report.summary, outcome.examples, outcome.rules, outcome.report.profile, outcome.errors),
        f"Report: {place}" + (f", results: {safe(str(results))}" if results else ""),
    ]
    print_lines(lines, err=printed is not None)


def _name_slow_reader(spec: RunSpec) -> None:
    found = learned_reader(spec.reader)
    if found is not None and found.engine.name == "python":
        click.echo(
            "note: the learned reader runs in plain Python, which is slow. `pip install numpy` makes it fast; "
            "--reader rules leaves it out.",
            err=True,
        )


def _name_leftovers(paths: Sequence[str]) -> None:
    for path in paths:
        click.echo(
            f"note: {safe(path)} was left by a run on another host or by version 0.1. Delete it when that run is over.",
            err=True,
        )


def run_spec(options: Mapping[str, Any], settings: Settings) -> RunSpec:
    """Options override settings, settings override defaults; rules and what is disabled add up."""
    if options["table"] == "":
        raise OptionError("--out-table is empty", hint="Give the path of a folder; it is created.")
    _require_limits(options, settings)
    load_tables((*settings.values.get("rules", ()), *options["rules"]))  # before names of checks are read
    values: dict[str, Any] = {"address": engine_address(options), "settings": settings.files}
    for field, (spelled, _) in _OPTIONS.items():
        configured = settings.values.get(spelled.split()[0].removeprefix("--"))
        value = options[field] if options[field] not in _NOT_GIVEN else configured
        if field in _ADDED:
            value = (*(configured or ()), *options[field])
        if value in _NOT_GIVEN and field in _OTHERWISE:
            value = _OTHERWISE[field]()
        if value not in _NOT_GIVEN:
            values[field] = _PARSE[field](value) if field in _PARSE else value
    return RunSpec(**values)


def _require_limits(options: Mapping[str, Any], settings: Settings) -> None:
    """Blame limits on the file that holds them; an empty option is a mistake, not a wish for the default."""
    if options["fail_on"] == "":
        raise OptionError("--fail-on is empty", hint="Write a number, or limits by severity: critical=0,serious=5.")
    try:
        Limits.of(settings.values.get("fail-on", 0))
    except OptionError as error:
        raise SettingsError(error.message, place=Place(", ".join(settings.files)), hint=error.hint) from None


def _drift(given: Sequence[str]) -> dict[str, float]:
    """`flattery=0.1` as check -> number, each check once."""
    limits: dict[str, float] = {}
    for text in given:
        name, equals, number = (part.strip() for part in text.partition("="))
        if not (name and equals):
            raise OptionError(f"--fail-on-drift cannot read '{text}'", hint="Write it as --fail-on-drift CHECK=0.1.")
        if get_check(name).name in limits:
            raise OptionError(f"--fail-on-drift names '{name}' twice", hint="Name each check once.")
        limits[name] = _number(number, text)
    return limits


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError(
            f"--fail-on-drift {whole}: '{text}' is not a number", hint="0.1 allows ten points, 0 no drift at all."
        ) from None


def _profile(name: str) -> str:
    """The named profile; a name from version 0.1 gets a note."""
    if name in FORMER_PROFILES:
        click.echo(f"note: the profile '{name}' is now called '{FORMER_PROFILES[name]}'", err=True)
    return name


def _inputs(given: Sequence[str]) -> tuple[Input, ...]:
    if "" in given:
        raise OptionError("--cases is empty", hint="Give a file, a folder, or leave the option out.")
    return tuple(Input.of(path) for name in given for path in _expanded(name))


def _expanded(name: str) -> list[Path]:
    """A file, all case files of a folder, the files that a pattern matches, or `bundled:all`."""
    if name == BUNDLED:
        return sorted(CASES.parent.glob("evals*.jsonl"))
    path = Path(name)
    if glob.has_magic(name) and not path.exists():
        return _matching(name)
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.jsonl"))
    if not files:
        raise OptionError(f"the folder {name} holds no .jsonl files", hint="Give a case file, or a folder with some.")
    return files


def _matching(pattern: str) -> list[Path]:
    """The files that a pattern such as logs/*.jsonl matches, where no shell has expanded it."""
    files = sorted(Path(found) for found in glob.glob(pattern, recursive=True) if Path(found).is_file())
    if not files:
        raise OptionError(f"no file matches {pattern}", hint="Check the pattern.")
    return files


def _names(text: str) -> tuple[str, ...]:
    names = (name.strip() for name in text.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def engine_address(options: Mapping[str, Any]) -> str | None:
    """The address of the engine; each engine has its own option for it."""
    for engine, option, name in ((RAY, "--ray-address", "ray_address"), (SPARK, "--master", "master")):
        if options[name] is not None and options["engine"] != engine:
            raise OptionError(f"{option} needs --engine {engine}", hint=f"Give --engine {engine} as well.")
    address: str | None = options["ray_address"] or options["master"]
    return address


def _present(local: str, bundled: Path) -> str:
    return local if Path(local).is_file() else str(bundled)


# field of RunSpec -> its option, and its help; settings files use the names of the options
_OPTIONS = {
    "inputs": (
        "--cases PATH",
        "Case file, chat log or table, the same as FILE; repeatable. [default: data/evals.jsonl, else the bundled "
        "cases]",
    ),
    "columns": (
        "--map FIELD=NAME,..",
        "Where the input has its fields: user=prompt,assistant=choices[0].text; "
        "for one message a row conversation=chat,role=sender,text=body.",
    ),
    "sort": ("--sort", "Group rows by conversation first, on disk; rows keep their order."),
    "checks": (
        "--checks NAME,..",
        "Checks to run, whatever the cases name: a list, 'all', or 'all,-flattery' for all but one. In logs an "
        "explicit cue of a crisis adds crisis_response. [default: as named, else all]",
    ),
    "on_bad_row": (
        "--on-bad-row",
        "Stop at a bad row, or count it as an error. [default: stop for cases, error for logs]",
    ),
    "schema": ("--schema PATH", "JSON schema. [default: schemas/eval_case.schema.json, else the bundled one]"),
    "out": ("--out PATH", "Where to write the JSON report. [default: out/report.json]"),
    "fail_on": (
        "--fail-on N",
        "Failures allowed before exit code 2: a number, or by severity, such as critical=0,serious=5,minor=2%. In logs "
        "a critical one is allowed only by severity. [default: 0]",
    ),
    "tags": ("--tag TAG", "Tag that a case must have; repeatable."),
    "ids": ("--id ID", "Only the one with this id; repeatable."),
    "only": ("--only-check NAME", "Of the checks that the cases name only this one; repeatable."),
    "limit": ("--limit N", "At most N cases."),
    "sample": ("--sample N", "A random sample of N cases."),
    "seed": ("--seed S", "Seed of the sample. [default: 0]"),
    "rules": ("--rules DIR", "Folder with extra rule packs; repeatable."),
    "disabled": ("--disable RULE", "Disable the rule with this id; repeatable."),
    "profile": (
        f"--profile {'|'.join(PROFILES)}",
        f"Who wrote the texts. [default: {AUTHORED} for case files, {TRAFFIC} for logs and tables]",
    ),
    "reader": (
        f"--reader {'|'.join(READERS)}",
        f"What finds signals: rules and the learned reader together, or rules alone. [default: {LEARNED}]",
    ),
    "keep_text": ("--no-text", "Leave the texts out of the report."),
    "language": ("--lang CODE", "Language of texts that do not declare one. [default: auto, detected]"),
    "results": (
        "--results PATH",
        "Write results as JSON Lines (.jsonl, .jsonl.gz, .jsonl.zst) next to a small report.",
    ),
    "table": (
        "--out-table DIR",
        "Write verdicts as Parquet files next to a small report; the same command resumes an interrupted run.",
    ),
    "keep": ("--keep NAME,..", "Columns of a Parquet input to copy into the table."),
    "fresh": ("--fresh", "Discard what --out-table already holds and start over."),
    "failures_only": ("--failures-only", "Keep only failed cases and errors in the results."),
    "max_line": ("--max-line BYTES", "Longer lines are errors and are not read. [default: 16 MB]"),
    "fail_on_drift": (
        "--fail-on-drift CHECK=X",
        "Exit with 2 if second halves of conversations fail this check more often than first halves and the 95 % "
        "interval is above X (0.1: ten points); with 3 if too few conversations are long enough. Repeatable.",
    ),
    "engine": ("--engine", "Where the work runs."),
    "workers": ("--workers N", "Threads, or processes of an engine. [default: available cores]"),
}
_KINDS: dict[str, Any] = {  # click types
    "on_bad_row": click.Choice(["stop", "error"]),
    "limit": click.IntRange(min=1),
    "sample": click.IntRange(min=1),
    "seed": click.INT,
    "max_line": click.IntRange(min=1000),
    "engine": click.Choice(list(ENGINES)),
    "workers": click.IntRange(min=1),
}
_PARSE: dict[str, Callable[[Any], Any]] = {  # from the text to the value of the field
    "inputs": _inputs,
    "columns": parse_case_map,
    "checks": named_checks,
    "profile": _profile,
    "keep_text": operator.not_,
    "keep": _names,
    "fail_on_drift": _drift,
    "schema": Path,
    "out": Path,
    "results": Path,
    "table": Path,
}
# where neither an option nor a setting says it, and RunSpec has no default or another one
_OTHERWISE: dict[str, Callable[[], Any]] = {
    "inputs": lambda: [_present(DEFAULT_CASES, CASES)],
    "schema": lambda: _present(DEFAULT_SCHEMA, CASE_SCHEMA),
    "out": lambda: DEFAULT_OUT,
    "workers": available_cores,
}
_NOT_GIVEN = (None, (), "")
_ADDED = ("rules", "disabled")
_ONE_TEXT = ("checks", "keep")  # names with commas between them
_TYPES = get_type_hints(RunSpec)


def spec_options(*fields: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options of these fields, or of all; with the addresses of engines, if the engine can be chosen."""

    def attach(command: Callable[..., Any]) -> Callable[..., Any]:
        if not fields or "engine" in fields:
            command = click.option("--master", metavar="URL", help="A Spark master. [default: local]")(command)
            ray = "Address of a Ray cluster, or 'auto'. [default: start one]"
            command = click.option("--ray-address", metavar="ADDRESS", help=ray)(command)
        for field in reversed(_OPTIONS):
            command = _option(field)(command) if not fields or field in fields else command
        return command

    return attach


def _option(field: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The type of the field decides: a flag, a value, or one that can be repeated unless it takes a list at once."""
    (flag, _, metavar), text = _OPTIONS[field][0].partition(" "), _OPTIONS[field][1]
    if _TYPES[field] is bool:
        return click.option(flag, field, is_flag=True, default=None, help=text)
    repeats = get_origin(_TYPES[field]) in (tuple, dict) and field not in _ONE_TEXT
    return click.option(flag, field, type=_KINDS.get(field), multiple=repeats, metavar=metavar or None, help=text)


@click.command(
    "eval",
    cls=Command,
    epilog="Defaults can be set in synthesis.toml, or under [tool.synthesis] in pyproject.toml.",
)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@spec_options()
@format_option("csv, github, html, junit, markdown or sarif, too, next to --out")
@click.option("--no-report", is_flag=True, help="Write no JSON report; exit code, --format and --save stay the same.")
@click.option("--baseline", metavar="REPORT", help="Count only failures that are not in this earlier report.")
@click.option(
    "--min-label-accuracy",
    type=click.FloatRange(0, 100),
    metavar="PCT",
    help="Exit with 2 if label accuracy is below this.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 2 if a label is missed, a case is not assessed, or a negative example is not caught by the check "
    "that its tag names.",
)
@saving_options
@json_option
@quiet_option
def evaluate(**options: Any) -> int:
    """Evaluate cases, logs or tables, and write a report.

    FILE is the same as --cases FILE; `-` is standard input.

    Exit codes: 0 all conditions met, 1 could not run, 2 more failures than --fail-on allows or another condition
    not met, 3 a case ended in error, too few conversations to measure drift, or the run could not be saved,
    130 interrupted.
    """
    given = (*options["inputs"], *options.pop("files"))
    with Interruption() as interruption, standard_input(given) as inputs:
        copies = {Path(path): STDIN for path, name in zip(inputs, given, strict=True) if name == STDIN}
        return _evaluate({**options, "inputs": tuple(inputs)}, copies, interruption)


def _evaluate(options: dict[str, Any], names: Mapping[Path, str], interruption: Interruption) -> int:
    """`names` are what reports call some of the files."""
    from synthesis.run.files import settled
    from synthesis.settings import find_settings

    if options["no_report"] and options["out"]:
        raise OptionError("--no-report writes no report, and --out names one", hint="Drop one of the two.")
    settings = find_settings(Path.cwd())
    spec = run_spec(options, settings)
    inputs = tuple(msgspec.structs.replace(file, name=names.get(file.path, file.name)) for file in spec.inputs)
    spec = settled(msgspec.structs.replace(spec, inputs=inputs))
    artifact = ARTIFACT if os.environ.get("MCP_OUTPUT") == "json" else None
    printed = JSON if options["as_json"] else artifact
    conclusion = Conclusion.of(options, spec)
    saving = Saving.of(options, settings.values)
    if saving and saving.with_text and not spec.keep_text:
        raise OptionError("--save-text saves the texts that --no-text leaves out", hint="Choose one of the two.")
    more, shown = conclusion.is_asked_for, {"quiet": options["quiet"], "printed": printed}
    report, is_read = None if options["no_report"] else spec.out, more or saving is not None
    if is_read and spec.results and is_stream(spec.results):
        message = "--results is a pipe or a device: what is made of the results cannot read them again"
        raise OptionError(message, hint="Give a file.")
    with _report_of(spec, report, is_read=is_read) as run:
        code = perform(run, interruption, report=report, names_reason=not is_read, **shown)
        if report and run.out and run.out != report:
            _copy(run.out, report)
        written = run.out or Path()
        saved = saving is None or saving.save_report(written, quiet=options["quiet"], to_stderr=printed is not None)
        return conclusion.draw(written, spec, saved=saved, **shown) if is_read else code


@contextmanager
def _report_of(spec: RunSpec, report: Path | None, *, is_read: bool) -> Iterator[RunSpec]:
    """The run with a report of its own where one is read after it and the user's cannot be: none, a pipe, a device."""
    if report is not None and not (is_read and is_stream(report)):
        yield spec
    elif is_read or spec.results:
        with TemporaryDirectory(prefix="synthesis-") as folder:
            yield msgspec.structs.replace(spec, out=Path(folder) / "report.json")
    else:
        yield msgspec.structs.replace(spec, out=None, keep_results=False)


def _copy(written: Path, report: Path) -> None:
    with written.open("rb") as source, replaced(report) as file:
        shutil.copyfileobj(source, file)


# One exchange


@click.command("check", cls=Command)
@click.argument("user")
@click.argument("reply")
@spec_options("checks", "language", "rules", "disabled", "reader")
@click.option("--explain", is_flag=True, help="Show the steps by which each check decided.")
@json_option
@quiet_option
def check(user: str, reply: str, **options: Any) -> int:
    """Check one exchange: what a person wrote, and the reply.

    `-` in place of USER or REPLY is standard input, which keeps a text out of the history of your shell. Judged as
    traffic, by all checks unless --checks names some. Exit codes: 0 nothing failed, 1 could not run, 2 a check failed,
    3 a check ended in error.
    """
    from synthesis.checks.registry import rules_in_force
    from synthesis.settings import DEFAULT_CHECKS, find_settings
    from synthesis.verdict import ReplyEvaluator

    settings = find_settings(Path.cwd()).values
    spec = RunSpec(  # OptionError for a language or a check that does not exist
        inputs=(),
        checks=options["checks"] or settings.get("checks", DEFAULT_CHECKS),
        language=options["language"] or settings.get("lang"),
        rules=(*settings.get("rules", ()), *options["rules"]),
        disabled=(*settings.get("disable", ()), *options["disabled"]),
        reader=options["reader"] or settings.get("reader", LEARNED),
    )
    rules = rules_in_force(spec.rules, spec.disabled, spec.reader)
    evaluator = ReplyEvaluator(spec.checks, rules=rules, lang=spec.language)
    verdict = evaluator.reply(*_texts(user, reply), explain=options["explain"])
    if options["as_json"]:
        print_json(verdict.to_dict())
    elif not options["quiet"]:
        print_lines(verdict_lines(verdict, rules))
        print_lines(explained_lines(verdict.explained), hang=4)
    return {FAIL: ExitCode.UNMET, ERROR: ExitCode.INCOMPLETE}.get(verdict.outcome, ExitCode.OK)


def _texts(user: str, reply: str) -> tuple[str, str]:
    if user == reply == STDIN:
        raise OptionError("standard input (-) can be read only once", hint="Give one of the two texts as an argument.")
    if not user.strip() and not reply.strip():
        raise OptionError("there is nothing to check: both texts are empty", hint="Give what was said and the reply.")
    if STDIN not in (user, reply):
        return user, reply
    text = sys.stdin.buffer.read().decode(errors="replace").rstrip("\n")
    return (text, reply) if user == STDIN else (user, text)


# What holds where no option says otherwise

DEFAULT = "default"


@click.command("config", cls=Command)
@json_option
def config(as_json: bool) -> int:
    """Show which settings hold, and where each comes from.

    They are read from synthesis.toml, and from [tool.synthesis] in pyproject.toml, in the nearest folder upward that
    has one of them. Options override the environment, which overrides the files.
    """
    from synthesis.settings import KEYS, find_settings

    settings = find_settings(Path.cwd())
    rows = [_setting(key, settings) for key in KEYS]
    if as_json:
        print_json({"files": settings.files, "settings": {row.pop("key"): row for row in rows}})
        return ExitCode.OK
    print_lines(_setting_lines(rows, settings.files), hang=4)
    return ExitCode.OK


def _setting_lines(rows: Sequence[Mapping[str, Any]], files: Sequence[str]) -> Iterator[str]:
    width = max(len(row["key"]) for row in rows)
    room = max(len(row["default"]) for row in rows)
    yield ", ".join(safe(os.path.relpath(file)) for file in files) or "No settings file; the defaults hold."
    for row in rows:
        value = row["default"] if row["from"] == DEFAULT else _written(row["value"])
        yield f"  {row['key']:<{width}}  {safe(value):<{room}}  {click.style(safe(row['from']), dim=True)}"


def _setting(key: str, settings: Settings) -> dict[str, Any]:
    """A setting as it holds: its value, None by default, where that is from, and the default in words."""
    default = _default_of(key)
    variable = "SYNTHESIS_HISTORY" if key == "history" else ""
    if os.environ.get(variable):
        return {"key": key, "value": os.environ[variable], "from": f"environment, {variable}", "default": default}
    place = settings.places.get(key)
    origin = DEFAULT if place is None else str(dataclasses.replace(place, file=os.path.relpath(place.file)))
    return {"key": key, "value": settings.values.get(key), "from": origin, "default": default}


def _default_of(key: str) -> str:
    """The default that the help of the option names; of a flag and of a list there is none to name."""
    option = next(option for option in evaluate.params if f"--{key}" in option.opts)
    found = re.search(r"\[default: (.*)\]", getattr(option, "help", None) or "")
    return found[1] if found else "false" if getattr(option, "is_flag", False) else "none"


def _written(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
