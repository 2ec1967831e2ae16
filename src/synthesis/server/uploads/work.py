"""The process beside the server that evaluates uploaded files, one after the other."""

from multiprocessing.connection import Connection
from time import monotonic

from synthesis.errors import SynthesisError
from synthesis.model.report import Report
from synthesis.runner.files import evaluate_files
from synthesis.runner.spec import InputFile, RunSpec
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
        folder.change(state=RUNNING)
        summary = _evaluate(folder, order).summary
        size = folder.load().size
        folder.change(state=DONE, read=size, cases=summary["cases"], summary=summary)
    except _Cancelled:
        folder.change(state=CANCELLED)
    except SynthesisError as error:
        folder.change(state=FAILED, error=ErrorDetail("invalid_cases", str(error)))
    finally:
        folder.input(order.kind).unlink(missing_ok=True)


def _evaluate(folder: UploadFolder, order: UploadOrder) -> Report:
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
    spec = RunSpec(
        inputs=(InputFile(folder.input(order.kind), f"upload.{order.kind}"),),
        checks=order.checks,
        columns=order.columns,
        on_bad_row=order.on_bad_row,
        language=order.language,
        rules=order.folders,
        disabled=order.disabled,
        max_line=order.most_line,
        out=folder.report,
    )
    rules = loaded_rules(order.folders, order.disabled)
    return evaluate_files(spec, progress=tell, rules=rules, block_size=BLOCK).report
