"""What an engine is: it does the tasks of a job, many at once where it can, and returns the results in their order.

An engine knows nothing about cases and checks. A job is sent to each worker once; its tasks are small.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, Protocol, TypeVar, cast

from synthesis.errors import SynthesisError

LOCAL, RAY, SPARK = "local", "ray", "spark"
ENGINES = {
    LOCAL: "synthesis.engines.local:LocalEngine",
    RAY: "synthesis.engines.ray:RayEngine",
    SPARK: "synthesis.engines.spark:SparkEngine",
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
