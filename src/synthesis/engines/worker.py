"""One worker process of the local engine, seen from both ends of its pipe."""

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from typing import Any

import msgspec

from synthesis.engines.base import Job, answer

PATIENCE = 5.0  # seconds for an idle worker to end by itself


class WorkerCrash(msgspec.Struct, frozen=True):
    """An exception that nobody foresaw, as text: not every exception can be pickled."""

    what: str
    trace: str


class Worker:
    """A process with a pipe; it has one task at a time, so that neither end ever waits for the other to read."""

    def __init__(self, context: SpawnContext, job: Job[Any, Any]) -> None:
        self.pipe, other = context.Pipe()
        self.task: int | None = None
        # A daemon, so that an exit that skips `end` terminates it rather than waits for it.
        self._process = context.Process(target=_serve, args=(other, job), daemon=True)
        with _interrupts_held_back():
            self._process.start()
        other.close()

    def give(self, task: Any) -> None:
        self.task = task.number
        with suppress(OSError):  # it died, which `take` finds out and says
            self.pipe.send(task)

    def take(self, died: Callable[[], Exception]) -> tuple[int, Any]:
        """The number of the task and what the worker answered."""
        number, self.task = self.task, None
        assert number is not None
        try:
            return number, self.pipe.recv()
        except (EOFError, OSError):
            raise died() from None

    def end(self, *, at_once: bool) -> None:
        """An idle worker ends when its pipe is closed; one in the middle of a task is killed."""
        self.pipe.close()
        if not at_once:
            self._process.join(PATIENCE)
        self._process.kill()
        self._process.join()


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """A process inherits which signals are blocked: Ctrl-C is for this process, which then ends its workers."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it unblocks the signal when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection, job: Job[Any, Any]) -> None:
    """What the process does: task after task, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answered = answer(job.key, lambda: job, task)
        except Exception as error:
            answered = WorkerCrash(f"{type(error).__name__}: {error}", traceback.format_exc())
        try:
            pipe.send(answered)
        except OSError:  # nobody waits for it any more
            return


def _end_with_parent() -> None:
    """The parent may be killed in the middle of a task, which nobody would want any more."""
    parent = multiprocessing.parent_process()
    assert parent
    parent.join()
    os._exit(1)
