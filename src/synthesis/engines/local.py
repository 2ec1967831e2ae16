"""The processes of this machine."""

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Any, Generic

from synthesis.engines.base import RESUMES, Job, ResultT, TaskT, do_task
from synthesis.errors import OptionError, SynthesisError


class LocalEngine(Generic[TaskT, ResultT]):
    """This process where one worker is enough, else a pool of others."""

    def __init__(self, job: Job[TaskT, ResultT], workers: int, address: str | None = None) -> None:
        if address is not None:
            raise OptionError("the local engine has no address", hint="Name the engine that the address belongs to.")
        self._job = job
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> "LocalEngine[TaskT, ResultT]":
        if self._workers > 1:
            # Spawned rather than forked: the same on every system, and safe beside threads.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._workers, context, initializer=_take, initargs=(self._job,))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def work(self, tasks: Iterator[TaskT]) -> Iterator[ResultT]:
        if self._pool is None:
            yield from map(self._job.start(), tasks)
            return
        do: Callable[[TaskT], ResultT] = _do
        waiting: deque[Future[ResultT]] = deque()
        for task in tasks:
            waiting.append(self._pool.submit(do, task))
            # Enough that no process waits, few enough that results ahead of a slow one do not fill the memory.
            while len(waiting) > 2 * self._workers:
                yield self._result(waiting.popleft())
        while waiting:
            yield self._result(waiting.popleft())

    def _result(self, future: "Future[ResultT]") -> ResultT:
        try:
            return future.result()
        except BrokenProcessPool:
            raise SynthesisError(
                "a worker process died before its work was done; no report was written",
                hint=f"It may have run out of memory. Try fewer workers (--workers 1). {RESUMES}",
            ) from None


_job: Job[Any, Any] | None = None  # of a worker process; it may be large, so it is sent once


def _take(job: Job[Any, Any]) -> None:
    global _job
    _job = job


def _do(task: Any) -> Any:
    # Started here and not in `_take`: an exception in the initializer of a pool breaks the pool and loses its message.
    job = _job
    assert job
    return do_task(job.key, lambda: job, task)
