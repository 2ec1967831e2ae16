"""The process beside the server that evaluates uploaded files, one after the other."""

import shutil
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any

from synthesis.cases.logs.options import RowOptions
from synthesis.engines.local import LocalCrew
from synthesis.errors import SynthesisError
from synthesis.model.report import Report
from synthesis.report.parts import join_report
from synthesis.runner.run import run_conditions
from synthesis.runner.stream import CaseFile, Outcome, run_files
from synthesis.runner.work import WorkOrder
from synthesis.server.errors import ErrorDetail
from synthesis.server.jobs import CANCELLED, DONE, FAILED, RUNNING, attend
from synthesis.server.loading import loaded_rules
from synthesis.server.uploads.store import UploadFolder, UploadOrder

BLOCK = 128 << 10  # bytes between two words about progress
PAUSE = 0.1  # seconds between two such words that are written down


class _Cancelled(Exception):  # noqa: N818 - no error: somebody asked for it
    """The upload is not wanted any more."""


def work(orders: Connection) -> None:
    """Evaluate what comes through the pipe until it is closed; each is answered when it is over."""
    attend(orders, lambda path, order: perform(UploadFolder(path), order))


def perform(folder: UploadFolder, order: UploadOrder) -> None:
    """Evaluate one upload. Its file is removed when it is over, whatever came of it."""
    try:
        folder.parts.mkdir(mode=0o700)
        folder.change(state=RUNNING)
        outcome = _evaluate(folder, order)
        header = _header(order, outcome)
        join_report(header, folder.parts, outcome.parts, folder.report)
        size = folder.load().size
        folder.change(state=DONE, read=size, cases=outcome.tally.cases, summary=header["summary"])
    except _Cancelled:
        folder.change(state=CANCELLED)
    except SynthesisError as error:
        folder.change(state=FAILED, error=ErrorDetail("invalid_cases", str(error)))
    finally:
        folder.input(order.kind).unlink(missing_ok=True)
        shutil.rmtree(folder.parts, ignore_errors=True)


def _evaluate(folder: UploadFolder, order: UploadOrder) -> Outcome:
    told = monotonic()

    def tell(cases: int, read: int, _: int) -> None:
        nonlocal told
        if folder.is_cancelled:
            raise _Cancelled
        if monotonic() - told > PAUSE:
            folder.change(cases=cases, read=read)
            told = monotonic()

    if folder.is_cancelled:
        raise _Cancelled
    work = WorkOrder(
        parts=str(folder.parts),
        language=order.language,
        rows=RowOptions(order.columns, order.checks, order.on_bad_row),
    )
    file = CaseFile(folder.input(order.kind), f"upload.{order.kind}")
    with LocalCrew(work, 1, loaded_rules(order.folders, order.disabled)) as crew:
        return run_files([file], work, crew, most_line=order.most_line, progress=tell, block_size=BLOCK)


def _header(order: UploadOrder, outcome: Outcome) -> dict[str, Any]:
    """The report's head, as a run on the command line has it."""
    rows = RowOptions(order.columns, order.checks, order.on_bad_row)
    conditions = {
        **run_conditions(loaded_rules(order.folders, order.disabled), "default"),
        "input": {"files": [f"upload.{order.kind}"], "sha256": outcome.input_hash},
        "options": {
            "language": order.language or "auto",
            "rules": list(order.folders),
            "disable": list(order.disabled),
            **rows.shown(),
        },
    }
    return Report(conditions, outcome.tally.to_dict(), (), (), tuple(outcome.warnings)).header()
