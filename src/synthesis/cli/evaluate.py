"""`synthesis eval`, which is also the bare `synthesis`: options become a RunSpec, and its outcome is shown."""

import glob
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from synthesis.checks.registry import get_check, named_checks
from synthesis.cli import exits
from synthesis.cli.console import summary_lines, warning_lines
from synthesis.cli.history import Saving, saving_options
from synthesis.cli.interruption import Interruption
from synthesis.cli.progress import progress
from synthesis.cli.terminal import print_lines, warn
from synthesis.errors import OptionError
from synthesis.io import CASE_SCHEMA, CASES
from synthesis.model.report import percent
from synthesis.printable import safe
from synthesis.read.inputs import Input
from synthesis.read.mapping import parse_case_map
from synthesis.run.engines import ENGINES, LOCAL, RAY, SPARK
from synthesis.run.files import RunOutcome, available_cores, evaluate_files
from synthesis.run.spec import RunSpec
from synthesis.settings import AUTHORED, FORMER_PROFILES, PROFILES, TRAFFIC, Settings

DEFAULT_CASES = "data/evals.jsonl"
DEFAULT_SCHEMA = "schemas/eval_case.schema.json"
DEFAULT_OUT = "out/report.json"
BUNDLED = "bundled:all"


def perform(
    spec: RunSpec, interruption: Interruption, *, as_artifact: bool, quiet: bool, names_reason: bool = True
) -> int:
    """Evaluate, write, show; returns the exit code. Names its reason unless more conditions follow."""
    interruption.begin(spec)
    with progress("cases", enabled=not quiet and not as_artifact) as note:
        outcome = evaluate_files(spec, progress=interruption.counting(note))
    interruption.written()
    summary = outcome.report.summary
    if not quiet:
        _show(outcome, spec, to_stderr=as_artifact)
        _name_leftovers(outcome.leftovers)
        if outcome.declined:
            texts = "1 text" if outcome.declined == 1 else f"{outcome.declined:,} texts"
            click.echo(f"note: the compiled reader left {texts} to Python.", err=True)
    if as_artifact:
        click.echo(msgspec.json.encode(artifact(summary, spec.out or Path())).decode())
    unmet = exits.too_many_failures(summary, spec.fail_on)
    if unmet and names_reason and not quiet:
        warn(f"not met: {unmet}", colour="red")
    return exits.exit_code(summary, unmet=bool(unmet))


def artifact(summary: dict[str, Any], path: Path) -> dict[str, Any]:
    """The one object that MCP_OUTPUT=json prints."""
    shown = {key: summary[key] for key in ("cases", "passed", "failed", "expected_failures", "unexpected_failures")}
    accuracy = summary.get("label_accuracy")
    shown["pass_rate"] = f"{percent(summary['passed'], summary['cases'])}%"
    shown["label_accuracy"] = f"{accuracy['accuracy']}%" if accuracy else "n/a"
    return {"type": "artifact", "name": "synthesis-report", "path": str(path), "summary": shown}


def _show(outcome: RunOutcome, spec: RunSpec, *, to_stderr: bool) -> None:
    results = spec.results or spec.table
    lines = [
        *warning_lines(outcome.report.warnings, outcome.warned),
        *summary_lines(outcome.report.summary, outcome.examples, outcome.rules),
        f"Report: {safe(str(spec.out))}" + (f", results: {safe(str(results))}" if results else ""),
    ]
    print_lines(lines, err=to_stderr)


def _name_leftovers(paths: Sequence[str]) -> None:
    for path in paths:
        click.echo(
            f"note: {safe(path)} was left by a run on another host or by version 0.1. Delete it when that run is over.",
            err=True,
        )


