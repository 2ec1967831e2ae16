"""Spark: units of work as the rows of a DataFrame, one per task; Spark does a task again where a worker dies."""

import os
import pickle
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from types import TracebackType
from typing import Any

from synthesis.cases.blocks import Block
from synthesis.engines.process import answer_here, part_of
from synthesis.errors import MissingExtraError, OptionError, SynthesisError
from synthesis.runner.work import Part, Task, WorkOrder

MOST_TASKS = 10_000  # of one job
MOST_BYTES = 64 << 20  # of content that has to travel with its tasks
ATTEMPTS = 4
_LOCAL = re.compile(r"local(?:\[(\*|\d+)\])?")
_SCHEMA = "number bigint, content binary"


class SparkCrew:
    """The executors of a Spark master: of the one at `master`, or of this machine."""

    def __init__(self, order: WorkOrder, workers: int, master: str | None = None) -> None:
        self._order = order
        self._master = with_attempts(master or f"local[{workers}]")
        _package()
        self._session: Any = None

    def __enter__(self) -> "SparkCrew":
        self._session = _started(self._master)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.stop()

    def work(self, todo: Iterator[Task]) -> Iterator[Part]:
        while job := list(_job(todo)):
            yield from self._parts(job)

    def _parts(self, tasks: list[Task]) -> Iterator[Part]:
        """One job over so many tasks; its answer is small."""
        rows = [(task.number, pickle.dumps(task)) for task in tasks]
        context = self._session.sparkContext
        frame = self._session.createDataFrame(context.parallelize(rows, len(rows)), _SCHEMA)
        try:
            found = frame.mapInArrow(_Work(self._order), _SCHEMA).collect()
        except Exception as error:
            raise _failure(error) from None
        for row in sorted(found, key=lambda row: row.number):
            yield part_of(pickle.loads(bytes(row.content)))


class _Work:
    """What Spark sends to its workers: from batches of tasks to batches of parts."""

    def __init__(self, order: WorkOrder) -> None:
        self._order = order

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            rows = [(row["number"], self._answer(row["content"])) for row in batch.to_pylist()]
            numbers, contents = zip(*rows, strict=True) if rows else ((), ())
            columns = [pyarrow.array(numbers, pyarrow.int64()), pyarrow.array(contents, pyarrow.binary())]
            yield pyarrow.RecordBatch.from_arrays(columns, names=["number", "content"])

    def _answer(self, content: bytes) -> bytes:
        return pickle.dumps(answer_here(self._order.parts, lambda: self._order, pickle.loads(content)))


def _job(todo: Iterator[Task]) -> Iterator[Task]:
    """The next tasks, as many as can travel together."""
    travelling = 0
    for task in islice(todo, MOST_TASKS):
        yield task
        travelling += len(task.unit.content or b"") if isinstance(task.unit, Block) else 0
        if travelling >= MOST_BYTES:
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
    """Spark on this machine greets with a dozen warnings, also where --quiet was asked for; a cluster may talk."""
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
        hint="Every node needs the same synthesis-eval, and sees input and output under the same paths. "
        "Started again, a run with --out-table goes on where it stopped.",
    )


def _package() -> None:
    try:
        import pandas  # noqa: F401 (Spark's exchange of Arrow data asks for it)
        import pyspark  # noqa: F401
    except ImportError:
        raise MissingExtraError("spark", "the Spark engine") from None
