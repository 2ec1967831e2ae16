"""The process beside the server that judges test sets, one after the other, by the offline judge."""

import asyncio
from multiprocessing.connection import Connection
from time import monotonic
from typing import TYPE_CHECKING

from synthesis.errors import SynthesisError
from synthesis.server.errors import ErrorDetail
from synthesis.server.jobs import CANCELLED, DONE, FAILED, RUNNING, attend
from synthesis.server.judging.store import RESULTS, JudgeFolder, JudgeOrder

if TYPE_CHECKING:
    from synthesis.judge import Progress

PAUSE = 0.1  # seconds between two words about progress


def work(orders: Connection) -> None:
    """Judge what comes through the pipe until it is closed; each is answered when it is over."""
    attend(orders, lambda path, order: perform(JudgeFolder(path), order))


def perform(folder: JudgeFolder, order: JudgeOrder) -> None:
    """Judge one test set. Its file is removed when it is over, whatever came of it."""
    try:
        if folder.is_cancelled:
            raise asyncio.CancelledError
        folder.change(state=RUNNING)
        asyncio.run(_judge(folder, order))
        _save(folder, order)
    except asyncio.CancelledError:
        folder.change(state=CANCELLED)
    except SynthesisError as error:
        folder.change(state=FAILED, error=ErrorDetail("invalid_set", error.message, error.hint or ""))
    finally:
        folder.clear()


async def _judge(folder: JudgeFolder, order: JudgeOrder) -> None:
    from synthesis.judge import EvaluationConfig, load_rubric, load_test_set, run_evaluation

    rubric = load_rubric(order.rubric) if order.rubric else None
    config = EvaluationConfig(output_dir=RESULTS, root=folder.path, iterations=order.iterations, rubric=rubric)
    cases = load_test_set(folder.input)
    folder.change(total=len(cases) * order.iterations)
    running = asyncio.ensure_future(run_evaluation(cases, config, observer=lambda progress: tell(progress)))
    told = 0.0

    def tell(progress: "Progress") -> None:
        nonlocal told
        if folder.is_cancelled:
            running.cancel()
        elif monotonic() - told > PAUSE:
            folder.change(judged=progress.done, failed=progress.failed)
            told = monotonic()

    result = await running
    records = sum(len(iteration.records) for iteration in result.results.iterations)
    folder.change(judged=records, failed=sum(len(iteration.errors) for iteration in result.results.iterations))


def _save(folder: JudgeFolder, order: JudgeOrder) -> None:
    """Into the history. What cannot be saved is still there to be looked at while the server runs."""
    if not order.save:
        folder.change(state=DONE)
        return
    from synthesis.history import Provenance, open_history

    try:
        with open_history(order.history) as history:
            known = Provenance(with_text=order.save_text, name=order.name)
            run_id = history.add_judged(folder.results, known)
        folder.change(state=DONE, run_id=run_id)
    except SynthesisError as error:
        folder.change(state=DONE, error=ErrorDetail("not_saved", error.message, error.hint or ""))
