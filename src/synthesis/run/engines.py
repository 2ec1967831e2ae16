"""Engines run the tasks of a job and return their results in order. This one uses local processes."""

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib import import_module
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar, cast

import msgspec

from synthesis.errors import OptionError, SynthesisError

LOCAL, RAY, SPARK = "local", "ray", "spark"
ENGINES = {
    LOCAL: "synthesis.run.engines:LocalEngine",
    RAY: "synthesis.run.ray:RayEngine",
    SPARK: "synthesis.run.spark:SparkEngine",
}
RESUMES = "A run with --out-table resumes when it is started again."


class Task(Protocol):
    """A unit of work that can be pickled."""

    @property
    def number(self) -> int: ...

    @property
    def cargo(self) -> int:
        """Bytes of content that travel with the task."""
        ...


TaskT = TypeVar("TaskT", bound=Task)
ResultT = TypeVar("ResultT")
TaskIn = TypeVar("TaskIn", bound=Task, contravariant=True)
ResultOut = TypeVar("ResultOut", covariant=True)


class Job(Protocol[TaskIn, ResultOut]):
    """What the tasks have in common; can be pickled. `key` tells it from other jobs."""

    @property
    def key(self) -> str: ...

    def start(self) -> Callable[[TaskIn], ResultOut]:
        """The function that does a task; made once in each process, since loading rules takes a while."""
        ...


class Engine(Protocol[TaskIn, ResultOut]):
    """Does tasks; the results come back in the order of the tasks."""

    def work(self, tasks: Iterator[TaskIn]) -> Iterator[ResultOut]: ...


def start_engine(
    name: str, job: Job[TaskT, ResultT], workers: int, address: str | None
) -> AbstractContextManager[Engine[TaskT, ResultT]]:
    """The engine, ready to be entered; MissingExtraError where it is not installed."""
    module, _, attribute = ENGINES[name].partition(":")
    kind = getattr(import_module(module), attribute)
    return cast("AbstractContextManager[Engine[TaskT, ResultT]]", kind(job, workers, address))


_started: dict[str, Callable[[Any], Any]] = {}  # at most one, kept from task to task


def do_task(key: str, job: Callable[[], Job[TaskT, ResultT]], task: TaskT) -> ResultT:
    """Do a task in this process; the job is fetched and started once."""
    if key not in _started:
        _started.clear()
        _started[key] = job().start()
    return cast("ResultT", _started[key](task))


def answer(key: str, job: Callable[[], Job[TaskT, ResultT]], task: TaskT) -> ResultT | SynthesisError:
    """The same on a cluster, where an exception means a retry: an error that a retry would not cure is returned."""
    try:
        return do_task(key, job, task)
    except SynthesisError as error:  # as a plain one, since not every kind of error can be pickled
        return SynthesisError(error.message, place=error.place, hint=error.hint)


def result_of(answered: ResultT | SynthesisError) -> ResultT:
    if isinstance(answered, SynthesisError):
        raise answered
    return answered


# One worker process of the local engine, seen from both ends of its pipe.


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


# The processes of this machine.


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
