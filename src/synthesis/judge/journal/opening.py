"""Opening a journal: which judge and samples it belongs to, and which runs it refuses."""

from typing import Literal

import msgspec

from synthesis.errors import Place, RunFolderError
from synthesis.judge.journal.ledger import Ledger, Sample, State
from synthesis.judge.journal.lines import Identity, Line, RunLine, SetLine

OnChange = Literal["keep", "rejudge", "error"]
Samples = tuple[tuple[str, str], ...]


def missing_lines(ledger: Ledger, run: RunLine, samples: Samples, on_change: OnChange, journal: str) -> list[Line]:
    """Lines for judge, price and set where they differ from the recorded ones; another judge is refused."""
    run = as_recorded(ledger, run)
    _check_judge(ledger, run.judge, on_change, journal)
    _check_changes(ledger, run, samples, on_change, journal)
    lines: list[Line] = []
    if ledger.run is None or _noted(ledger.run) != _noted(run):
        lines.append(run)
    if tuple((sample.query_log_id, sample.fingerprint) for sample in ledger.samples) != samples:
        lines.append(SetLine(run.at, samples))
    return lines


def as_recorded(ledger: Ledger, run: RunLine) -> RunLine:
    """The run under the recorded judge, where that is the same one: settings that 0.1 did not record are no change."""
    known = ledger.run
    return msgspec.structs.replace(run, judge=known.judge) if known and known.judge.covers(run.judge) else run


def _check_judge(ledger: Ledger, identity: Identity, on_change: OnChange, journal: str) -> None:
    run = ledger.run
    if run is not None and run.judge != identity and on_change != "rejudge":
        raise RunFolderError(
            f"this folder belongs to another judge: it has {run.judge.difference(identity)}",
            place=Place(journal),
            hint="Use --output-dir NAME, or judge all samples here again with --on-change rejudge.",
        )


def _check_changes(ledger: Ledger, run: RunLine, samples: Samples, on_change: OnChange, journal: str) -> None:
    """With `error` the run stops before anything is written."""
    if on_change != "error" or ledger.run is None or ledger.run.judge != run.judge:
        return
    future = Ledger()
    future.apply(SetLine(run.at, samples))
    changed = [sample.query_log_id for sample in future.samples if _is_stale(ledger, sample, run.iterations)]
    if changed:
        raise RunFolderError(
            f"{len(changed)} samples have changed since they were judged: {', '.join(changed[:5])}",
            place=Place(journal),
            hint="--on-change keep keeps and flags their verdicts, --on-change rejudge judges them again.",
        )


def _is_stale(ledger: Ledger, sample: Sample, iterations: int) -> bool:
    return any(ledger.iteration(number).state(sample) is State.STALE for number in range(1, iterations + 1))


def _noted(run: RunLine) -> tuple[object, ...]:
    return (run.test_set_name, run.judge, run.iterations, run.price)