def run_spec(options: Mapping[str, Any], settings: Settings) -> RunSpec:
    """Options override settings, settings override defaults; lists of rules add up."""
    values = settings.values
    columns = options["columns"] or values.get("map") or ()
    return RunSpec(
        inputs=tuple(map(Input.of, _case_files(options["cases"] or values.get("cases") or ()))),
        schema=Path(options["schema"] or values.get("schema") or _present(DEFAULT_SCHEMA, CASE_SCHEMA)),
        checks=named_checks(options["checks"] or values.get("checks") or ""),
        columns=parse_case_map(columns),
        sort=options["sort"],
        on_bad_row=options["on_bad_row"] or values.get("on-bad-row"),
        tags=options["tags"],
        ids=options["ids"],
        only=options["only"],
        sample=options["sample"],
        seed=options["seed"],
        limit=options["limit"],
        profile=_profile(options["profile"] or values.get("profile")),
        language=options["lang"] or values.get("lang"),
        rules=(*values.get("rules", ()), *options["folders"]),
        disabled=(*values.get("disable", ()), *options["disable"]),
        max_line=options["max_line"],
        out=Path(options["out"] or values.get("out") or DEFAULT_OUT),
        results=Path(options["results"]) if options["results"] else None,
        table=_table(options["out_table"]),
        keep=tuple(_names(options["keep"])),
        fresh=options["fresh"],
        failures_only=options["failures_only"],
        keep_text=not _first(options["no_text"], values.get("no-text"), False),
        engine=options["engine"],
        address=engine_address(options),
        workers=options["workers"] or available_cores(),
        fail_on=_first(options["fail_on"], values.get("fail-on"), 0),
        fail_on_drift=_drift(options["fail_on_drift"]),
        settings=settings.files,
    )


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


def _profile(name: str | None) -> str | None:
    """The named profile; a name from version 0.1 gets a note."""
    if name in FORMER_PROFILES:
        click.echo(f"note: the profile '{name}' is now called '{FORMER_PROFILES[name]}'", err=True)
    return name


def _case_files(given: tuple[str, ...] | list[str]) -> list[Path]:
    if "" in given:
        raise OptionError("--cases is empty", hint="Give a file, a folder, or leave the option out.")
    if not given:
        return [_present(DEFAULT_CASES, CASES)]
    return [path for name in given for path in _expanded(name)]


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


def _names(text: str | None) -> list[str]:
    names = (name.strip() for name in (text or "").split(","))
    return list(dict.fromkeys(name for name in names if name))


def _table(folder: str | None) -> Path | None:
    if folder == "":
        raise OptionError("--out-table is empty", hint="Give the path of a folder; it is created.")
    return Path(folder) if folder else None


def engine_address(options: Mapping[str, Any]) -> str | None:
    """The address of the engine; each engine has its own option for it."""
    for engine, option, name in ((RAY, "--ray-address", "ray_address"), (SPARK, "--master", "master")):
        if options[name] is not None and options["engine"] != engine:
            raise OptionError(f"{option} needs --engine {engine}", hint=f"Give --engine {engine} as well.")
    address: str | None = options["ray_address"] or options["master"]
    return address


def _present(local: str, otherwise: Path) -> Path:
    return Path(local) if Path(local).is_file() else otherwise


def _first(*values: Any) -> Any:
    return next(value for value in values if value is not None)


