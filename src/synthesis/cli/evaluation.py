"""What `synthesis eval` does once its options are read."""

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from synthesis import bundled
from synthesis.cases.jsonl import read_bytes
from synthesis.cases.schema import CaseValidator
from synthesis.checks.registry import checks, get_check, rules_in_force
from synthesis.cli.case_files import RowOptions, read_cases
from synthesis.cli.console import summary_lines
from synthesis.cli.evaluate import DEFAULT_CASES, DEFAULT_OUT, DEFAULT_SCHEMA, exit_code
from synthesis.errors import OptionError
from synthesis.model.report import Report
from synthesis.report.files import write_report
from synthesis.runner.filters import Filters
from synthesis.runner.kernel import Kernel
from synthesis.runner.run import run_cases
from synthesis.runner.tally import percent
from synthesis.settings import Settings

BUNDLED = "bundled:all"


class Request(msgspec.Struct, frozen=True):
    """Everything a run depends on, options and settings already weighed against each other."""

    cases: tuple[Path, ...]
    schema: Path
    out: Path
    fail_on: int
    filters: Filters
    folders: tuple[str, ...]
    disabled: tuple[str, ...]
    profile: str
    keep_text: bool
    rows: RowOptions
    settings_files: tuple[str, ...]

    @classmethod
    def of(cls, options: dict[str, Any], settings: Settings) -> "Request":
        """Options override settings, settings override defaults; lists of rules add up."""
        values = settings.values
        return cls(
            cases=tuple(_case_files(options["cases"] or values.get("cases") or ())),
            schema=Path(options["schema"] or values.get("schema") or _present(DEFAULT_SCHEMA, bundled.CASE_SCHEMA)),
            out=Path(options["out"] or values.get("out") or DEFAULT_OUT),
            fail_on=_first(options["fail_on"], values.get("fail-on"), 0),
            filters=Filters(
                options["tags"],
                options["ids"],
                _known(options["only"]),
                options["sample"],
                options["seed"],
                options["limit"],
            ),
            folders=(*values.get("rules", ()), *options["folders"]),
            disabled=(*values.get("disable", ()), *options["disable"]),
            profile=options["profile"] or values.get("profile") or "default",
            keep_text=not _first(options["no_text"], values.get("no-text"), False),
            rows=RowOptions.of(options, values),
            settings_files=settings.files,
        )


def perform(request: Request, *, as_artifact: bool, quiet: bool) -> int:
    """Load, evaluate, write, show; the exit code of it all."""
    _refuse_to_overwrite(request)
    validator = CaseValidator(checks(), request.schema)
    kernel = Kernel(
        rules_in_force(request.folders, request.disabled),
        profile=request.profile,
        keep_text=request.keep_text,
    )
    loaded = [case for path in request.cases for case in read_cases(path, validator, _shown(path), request.rows)]
    chosen = request.filters.apply(loaded)
    request.filters.require_matches(chosen, (case.id for case in loaded))
    report = run_cases(chosen, kernel, _conditions(request))
    write_report(report, request.out)
    if not quiet:
        _show(report, kernel, request.out, to_stderr=as_artifact)
    if as_artifact:
        click.echo(msgspec.json.encode(artifact(report, request.out)).decode())
    return exit_code(report.summary, request.fail_on)


def artifact(report: Report, path: Path) -> dict[str, Any]:
    """The one object that MCP_OUTPUT=json prints."""
    summary = report.summary
    shown = {key: summary[key] for key in ("cases", "passed", "failed", "expected_failures", "unexpected_failures")}
    accuracy = summary.get("label_accuracy")
    shown["pass_rate"] = f"{percent(summary['passed'], summary['cases'])}%"
    shown["label_accuracy"] = f"{accuracy['accuracy']}%" if accuracy else "n/a"
    return {"type": "artifact", "name": "synthesis-report", "path": str(path), "summary": shown}


def _show(report: Report, kernel: Kernel, out: Path, *, to_stderr: bool) -> None:
    colours = False if "NO_COLOR" in os.environ else None
    stream = sys.stderr if to_stderr else sys.stdout
    for line in (*summary_lines(report, kernel.rules), f"Report: {out}"):
        click.echo(line, file=stream, color=colours)


def _conditions(request: Request) -> dict[str, Any]:
    digest = hashlib.sha256()
    for path in request.cases:
        digest.update(read_bytes(path))
    return {
        "input": {"files": [_shown(path) for path in request.cases], "sha256": digest.hexdigest()},
        "options": {
            "schema": _shown(request.schema),
            "fail_on": request.fail_on,
            "filters": msgspec.to_builtins(request.filters),
            "rules": list(request.folders),
            "disable": list(request.disabled),
            **request.rows.shown(),
            "settings": [Path(os.path.relpath(file)).as_posix() for file in request.settings_files],
        },
    }


def _shown(path: Path) -> str:
    """A path as a reader of the report can use it; the bundled files lie elsewhere on every machine."""
    if path.is_absolute() and path.is_relative_to(bundled.ROOT):
        return f"bundled:{path.relative_to(bundled.ROOT).as_posix()}"
    return path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else path.as_posix()


def _case_files(given: tuple[str, ...] | list[str]) -> list[Path]:
    if not given:
        return [_present(DEFAULT_CASES, bundled.CASES)]
    return [path for name in given for path in _expanded(name)]


def _expanded(name: str) -> list[Path]:
    """A file, all case files of a folder, or `bundled:all`."""
    if name == BUNDLED:
        return sorted(bundled.CASES.parent.glob("evals*.jsonl"))
    path = Path(name)
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.jsonl"))
    if not files:
        raise OptionError(f"the folder {name} holds no .jsonl files", hint="Give a case file, or a folder with some.")
    return files


def _present(local: str, otherwise: Path) -> Path:
    return Path(local) if Path(local).is_file() else otherwise


def _known(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(get_check(name).name for name in names)


def _first(*values: Any) -> Any:
    return next(value for value in values if value is not None)


def _refuse_to_overwrite(request: Request) -> None:
    for kind, path in [*(("--cases", path) for path in request.cases), ("--schema", request.schema)]:
        if path.exists() and request.out.exists() and path.samefile(request.out):
            raise OptionError(
                f"--out and {kind} are the same file ({request.out})", hint="Choose another path with --out."
            )
