"""The folder of a run, and the files that its results are written to."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import OptionError
from synthesis.judge.files import replace_file
from synthesis.judge.journal.ledger import Ledger
from synthesis.judge.journal.progress import ProgressView, progress_path
from synthesis.judge.results import IterationResults, Results, derive
from synthesis.settings import JUDGED_RUNS

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
    for iteration in results.iterations:
        _write_iteration(folder, ledger, iteration)
    count = len(results.iterations)
    if results.final_metrics is not None:
        _write(folder / "final-metrics" / f"final-metrics-{count}.json", results.final_metrics)
        _write(folder / "final-cost" / f"final-cost-{count}.json", results.final_cost)
    return results


def write_calibration(folder: Path, iteration: int, calibration: Mapping[str, Any]) -> Path:
    """Put a comparison with human labels beside the results."""
    path = folder / "calibration" / f"calibration-iteration-{iteration}.json"
    _write(path, calibration)
    return path


def _write_iteration(folder: Path, ledger: Ledger, iteration: IterationResults) -> None:
    number = iteration.number
    replace_file(progress_path(folder, number), ProgressView(ledger, number).content())
    _write(folder / "records" / f"records-iteration-{number}.json", iteration.records)
    _write(folder / "records" / f"errors-iteration-{number}.json", iteration.errors)
    _write(folder / "metrics" / f"metrics-iteration-{number}.json", iteration.metrics)
    _write(folder / "cost" / f"cost-iteration-{number}.json", iteration.cost)
    _write(folder / "low-faithfulness" / f"low-faithfulness-iteration-{number}.json", iteration.analysis)


def _write(path: Path, value: Any) -> None:
    replace_file(path, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
