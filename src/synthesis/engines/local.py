"""The processes of this machine."""

import multiprocessing
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType

from synthesis.engines.process import work_here
from synthesis.errors import SynthesisError
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.work import Part, Task, WorkOrder


class LocalCrew:
    """One or several processes; `rules` spare a run in this one the loading of what the order names."""

    def __init__(self, order: WorkOrder, workers: int, rules: RuleSet | None = None) -> None:
        self._order = order
        self._workers = workers
        self._rules = rules
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> "LocalCrew":
        if self._workers > 1:
            # Spawned rather than forked: the same on every system, and safe beside threads.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._workers, context, initializer=_start, initargs=(self._order,))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def work(self, todo: Iterator[Task]) -> Iterator[Part]:
        if self._pool is None:
            yield from (work_here(self._order, task, self._rules) for task in todo)
            return
        waiting: deque[Future[Part]] = deque()
        for task in todo:
            waiting.append(self._pool.submit(_work, task))
            while len(waiting) > 2 * self._workers:
                yield self._result(waiting.popleft())
        while waiting:
            yield self._result(waiting.popleft())

    def _result(self, future: "Future[Part]") -> Part:
        try:
            return future.result()
        except BrokenProcessPool:
            again = " Started again, the run goes on where it stopped." if self._order.table else ""
            raise SynthesisError(
                "a worker process died before its work was done; no report was written",
                hint=f"It may have run out of memory. Try fewer workers (--workers 1).{again}",
            ) from None


_order: WorkOrder | None = None  # of a worker process; it may be large, so it travels once


def _start(order: WorkOrder) -> None:
    global _order
    _order = order


def _work(task: Task) -> Part:
    assert _order
    return work_here(_order, task)
