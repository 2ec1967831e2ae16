"""The processes of this machine.

A pool of our own, since those of the standard library share queues among their workers: a worker that ends while it
holds a queue's lock keeps all others from ending. Here each worker has a pipe to this process and nothing else.
"""

import multiprocessing
import time
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import wait
from types import TracebackType
from typing import Any, Generic

from synthesis.engines.base import RESUMES, Job, ResultT, TaskT, result_of
from synthesis.engines.worker import Worker, WorkerCrash
from synthesis.errors import OptionError, SynthesisError

GROUP_SIGNAL = 0.2  # seconds


class LocalEngine(Generic[TaskT, ResultT]):
    """This process where one worker is enough, else a pool of others."""

    def __init__(self, job: Job[TaskT, ResultT], workers: int, address: str | None = None) -> None:
        if address is not None:
            raise OptionError("the local engine has no address", hint="Name the engine that the address belongs to.")
        self._job = job
        self._most = workers
        self._workers: list[Worker] = []

    def __enter__(self) -> "LocalEngine[TaskT, ResultT]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.end(at_once=kind is not None)

    def work(self, tasks: Iterator[TaskT]) -> Iterator[ResultT]:
        return map(self._job.start(), tasks) if self._most == 1 else self._share(tasks)

    def _share(self, tasks: Iterator[TaskT]) -> Iterator[ResultT]:
        order: deque[int] = deque()  # numbers of the tasks whose results are still to be handed on
        done: dict[int, ResultT] = {}
        for task in tasks:
            order.append(task.number)
            self._idle(done).give(task)
            # Enough that no process waits, few enough that results ahead of a slow one do not fill the memory.
            while order and (order[0] in done or len(order) > 2 * self._most):
                yield self._next(order, done)
        while order:
            yield self._next(order, done)

    def _idle(self, done: dict[int, ResultT]) -> Worker:
        """A worker without a task: one that is there, else a new one, else the first to be ready."""
        while True:
            for worker in self._workers:
                if worker.task is None:
                    return worker
            if len(self._workers) < self._most:
                # Spawned rather than forked: the same on every system, and safe beside threads.
                self._workers.append(Worker(multiprocessing.get_context("spawn"), self._job))
            else:
                self._collect(done)

    def _next(self, order: deque[int], done: dict[int, ResultT]) -> ResultT:
        while order[0] not in done:
            self._collect(done)
        return done.pop(order.popleft())

    def _collect(self, done: dict[int, ResultT]) -> None:
        """Wait until at least one worker has answered."""
        busy = [worker for worker in self._workers if worker.task is not None]
        ready = wait([worker.pipe for worker in busy])
        for worker in busy:
            if worker.pipe in ready:
                number, answered = worker.take(died=_died)
                done[number] = result_of(_without_crash(answered))


def _without_crash(answered: Any) -> Any:
    if isinstance(answered, WorkerCrash):
        error = RuntimeError(f"a worker process failed: {answered.what}")
        error.add_note(answered.trace)
        raise error
    return answered


def _died() -> SynthesisError:
    # A signal to a whole group of processes ends the workers too, and reaches this process meanwhile.
    time.sleep(GROUP_SIGNAL)
    return SynthesisError(
        "a worker process died before its work was done; no report was written",
        hint=f"It may have run out of memory. Try fewer workers (--workers 1). {RESUMES}",
    )
