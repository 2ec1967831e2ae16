"""A whole run over files, from the specification to the written report."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from synthesis.checks.registry import rules_in_force
from synthesis.checks.similarity import DEFAULT_NAME, adapter_name
from synthesis.engines.base import LOCAL, Engine, start_engine
from synthesis.errors import OptionError
from synthesis.model import CaseResult
from synthesis.model.report import Report
from synthesis.read.formats import completed_columns, is_log
from synthesis.read.rows import CONVERSATION
from synthesis.report.parts import join_report, join_results
from synthesis.report.table import TABLE_VERSION
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.block import BlockResult, BlockTask, RunPlan
from synthesis.runner.leftovers import WorkFolder, output_folders, sweep, sweep_table
from synthesis.runner.manifest import Manifest, ResumingEngine
from synthesis.runner.run import failures_of, run_conditions
from synthesis.runner.selection import chosen_places
from synthesis.runner.spec import RunSpec
from synthesis.runner.stream import Progress, StreamTotals, run_blocks, useful_workers
from synthesis.runner.table import make_worker
from synthesis.settings import AUTHORED, TRAFFIC


class RunOutcome(msgspec.Struct, frozen=True):
    """The report of a run, and what a summary of it shows. The results are in the report if no file was asked for."""

    report: Report
    rules: RuleSet
    examples: tuple[CaseResult, ...]  # the first failures of each kind, and the first errors
    warned: int  # how many warnings there were; the report holds the first
    # Who read the texts, and how many the compiled reader left to Python. Not in the report, whose bytes are the same
    # whoever read them.
    reader: str
    declined: int
    leftovers: tuple[str, ...] = ()  # beside the output, of other hosts or of version 0.1, which nobody may remove


def evaluate_files(
    spec: RunSpec, *, progress: Progress | None = None, rules: RuleSet | None = None, block_size: int | None = None
) -> RunOutcome:
    """Do everything that the specification asks for.

    `rules` are those that it names, where they are already loaded. Smaller blocks report progress more often.
    """
    spec = settled(spec)
    _refuse_to_overwrite(spec)
    _require_portable_similarity(spec)
    loaded = rules_in_force(spec.rules, spec.disabled) if rules is None else rules
    left = sweep(output_folders((spec.out, spec.results)))
    # Beside the output: on the same disk, and visible to the workers of a cluster.
    with WorkFolder(next(output_folders((spec.out, spec.table)), None)) as folder:
        plan = RunPlan(spec, str(folder), chosen_places(spec))
        totals = _run(plan, loaded, progress, block_size)
        _require_matches(spec, totals)
        report = _report(spec, totals, loaded)
        _write(report, spec, folder, totals.blocks)
    left += sweep_table(spec.table) if spec.table else []
    reader = loaded.reader.name
    return RunOutcome(report, loaded, tuple(totals.examples), totals.warned, reader, totals.declined, tuple(left))


def settled(spec: RunSpec) -> RunSpec:
    """The run with what its files say and it leaves open: the columns of messages, and the profile."""
    return _with_profile(_with_columns(spec))


def _with_columns(spec: RunSpec) -> RunSpec:
    """With the columns that a message per row is in, which many exports call alike."""
    read = (completed_columns(file.path, spec.columns, spec.max_line) for file in spec.inputs)
    found = [columns for columns in read if columns is not None]
    if any(columns != found[0] for columns in found):
        raise OptionError(
            "some of the files have a row for each message, in columns that others do not have",
            hint="Name the columns with --map, or evaluate the files apart.",
        )
    columns = found[0] if found else spec.columns
    if spec.sort and CONVERSATION not in columns:
        hint = "--map conversation=NAME names the column that tells conversations apart."
        raise OptionError("--sort sorts rows by their conversation, and no column names one", hint=hint)
    return msgspec.structs.replace(spec, columns=columns)


def _with_profile(spec: RunSpec) -> RunSpec:
    """With the profile that the files ask for, if none is named: somebody who wrote cases named their checks."""
    if spec.profile is not None:
        return spec
    logs = {is_log(file.path, mapped=spec.is_mapped) for file in spec.inputs}
    if len(logs) > 1:
        raise OptionError(
            "the files are both cases and logs, which are evaluated by different profiles",
            hint=f"Name one with --profile ({AUTHORED} or {TRAFFIC}), or evaluate them apart.",
        )
    return msgspec.structs.replace(spec, profile=TRAFFIC if True in logs else AUTHORED)


class BlockJob:
    """What an engine is given: every worker makes its own evaluator from the plan."""

    def __init__(self, plan: RunPlan, rules: RuleSet | None = None) -> None:
        self._plan = plan
        self._rules = rules
        self.key = plan.folder

    def start(self) -> Callable[[BlockTask], BlockResult]:
        return make_worker(self._plan, self._rules).work

    def __reduce__(self) -> tuple[type["BlockJob"], tuple[RunPlan]]:
        return BlockJob, (self._plan,)  # compiled rules do not travel: another process loads them


def _run(plan: RunPlan, rules: RuleSet, progress: Progress | None, block_size: int | None) -> StreamTotals:
    """On the engine that was asked for; for a table only what is not yet finished of it."""
    spec = plan.spec
    manifest: Manifest | None = None
    if spec.table:
        manifest = Manifest(spec.table, table_conditions(plan, rules))
        manifest.open([file.name for file in spec.inputs], fresh=spec.fresh)
        plan = msgspec.structs.replace(plan, run=manifest.run)
    job = BlockJob(plan if spec.engine == LOCAL else _absolute(plan), rules)
    try:
        with start_engine(spec.engine, job, useful_workers(spec), spec.address) as engine:
            hands: Engine[BlockTask, BlockResult] = ResumingEngine(engine, manifest) if manifest else engine
            totals = run_blocks(plan, hands, progress, block_size)
    finally:
        if spec.table:  # workers that were ended in the middle of a part leave a piece of it
            sweep_table(spec.table)
    if manifest:
        manifest.finish()
    return totals


def table_conditions(plan: RunPlan, rules: RuleSet) -> dict[str, Any]:
    """All that the parts of a table depend on, apart from the input."""
    in_force = run_conditions(rules, plan.spec.profile or AUTHORED)
    chosen = repr(sorted(plan.places)) if plan.places is not None else ""
    return {
        **plan.spec.conditions(),
        "version": in_force["tool"]["version"],
        "table_version": TABLE_VERSION,
        "rules": in_force["rules"]["hash"],
        "similarity": in_force["similarity"],
        "chosen": hashlib.sha256(chosen.encode()).hexdigest(),
    }


def _absolute(plan: RunPlan) -> RunPlan:
    return msgspec.structs.replace(plan, spec=plan.spec.absolute(), folder=os.path.abspath(plan.folder))


def _report(spec: RunSpec, totals: StreamTotals, rules: RuleSet) -> Report:
    conditions = {
        **run_conditions(rules, spec.profile or AUTHORED),
        "input": {"files": [file.name for file in spec.inputs], "sha256": totals.input_hash},
        "options": spec.options(),
    }
    return Report(
        conditions=conditions,
        summary=totals.tally.to_dict(),
        failures=failures_of(totals.results),
        results=tuple(totals.results),
        warnings=tuple(totals.warnings),
        file=spec.out,
    )


def _write(report: Report, spec: RunSpec, folder: Path, blocks: int) -> None:
    if spec.out is None:
        return
    header = report.header()
    for name, place in (("results_file", spec.results), ("results_table", spec.table)):
        if place:
            header[name] = Path(os.path.relpath(place, spec.out.parent)).as_posix()
    if spec.results:
        join_results(folder, blocks, spec.results)
    join_report(header, folder, blocks, spec.out)


def _require_matches(spec: RunSpec, totals: StreamTotals) -> None:
    """An id that is not there, or filters that leave nothing, are a mistake and not an empty success."""
    wanted = set(spec.ids)
    if not totals.tally.cases or (totals.tally.cases < len(wanted) and not spec.chooses):
        what = f"not every id has a case (wanted: {', '.join(sorted(wanted))})" if wanted else "no case is left"
        raise OptionError(f"{what} after the filters", hint="Check --tag, --id, --check and --limit.")


def _require_portable_similarity(spec: RunSpec) -> None:
    """Other processes would decide with the default similarity, and the report would name the adapter of this one."""
    if adapter_name() != DEFAULT_NAME and (spec.engine != LOCAL or useful_workers(spec) > 1):
        raise OptionError(
            "an embedding adapter works in this process only", hint="Evaluate with engine 'local' and one worker."
        )


def _refuse_to_overwrite(spec: RunSpec) -> None:
    """No output may take the place of an input, or of another output."""
    inputs = [*(("--cases", file.path) for file in spec.inputs), ("--schema", spec.schema)]
    outputs = [(option, path) for option, path in (("--out", spec.out), ("--results", spec.results)) if path]
    for option, path in outputs:
        for kind, taken in inputs:
            if taken.exists() and path.exists() and taken.samefile(path):
                raise OptionError(f"{option} and {kind} are the same file ({path})", hint=f"Choose another {option}.")
    if spec.results and spec.out and spec.results.resolve() == spec.out.resolve():
        raise OptionError(f"--out and --results are the same file ({spec.out})", hint="Choose another --results.")
    if spec.table:
        _keep_table_apart(spec.table, [file.path for file in spec.inputs])


def _keep_table_apart(table: Path, inputs: list[Path]) -> None:
    """A table is never its own input; and its parts are named after their files, so each file is read once."""
    if table.exists() and not table.is_dir():
        raise OptionError("--out-table is not a folder", hint="Give the path of a folder, which will be made.")
    for path in inputs:
        if table.resolve() in path.resolve().parents:
            raise OptionError(f"{path} is in the folder of --out-table", hint="Choose another --out-table.")
        if inputs.count(path) > 1:
            raise OptionError(f"--cases names {path} twice", hint="Name it once.")
