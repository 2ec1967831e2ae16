"""Spark: units of work as the rows of a DataFrame, one per task; Spark does a task again where a worker dies."""

import os
import pickle
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from types import TracebackType
from typing import Any, Generic

from synthesis.errors import MissingExtraError, OptionError, SynthesisError
from synthesis.lazy import regex
from synthesis.run.engines import RESUMES, Job, ResultT, TaskT, answer, result_of

MOST_TASKS = 10_000  # of one job
MOST_BYTES = 64 << 20  # of content that has to travel with its tasks
ATTEMPTS = 4
_LOCAL = regex(r"local(?:\[(\*|\d+)\])?")
_SCHEMA = "number bigint, content binary"


class SparkEngine(Generic[TaskT, ResultT]):
    """The executors of a Spark master: of the one at `master`, or of this machine."""

    def __init__(self, job: Job[TaskT, ResultT], workers: int, master: str | None = None) -> None:
        self._job = job
        self._master = with_attempts(master or f"local[{workers}]")
        _package()
        self._session: Any = None

    def __enter__(self) -> "SparkEngine[TaskT, ResultT]":
        self._session = _started(self._master)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.stop()

    def work(self, tasks: Iterator[TaskT]) -> Iterator[ResultT]:
        while load := list(_load(tasks)):
            yield from self._results(load)

    def _results(self, tasks: list[TaskT]) -> Iterator[ResultT]:
        """One Spark job over these tasks; the results are small enough to be collected."""
        rows = [(task.number, pickle.dumps(task)) for task in tasks]
        context = self._session.sparkContext
        frame = self._session.createDataFrame(context.parallelize(rows, len(rows)), _SCHEMA)
        try:
            found = frame.mapInArrow(_Work(self._job), _SCHEMA).collect()
        except Exception as error:
            raise _failure(error) from None
        for row in sorted(found, key=lambda row: row.number):
            yield result_of(pickle.loads(bytes(row.content)))


class _Work:
    """What Spark sends to its workers: from batches of tasks to batches of results."""

    def __init__(self, job: Job[Any, Any]) -> None:
        self._job = job

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            rows = [(row["number"], self._answer(row["content"])) for row in batch.to_pylist()]
            numbers, contents = zip(*rows, strict=True) if rows else ((), ())
            columns = [pyarrow.array(numbers, pyarrow.int64()), pyarrow.array(contents, pyarrow.binary())]
            yield pyarrow.RecordBatch.from_arrays(columns, names=["number", "content"])

    def _answer(self, content: bytes) -> bytes:
        return pickle.dumps(answer(self._job.key, lambda: self._job, pickle.loads(content)))


def _load(tasks: Iterator[TaskT]) -> Iterator[TaskT]:
    """The next tasks, as many as can travel together."""
    cargo = 0
    for task in islice(tasks, MOST_TASKS):
        yield task
        cargo += task.cargo
        if cargo >= MOST_BYTES:
            return


def with_attempts(master: str) -> str:
    """A local master does a failed task again only if its name says so."""
    found = _LOCAL.fullmatch(master)
    return f"local[{found[1] or 1},{ATTEMPTS}]" if found else master


def _started(master: str) -> Any:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("synthesis")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.log.level", "OFF").config("spark.sql.execution.arrow.maxRecordsPerBatch", "1")
    try:
        with _silent(of=master):
            return builder.getOrCreate()
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise OptionError(
            f"Spark cannot be started: {reason}", hint="It needs Java 17 or later; check --master."
        ) from None


@contextmanager
def _silent(of: str) -> Iterator[None]:
    """Spark on this machine starts with a dozen warnings, --quiet or not; those of a cluster may matter."""
    if not of.startswith("local"):
        yield
        return
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)  # the Java process that is started now inherits it
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _failure(error: Exception) -> SynthesisError:
    reason = re.search(r"\w*(?:Error|Exception): [^\n]*", str(error))
    return SynthesisError(
        f"Spark gave up: {reason[0] if reason else str(error).partition(chr(10))[0]}",
        hint=f"Every node needs the same synthesis-eval, and must see input and output under the same paths. {RESUMES}",
    )


def _package() -> None:
    try:
        import pandas  # noqa: F401 (Spark's exchange of Arrow data asks for it)
        import pyspark  # noqa: F401
    except ImportError:
        raise MissingExtraError("spark", "the Spark engine") from None
