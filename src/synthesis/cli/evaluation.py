"""What `synthesis eval` does: options, settings and defaults become a RunSpec, and its outcome is shown."""

import glob
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from synthesis import io
from synthesis.checks.registry import checks, get_check
from synthesis.cli import exits
from synthesis.cli.console import summary_lines, warning_lines
from synthesis.cli.interruption import Interruption
from synthesis.cli.progress import progress
from synthesis.cli.terminal import print_lines, safe, warn
from synthesis.errors import OptionError, did_you_mean
from synthesis.model.report import percent
from synthesis.read.rows import parse_map
from synthesis.run.engines import RAY, SPARK
from synthesis.run.files import RunOutcome, available_cores, evaluate_files
from synthesis.run.spec import InputFile, RunSpec
from synthesis.settings import FORMER_PROFILES, Settings

DEFAULT_CASES = "data/evals.jsonl"
DEFAULT_SCHEMA = "schemas/eval_case.schema.json"
DEFAULT_OUT = "out/report.json"
BUNDLED = "bundled:all"


def perform(
    spec: RunSpec, interruption: Interruption, *, as_artifact: bool, quiet: bool, names_reason: bool = True
) -> int:
    """Evaluate, write, show; the exit code of it all. Its reason is named unless further conditions follow."""
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
            f"note: {safe(path)} was left by a run on another host, or of version 0.1. Delete it if that run is over.",
            err=True,
        )


def run_spec(options: Mapping[str, Any], settings: Settings) -> RunSpec:
    """Options override settings, settings override defaults; lists of rules add up."""
    values = settings.values
    columns = options["columns"] or values.get("map")
    return RunSpec(
        inputs=tuple(map(InputFile.of, _case_files(options["cases"] or values.get("cases") or ()))),
        schema=Path(options["schema"] or values.get("schema") or _present(DEFAULT_SCHEMA, io.CASE_SCHEMA)),
        checks=parse_checks(options["checks"] or values.get("checks")),
        columns=parse_map(columns) if columns else {},
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
    """The profile that was named; a name of version 0.1 is told once what it is called now."""
    if name in FORMER_PROFILES:
        click.echo(f"note: the profile '{name}' is called '{FORMER_PROFILES[name]}' now", err=True)
    return name


def _case_files(given: tuple[str, ...] | list[str]) -> list[Path]:
    if "" in given:
        raise OptionError("--cases is empty", hint="Give a file, a folder, or leave the option out.")
    if not given:
        return [_present(DEFAULT_CASES, io.CASES)]
    return [path for name in given for path in _expanded(name)]


def _expanded(name: str) -> list[Path]:
    """A file, all case files of a folder, the files that a pattern matches, or `bundled:all`."""
    if name == BUNDLED:
        return sorted(io.CASES.parent.glob("evals*.jsonl"))
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


def parse_checks(text: str | None) -> tuple[str, ...]:
    if not text:
        return ()
    names = _names(text)
    left_out = {get_check(name[1:]).name for name in names if name.startswith("-")}
    named = [name for name in names if not name.startswith("-")]
    if left_out and not named:
        raise OptionError("--checks only leaves checks out", hint=f"Say what of: --checks all,{','.join(names)}")
    asked = tuple(checks()) if "all" in named else tuple(get_check(name).name for name in named)
    known = tuple(name for name in asked if name not in left_out)
    if not known:
        raise OptionError("--checks names no check", hint=did_you_mean("", checks()))
    return known


def _names(text: str | None) -> list[str]:
    names = (name.strip() for name in (text or "").split(","))
    return list(dict.fromkeys(name for name in names if name))


def _table(folder: str | None) -> Path | None:
    if folder == "":
        raise OptionError("--out-table is not a folder", hint="Give the path of a folder, which will be made.")
    return Path(folder) if folder else None


def engine_address(options: Mapping[str, Any]) -> str | None:
    """Where the engine is; each engine has its own word for that."""
    for engine, option, name in ((RAY, "--ray-address", "ray_address"), (SPARK, "--master", "master")):
        if options[name] is not None and options["engine"] != engine:
            raise OptionError(f"{option} needs --engine {engine}", hint=f"Give --engine {engine} as well.")
    address: str | None = options["ray_address"] or options["master"]
    return address


def _present(local: str, otherwise: Path) -> Path:
    return Path(local) if Path(local).is_file() else otherwise


def _first(*values: Any) -> Any:
    return next(value for value in values if value is not None)
