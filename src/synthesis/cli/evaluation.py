"""What `synthesis eval` does once its options are read."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import msgspec

from synthesis.cases.blocks import STDIN
from synthesis.checks.registry import rules_in_force
from synthesis.cli import exits
from synthesis.cli.console import summary_lines, warning_lines
from synthesis.cli.progress import progress_bar
from synthesis.cli.request import Request, shown_path
from synthesis.engines.crews import start_crew
from synthesis.engines.resuming import ResumingCrew, table_conditions
from synthesis.errors import OptionError, OutputError, Place
from synthesis.model.report import Report
from synthesis.report.parts import join_report, join_results, results_suffix
from synthesis.report.plain import percent
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.manifest import Manifest
from synthesis.runner.run import run_conditions
from synthesis.runner.stream import CaseFile, Outcome, Progress, run_files, useful_workers, with_chosen
from synthesis.runner.work import WorkOrder


def perform(request: Request, *, as_artifact: bool, quiet: bool) -> int:
    """Load, evaluate, write, show; the exit code of it all."""
    _refuse_to_overwrite(request)
    request.table.require_apart_from(request.cases)
    files = [CaseFile(path, shown_path(path)) for path in request.cases]
    rules = rules_in_force(request.folders, request.disabled)
    with TemporaryDirectory(prefix=".synthesis-", dir=_existing(request.out.parent)) as parts:
        order = _order(request, Path(parts), files)
        with progress_bar(enabled=not quiet and not as_artifact) as progress:
            outcome = _run(request, files, order, rules, progress)
        _require_matches(request, outcome)
        header = _header(request, outcome, rules)
        if request.results:
            join_results(Path(parts), outcome.parts, request.results)
        join_report(header, Path(parts), outcome.parts, request.out)
    if not quiet:
        _show(outcome, header["summary"], request, rules, to_stderr=as_artifact)
    if as_artifact:
        click.echo(msgspec.json.encode(artifact(header["summary"], request.out)).decode())
    return exit_code(header["summary"], request.fail_on)


def _run(
    request: Request, files: Sequence[CaseFile], order: WorkOrder, rules: RuleSet, progress: Progress | None
) -> Outcome:
    """On the engine that was asked for; for a table only what is not yet finished of it."""
    manifest: Manifest | None = None
    if order.table:
        manifest = Manifest(Path(order.table), table_conditions(order, rules, request.most_line))
        manifest.open([file.shown for file in files], fresh=request.table.fresh)
        order = msgspec.structs.replace(order, run=manifest.run)
    workers = useful_workers(files, request.workers)
    with start_crew(request.engine, order, workers=workers, rules=rules) as hands:
        crew = ResumingCrew(hands, manifest) if manifest else hands
        outcome = run_files(files, order, crew, most_line=request.most_line, progress=progress)
    if manifest:
        manifest.finish()
    return outcome


def artifact(summary: dict[str, Any], path: Path) -> dict[str, Any]:
    """The one object that MCP_OUTPUT=json prints."""
    shown = {key: summary[key] for key in ("cases", "passed", "failed", "expected_failures", "unexpected_failures")}
    accuracy = summary.get("label_accuracy")
    shown["pass_rate"] = f"{percent(summary['passed'], summary['cases'])}%"
    shown["label_accuracy"] = f"{accuracy['accuracy']}%" if accuracy else "n/a"
    return {"type": "artifact", "name": "synthesis-report", "path": str(path), "summary": shown}


def _order(request: Request, parts: Path, files: Sequence[CaseFile]) -> WorkOrder:
    order = WorkOrder(
        parts=str(parts),
        table=str(request.table.folder or ""),
        keep=request.table.keep,
        results_suffix=results_suffix(request.results) if request.results else "",
        schema=str(request.schema),
        folders=request.folders,
        disabled=request.disabled,
        profile=request.profile,
        language=request.language,
        keep_text=request.keep_text and not request.table.folder,
        failures_only=request.failures_only,
        filters=request.filters,
        rows=request.rows,
    )
    if not request.filters.choose:
        return order
    if any(str(file.path) == STDIN for file in files):
        raise OptionError(
            "--limit and --sample need a file: standard input cannot be read twice", hint="Save it first."
        )
    return msgspec.structs.replace(order, filters=with_chosen(request.filters, files, order, request.most_line))


def _show(outcome: Outcome, summary: dict[str, Any], request: Request, rules: RuleSet, *, to_stderr: bool) -> None:
    colours = False if "NO_COLOR" in os.environ else None
    stream = sys.stderr if to_stderr else sys.stdout
    results = request.results or request.table.folder
    lines = [
        *warning_lines(outcome.warnings, outcome.warned),
        *summary_lines(summary, outcome.examples, rules),
        f"Report: {request.out}" + (f", results: {results}" if results else ""),
    ]
    for line in lines:
        click.echo(line, file=stream, color=colours)


def _header(request: Request, outcome: Outcome, rules: RuleSet) -> dict[str, Any]:
    conditions = {
        **run_conditions(rules, request.profile),
        "input": {"files": [shown_path(path) for path in request.cases], "sha256": outcome.input_hash},
        "options": {
            "schema": shown_path(request.schema),
            "fail_on": request.fail_on,
            "filters": msgspec.to_builtins(request.filters),
            "language": request.language or "auto",
            "failures_only": request.failures_only,
            "rules": list(request.folders),
            "disable": list(request.disabled),
            **request.rows.shown(),
            **({"keep": list(request.table.keep)} if request.table.keep else {}),
            "settings": [Path(os.path.relpath(file)).as_posix() for file in request.settings_files],
        },
    }
    header = Report(conditions, outcome.tally.to_dict(), (), (), tuple(outcome.warnings)).header()
    for name, place in (("results_file", request.results), ("results_table", request.table.folder)):
        if place:
            header[name] = Path(os.path.relpath(place, request.out.parent)).as_posix()
    return header


def _require_matches(request: Request, outcome: Outcome) -> None:
    """An id that is not there, or filters that leave nothing, are a mistake and not an empty success."""
    wanted = set(request.filters.ids)
    if not outcome.tally.cases or (outcome.tally.cases < len(wanted) and not request.filters.choose):
        what = f"not every id has a case (wanted: {', '.join(sorted(wanted))})" if wanted else "no case is left"
        raise OptionError(f"{what} after the filters", hint="Check --tag, --id, --check and --limit.")


def _existing(folder: Path) -> Path:
    """A folder for the part files: on the same disk as the report."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot be written: {error.strerror}", place=Place(str(folder)), hint="Choose another path with --out."
        ) from None
    return folder


def _refuse_to_overwrite(request: Request) -> None:
    """No output may take the place of an input, or of another output."""
    inputs = [*(("--cases", path) for path in request.cases), ("--schema", request.schema)]
    outputs = [("--out", request.out), *([("--results", request.results)] if request.results else [])]
    for option, path in outputs:
        for kind, taken in inputs:
            if taken.exists() and path.exists() and taken.samefile(path):
                raise OptionError(f"{option} and {kind} are the same file ({path})", hint=f"Choose another {option}.")
    if request.results and request.results.resolve() == request.out.resolve():
        raise OptionError(f"--out and --results are the same file ({request.out})", hint="Choose another --results.")


def exit_code(summary: dict[str, Any], allowed: int) -> int:
    """Incomplete outranks unmet."""
    if summary["errors"]:
        return exits.INCOMPLETE
    return exits.UNMET if summary["unexpected_failures"] > allowed else exits.OK
