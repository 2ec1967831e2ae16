"""Judged runs for the renderers and the comparison, read from their folders."""

from pathlib import Path

import msgspec

from synthesis.errors import RunFolderError
from synthesis.judge.journal import read_ledger
from synthesis.judge.ledger import Ledger
from synthesis.judge.results import derive
from synthesis.report.judged.run import Iteration, JudgedRun


def read_run(folder: Path) -> JudgedRun:
    """The run in a folder, with its figures computed anew from the journal."""
    return judged_run(read_ledger(folder))


def judged_run(ledger: Ledger) -> JudgedRun:
    run, results = ledger.present_run(), derive(ledger)
    if not results.iterations:
        raise RunFolderError(f"the run {run.test_set_name} has no verdict yet", hint="Run `synthesis judge run` first.")
    return JudgedRun(
        name=run.test_set_name,
        judge=f"{run.judge.provider} ({run.judge.model})",
        rubric=run.rubric.name,
        axes=tuple((axis.name, axis.pass_at) for axis in run.rubric.axes),
        iterations=msgspec.convert(msgspec.to_builtins(results.iterations), tuple[Iteration, ...]),
        final_metrics=results.final_metrics,
        final_cost=results.final_cost,
    )
