"""Ray core: one task per unit of work, done again where a worker dies.

Tasks over byte ranges and row groups rather than `ray.data`: see docs/scale.md for what each was measured to do.
"""

import os
import socket
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Generic

from synthesis.errors import MissingExtraError, OptionError, SynthesisError
from synthesis.run.engines import RESUMES, Job, ResultT, TaskT, answer, result_of

PATIENCE = 10  # seconds for a cluster to answer
RETRIES = 5  # of one task whose worker died
OBJECT_STORE = 100 << 20  # bytes: what travels are paths and counts
# No reports to Ray's makers, and no warning about graphics cards that nobody asked for.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


class RayEngine(Generic[TaskT, ResultT]):
    """The workers of a Ray cluster: of the one at `address`, or of a small one for this run."""

    def __init__(self, job: Job[TaskT, ResultT], workers: int, address: str | None = None) -> None:
        self._job = job
        self._workers = workers
        self._address = address
        self._ray = _package()
        self._task: Any = None
        self._shared: Any = None

    def __enter__(self) -> "RayEngine[TaskT, ResultT]":
        ray = self._ray
        own = {"num_cpus": self._workers, "object_store_memory": OBJECT_STORE, "include_dashboard": False}
        try:
            _require_answer(self._address)
            address = self._address or "local"  # never a cluster that only the environment names
            ray.init(address, logging_level="error", log_to_driver=False, **({} if self._address else own))
        except (OSError, ValueError, RuntimeError) as error:
            reason = str(error).partition("\n")[0]
            raise OptionError(f"Ray cannot be reached: {reason}", hint="Check --ray-address.") from None
        self._task = ray.remote(num_cpus=1, max_retries=RETRIES)(_answer)
        self._shared = ray.put(self._job)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ray.shutdown()

    def work(self, tasks: Iterator[TaskT]) -> Iterator[ResultT]:
        waiting: deque[Any] = deque()
        for task in tasks:
            waiting.append(self._task.remote(self._job.key, [self._shared], task))
            while len(waiting) > self._window():
                yield self._result(waiting.popleft())
        while waiting:
            yield self._result(waiting.popleft())

    def _window(self) -> int:
        """Enough tasks wait that no core does. Asked each time, since a cluster may grow during the run."""
        return 4 * max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def _result(self, reference: Any) -> ResultT:
        try:
            answered: ResultT | SynthesisError = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise SynthesisError(
                f"a Ray worker failed: {type(error.cause).__name__}: {error.cause}",
                hint="Every node needs the same synthesis-eval, and must see input and output under the same paths.",
            ) from None
        except self._ray.exceptions.RayError as error:
            reason = str(error).partition("\n")[0]
            raise SynthesisError(
                f"a task was lost on the Ray cluster {RETRIES + 1} times: {reason}",
                hint=f"Its workers may run out of memory. {RESUMES}",
            ) from None
        return result_of(answered)


def _require_answer(address: str | None) -> None:
    """Without this, Ray tries a wrong address, or that of a cluster long gone, for a quarter of an hour."""
    known = _remembered() if address == "auto" else address
    host, _, port = (known or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()


def _remembered() -> str | None:
    """What `auto` means to Ray: the address in the environment, else that of the last cluster on this machine."""
    last = Path(os.environ.get("RAY_TMPDIR", "/tmp")) / "ray" / "ray_current_cluster"  # noqa: S108 - Ray's own place
    return os.environ.get("RAY_ADDRESS") or (last.read_text(encoding="utf-8").strip() if last.is_file() else None)


def _answer(key: str, job: list[Any], task: TaskT) -> Any:
    """In a process of the cluster. The job comes inside a list: Ray would fetch a bare reference for every task."""
    import ray

    return answer(key, lambda: ray.get(job[0]), task)


def _package() -> Any:
    os.environ.update(_QUIET)
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise MissingExtraError("ray", "the Ray engine") from None
    return ray
