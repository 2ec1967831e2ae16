"""The results of a run, derived from its ledger, and the files that hold them."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import OptionError, RunFolderError
from synthesis.io import refused_writes
from synthesis.judge.cost import final_cost, iteration_cost
from synthesis.judge.journal import RESUMES, ProgressView, progress_path, read_ledger, replace_file
from synthesis.judge.ledger import IterationLedger, Ledger, RunLine, Sample, State, VerdictLine
from synthesis.judge.metrics import failure_analysis, final_metrics, iteration_metrics
from synthesis.judge.model import Axis
from synthesis.judge.records import Record, axis_passed, has_scores, on_present_texts
from synthesis.report.judged.layout import Layout, canonical_record, told
from synthesis.report.judged.run import Iteration, JudgedRun, deciding_axes
from synthesis.settings import JUDGED_RUNS

_ENDED = (State.JUDGED, State.FAILED)


class IterationResults(msgspec.Struct, frozen=True):
    """One iteration: what was judged, what could not be, and the figures.

    `records` has stale ones, too, which are marked. Everything that counts or lists samples goes by `judged`.
    """

    number: int
    records: tuple[Record, ...]
    errors: tuple[Record, ...]
    metrics: dict[str, Any]
    cost: dict[str, Any]
    analysis: dict[str, Any]

    @property
    def judged(self) -> list[Record]:
        """The records on the present texts."""
        return on_present_texts(self.records)


class Results(msgspec.Struct, frozen=True):
    """All iterations that were begun; the final figures once the last one was."""

    iterations: tuple[IterationResults, ...]
    final_metrics: dict[str, Any] | None
    final_cost: dict[str, Any] | None


def derive(ledger: Ledger) -> Results:
    """The results that a ledger holds."""
    run = ledger.run
    if run is None:
        return Results((), None, None)
    iterations = tuple(_iteration(ledger, run, number) for number in ledger.begun_iterations())
    if not iterations or len(iterations) < run.iterations:
        return Results(iterations, None, None)
    timestamp = max(iteration.metrics["timestamp"] for iteration in iterations)
    figures = final_metrics(
        [iteration.metrics for iteration in iterations],
        [iteration.records for iteration in iterations],
        run.rubric,
        timestamp=timestamp,
    )
    costs = final_cost([iteration.cost for iteration in iterations], run, timestamp)
    return Results(iterations, figures, costs)


def states(ledger: Ledger, number: int) -> Counter[State]:
    """How many samples are in each state, in one iteration."""
    iteration = ledger.iteration(number)
    return Counter(iteration.state(sample) for sample in ledger.samples)


def gate_rate(results: Results, total: int, run: RunLine) -> float:
    """The pass rate that a gate looks at, over all samples: what is stale or could not be told has not passed."""
    deciding = deciding_axes(run.judge.provider, [axis.name for axis in run.rubric.axes])
    axes = [axis for axis in run.rubric.axes if axis.name in deciding]
    rates = [sum(_passes_gate(record, axes) for record in iteration.judged) / total for iteration in results.iterations]
    return sum(rates) / len(rates) if rates else 0.0


def _passes_gate(record: Record, axes: Sequence[Axis]) -> bool:
    return has_scores(record) and all(axis_passed(record, axis) for axis in axes)


def _iteration(ledger: Ledger, run: RunLine, number: int) -> IterationResults:
    work = ledger.iteration(number)
    timestamp = work.last_at or run.at
    counts = states(ledger, number)
    records = tuple(_records(ledger, work))
    metrics = iteration_metrics(
        records,
        run.rubric,
        iteration=number,
        timestamp=timestamp,
        total=len(ledger.samples),
        errors=counts[State.FAILED],
        not_judged=counts[State.PENDING],
        stale=counts[State.STALE],
        calls=[_paid_calls(work, sample) for sample in ledger.samples if work.state(sample) in _ENDED],
    )
    return IterationResults(
        number,
        records,
        tuple(_error(work, sample) for sample in ledger.samples if work.state(sample) is State.FAILED),
        metrics,
        iteration_cost(ledger, run, number, metrics["judged"], timestamp),
        failure_analysis(records, run.rubric, run.judge.provider),
    )


def _paid_calls(work: IterationLedger, sample: Sample) -> int:
    """Those with a reply. Refused ones depend on the weather: an interrupted run would count others."""
    return len(work.usage(sample.hash, sample.fingerprint))


def _records(ledger: Ledger, work: IterationLedger) -> list[Record]:
    """In the order of the set. A sample whose present text could not be judged has no record."""
    found = []
    for sample in ledger.samples:
        state = work.state(sample)
        verdict = work.verdict(sample)
        if verdict is not None and state in (State.JUDGED, State.STALE):
            found.append(_record(work, verdict, stale=state is State.STALE))
    return found


def _record(work: IterationLedger, verdict: VerdictLine, *, stale: bool) -> Record:
    usage = msgspec.to_builtins(list(work.usage(verdict.h, verdict.f)))
    return {**canonical_record(verdict.record), "tokenUsage": usage} | ({"stale": True} if stale else {})


def _error(work: IterationLedger, sample: Sample) -> Record:
    line = work.errors[sample.hash, sample.fingerprint]
    calls = [call for call in work.calls_of.get(sample.hash, ()) if call.begun.f == sample.fingerprint]
    return {
        "queryLogId": line.sample_id,
        "hash": line.h,
        "question": line.question,
        "reason": line.reason,
        **({"kind": line.kind} if line.kind else {}),
        "calls": len(calls),
        "failedAt": line.at,
        "tokenUsage": msgspec.to_builtins(list(work.usage(sample.hash, sample.fingerprint))),
    }


def read_run(folder: Path) -> JudgedRun:
    """The run in a folder, with its figures computed again from the journal."""
    return judged_run(read_ledger(folder))


def judged_run(ledger: Ledger) -> JudgedRun:
    run, results = ledger.present_run(), derive(ledger)
    if not results.iterations:
        raise RunFolderError(f"the run {run.test_set_name} has no verdict yet", hint="Run `synthesis judge run` first.")
    return as_drawn(run, results)


def as_drawn(run: RunLine, results: Results) -> JudgedRun:
    """Results that have an iteration, as reports see them."""
    return JudgedRun(
        name=run.test_set_name,
        judge=f"{run.judge.provider} ({run.judge.model})",
        rubric=run.rubric.name,
        axes=tuple((axis.name, axis.pass_at) for axis in run.rubric.axes),
        iterations=msgspec.convert(msgspec.to_builtins(results.iterations), tuple[Iteration, ...]),
        final_metrics=results.final_metrics,
        final_cost=results.final_cost,
    )


# The folder of a run, and the files that its results are written to.


DEFAULT_ROOT = Path(JUDGED_RUNS)


def run_folder(root: Path, name: str) -> Path:
    """The folder of a run; a name cannot lead out of the root."""
    folder = root / name
    plain = bool(re.fullmatch(r"[^/\\\x00-\x1f]+", name)) and name.strip(". ") != ""
    if not plain or folder.resolve().parent != root.resolve():
        raise OptionError(
            f"'{name}' is not a valid folder name: it would leave {root}",
            hint="Use a plain name without slashes; --root says where runs are kept.",
        )
    return folder


def write_results(folder: Path, ledger: Ledger) -> Results:
    """Derive everything from the ledger and put it into the folder's files."""
    results = derive(ledger)
    if ledger.run is None:
        return results
    layout = ledger.run.layout
    for iteration in results.iterations:
        _write_iteration(folder, ledger, iteration, layout)
    count = len(results.iterations)
    if results.final_metrics is not None:
        _write(folder / "final-metrics" / f"final-metrics-{count}.json", told(results.final_metrics, layout))
        _write(folder / "final-cost" / f"final-cost-{count}.json", told(results.final_cost, layout))
    return results