@click.command("eval", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option(
    "--cases",
    multiple=True,
    metavar="PATH",
    help="JSONL cases, a chat log or a table. [default: data/evals.jsonl, else the bundled cases]",
)
@click.option(
    "--map",
    "columns",
    multiple=True,
    metavar="FIELD=NAME,..",
    help="Where a log has its fields: user=prompt,assistant=choices[0].text; "
    "for one message a row conversation=chat,role=sender,text=body.",
)
@click.option("--sort", is_flag=True, help="Group rows by conversation first, on disk; rows keep their order.")
@click.option(
    "--checks",
    metavar="NAME,..",
    help="Checks to run, whatever the cases name: a list, 'all', or 'all,-flattery' for all but one. "
    "[default: as named, else the first three]",
)
@click.option(
    "--on-bad-row",
    type=click.Choice(["stop", "error"]),
    help="Stop at a bad row, or count it as an error. [default: stop for cases, error for logs]",
)
@click.option(
    "--schema",
    metavar="PATH",
    help="JSON schema. [default: schemas/eval_case.schema.json, else the bundled one]",
)
@click.option("--out", metavar="PATH", help="JSON report. [default: out/report.json]")
@click.option(
    "--fail-on",
    type=click.IntRange(min=0),
    metavar="N",
    help="Unexpected failures allowed before exit code 2. [default: 0]",
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only cases with this tag; repeatable.")
@click.option("--id", "ids", multiple=True, metavar="ID", help="Only the case with this id; repeatable.")
@click.option("--check", "only", multiple=True, metavar="NAME", help="Only this check; repeatable.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N cases.")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="A random sample of N cases.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="Seed of the sample.")
@click.option("--rules", "folders", multiple=True, metavar="DIR", help="Folder with extra rule packs; repeatable.")
@click.option("--disable", multiple=True, metavar="RULE", help="Disable the rule with this id; repeatable.")
@click.option(
    "--profile",
    metavar="|".join(PROFILES),
    help=f"Who wrote the texts. [default: {AUTHORED} for case files, {TRAFFIC} for logs and tables]",
)
@click.option("--no-text", is_flag=True, default=None, help="Leave the texts out of the report.")
@click.option("--lang", metavar="CODE", help="Language of cases that do not declare one. [default: auto, detected]")
@click.option(
    "--results",
    metavar="PATH",
    help="Write results as JSON Lines (.jsonl, .jsonl.gz, .jsonl.zst) next to a small report.",
)
@click.option(
    "--out-table",
    metavar="DIR",
    help="Write verdicts as Parquet files next to a small report; the same command resumes an interrupted run.",
)
@click.option("--keep", metavar="NAME,..", help="Columns of a Parquet input to copy into the table.")
@click.option("--fresh", is_flag=True, help="Discard what --out-table already holds and start over.")
@click.option("--engine", type=click.Choice(list(ENGINES)), default=LOCAL, help="Where the work runs.")
@click.option("--ray-address", metavar="ADDRESS", help="Address of a Ray cluster, or 'auto'. [default: start one]")
@click.option("--master", metavar="URL", help="A Spark master. [default: local]")
@click.option("--failures-only", is_flag=True, help="Keep only failed cases and errors in the results.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Worker processes. [default: available cores]")
@click.option(
    "--max-line",
    type=click.IntRange(min=1000),
    default=16 << 20,
    metavar="BYTES",
    help="Longer lines are errors and are not read. [default: 16 MB]",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="F[=PATH]",
    help="Also write the report as csv, github, html, junit, markdown or sarif; repeatable. [default: next to --out]",
)
@click.option("--baseline", metavar="REPORT", help="Count only failures that are not in this earlier report.")
@click.option(
    "--min-label-accuracy",
    type=click.FloatRange(0, 100),
    metavar="PCT",
    help="Exit with 2 if label accuracy is below this.",
)
@click.option(
    "--fail-on-drift",
    multiple=True,
    metavar="CHECK=X",
    help="Exit with 2 if second halves of conversations fail this check more often than first halves and the 95 % "
    "interval is above X (0.1: ten points); with 3 if too few conversations are long enough. Repeatable.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 2 if a label is missed, a case is not assessed, or a negative example is not caught by the check "
    "that its tag names.",
)
@saving_options
@click.option("--quiet", "-q", is_flag=True, help="Print errors only.")
def evaluate(**options: Any) -> int:
    """Evaluate cases and write a report. FILE is the same as --cases FILE.

    Exit codes: 0 all conditions met, 1 could not run, 2 more unexpected failures than --fail-on or another condition
    not met, 3 a case ended in error, too few conversations to measure drift, or the run could not be saved,
    130 interrupted.
    """
    from synthesis.cli.interruption import Interruption

    with Interruption() as interruption:
        return _evaluate(options, interruption)


def _evaluate(options: dict[str, Any], interruption: "Interruption") -> int:
    from synthesis.cli.gates import Conclusion
    from synthesis.run.files import settled
    from synthesis.settings import find_settings

    options["cases"] += options.pop("files")
    settings = find_settings(Path.cwd())
    spec = settled(run_spec(options, settings))
    as_artifact = os.environ.get("MCP_OUTPUT") == "json"
    conclusion = Conclusion.of(options, spec)
    saving = Saving.of(options, settings.values)
    if saving and saving.with_text and not spec.keep_text:
        raise OptionError("--save-text saves the texts that --no-text leaves out", hint="Choose one of the two.")
    more = conclusion.is_asked_for
    code = perform(spec, interruption, as_artifact=as_artifact, quiet=options["quiet"], names_reason=not more)
    saved = saving is None or saving.save_report(conclusion.report, quiet=options["quiet"], to_stderr=as_artifact)
    if more:
        code = conclusion.draw(spec, quiet=options["quiet"], as_artifact=as_artifact)
    return code if saved else exits.INCOMPLETE
