"""Engines run the tasks of a job and return their results in order. This one uses threads of this process."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import Context, copy_context
from importlib import import_module
from queue import SimpleQueue
from threading import Event, Thread
from types import TracebackType
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

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


# The threads of this process.


PATIENCE = 5.0  # seconds for threads to end by themselves


class _Done(NamedTuple):
    """What became of a task."""

    number: int
    result: Any
    error: BaseException | None = None


class LocalEngine(Generic[TaskT, ResultT]):
    """This process, with threads where more than one worker is asked for: the kernel works beside the interpreter."""

    def __init__(self, job: Job[TaskT, ResultT], workers: int, address: str | None = None) -> None:
        if address is not None:
            raise OptionError("the local engine has no address", hint="Name the engine that the address belongs to.")
        self._job = job
        self._most = workers
        self._threads: list[Thread] = []
        self._waiting: SimpleQueue[TaskT | None] = SimpleQueue()
        self._finished: SimpleQueue[_Done] = SimpleQueue()
        self._is_over = Event()

    def __enter__(self) -> "LocalEngine[TaskT, ResultT]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Tasks that nobody has begun are dropped; a thread in the middle of one ends after it."""
        self._is_over.set()
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join(PATIENCE)

    def work(self, tasks: Iterator[TaskT]) -> Iterator[ResultT]:
        do = self._job.start()
        return map(do, tasks) if self._most == 1 else self._share(do, tasks)

    def _share(self, do: Callable[[TaskT], ResultT], tasks: Iterator[TaskT]) -> Iterator[ResultT]:
        order: deque[int] = deque()  # numbers of the tasks whose results are still to be handed on
        done: dict[int, ResultT] = {}
        for task in tasks:
            order.append(task.number)
            self._waiting.put(task)
            if len(self._threads) < self._most:
                self._start(do)
            # Enough that no thread waits, few enough that results ahead of a slow one do not fill the memory.
            while order[0] in done or len(order) > 2 * self._most:
                yield self._next(order, done)
                if not order:
                    break
        while order:
            yield self._next(order, done)

    def _start(self, do: Callable[[TaskT], ResultT]) -> None:
        # A daemon, so that an exit that skips `__exit__` does not wait for it.
        thread = Thread(target=self._serve, args=(do, copy_context()), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self, do: Callable[[TaskT], ResultT], context: Context) -> None:
        """What a thread does: task after task, with the caller's flag of cancellation."""
        while (task := self._waiting.get()) is not None and not self._is_over.is_set():
            try:
                self._finished.put(_Done(task.number, context.run(do, task)))
            except BaseException as error:  # for the thread that waits for it, which is not this one
                self._finished.put(_Done(task.number, None, error))

    def _next(self, order: deque[int], done: dict[int, ResultT]) -> ResultT:
        while order[0] not in done:
            finished = self._finished.get()
            if finished.error is not None:
                raise finished.error
            done[finished.number] = finished.result
        return done.pop(order.popleft())