_DERIVED = (
    *("iteration-*", "records", "metrics", "cost", "low-faithfulness", "calibration"),
    *("final-metrics", "final-cost"),
)


def remove_results(folder: Path) -> None:
    """Remove what was derived from the verdicts of another judge, who may have judged more iterations.

    The journal has it all: when that judge returns, the same files are written again (its agreement with people by
    `synthesis judge calibrate`, from the labels).
    """
    for pattern in _DERIVED:
        for path in folder.glob(f"{pattern}/*.json"):
            with refused_writes(path, RESUMES):
                path.unlink(missing_ok=True)


def write_calibration(folder: Path, iteration: int, calibration: Mapping[str, Any]) -> Path:
    """Put a comparison with human labels beside the results."""
    path = folder / "calibration" / f"calibration-iteration-{iteration}.json"
    _write(path, calibration)
    return path


def _write_iteration(folder: Path, ledger: Ledger, iteration: IterationResults, layout: Layout) -> None:
    number = iteration.number
    replace_file(progress_path(folder, number), ProgressView(ledger, number).content())
    files = {
        "records/records": iteration.records,
        "records/errors": iteration.errors,
        "metrics/metrics": iteration.metrics,
        "cost/cost": iteration.cost,
        "low-faithfulness/low-faithfulness": iteration.analysis,
    }
    for name, content in files.items():
        _write(folder / f"{name}-iteration-{number}.json", told(content, layout))


def _write(path: Path, value: Any) -> None:
    replace_file(path, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
