"""Work that goes on beside the server: each job in a folder of its own, its state in a small file, so that any worker
of the server can answer for it. Jobs wait in a queue for a process that does one after the other."""

import asyncio
import multiprocessing
import re
import secrets
import shutil
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

import msgspec

from synthesis.errors import SynthesisError
from synthesis.report.files import replaced
from synthesis.server.errors import ApiError, ErrorDetail, not_found
from synthesis.server.limits import Slots

KEPT = 20  # jobs that are over; older ones are removed
WAITING: Final = "waiting"
RUNNING: Final = "running"
DONE: Final = "done"
FAILED: Final = "failed"
CANCELLED: Final = "cancelled"
OVER = {DONE, FAILED, CANCELLED}
State = Literal["waiting", "running", "done", "failed", "cancelled"]
_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_CANCEL = "cancel"
_DIED = ErrorDetail("died", "The process that worked on this died.", "It may have run out of memory.")


class Job(msgspec.Struct, frozen=True, omit_defaults=True):
    """What all jobs have: an id and a state."""

    id: str
    state: State


J = TypeVar("J", bound=Job)


def attend(orders: Connection, perform: Callable[[Path, Any], None]) -> None:
    """The life of the process beside the server: do what comes through the pipe, and answer when each is over."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then ends this process
    while True:
        try:
            path, order = orders.recv()
        except EOFError:
            return
        perform(Path(path), order)
        orders.send(None)


def no_such_job(noun: str) -> ApiError:
    return not_found(f"There is no such {noun}.", f"The latest {KEPT} are kept while the server runs.")


class JobFolder(Generic[J]):
    """The files of one job."""

    kind: ClassVar[type[Any]] = Job
    noun: ClassVar[str] = "job"

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> J:
        try:
            found: J = msgspec.json.decode((self.path / "state.json").read_bytes(), type=self.kind)
        except FileNotFoundError:
            raise no_such_job(self.noun) from None
        return found

    def save(self, job: J) -> None:
        with replaced(self.path / "state.json") as file:
            file.write(msgspec.json.encode(job))

    def change(self, **fields: Any) -> J:
        changed = msgspec.structs.replace(self.load(), **fields)
        self.save(changed)
        return changed

    @property
    def is_cancelled(self) -> bool:
        return (self.path / _CANCEL).exists()

    def cancel(self) -> None:
        (self.path / _CANCEL).touch()

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def clear(self) -> None:
        """Remove what is not needed once the job is over."""


F = TypeVar("F", bound=JobFolder[Any])


class JobStore(Generic[F]):
    """All jobs of one kind. Ids are drawn here; a request's id is looked up only if it looks like one."""

    def __init__(self, root: Path, kind: type[F]) -> None:
        self._root = root / f"{kind.noun}s"
        self._kind = kind
        self._root.mkdir(mode=0o700, exist_ok=True)

    def new(self) -> tuple[str, F]:
        self._make_room()
        name = secrets.token_urlsafe(16)
        folder = self._kind(self._root / name)
        folder.path.mkdir(mode=0o700)
        return name, folder

    def has(self, name: str) -> bool:
        return bool(_ID.fullmatch(name)) and (self._root / name / "state.json").is_file()

    def folder(self, name: str) -> F:
        if not self.has(name):
            raise no_such_job(self._kind.noun)
        return self._kind(self._root / name)

    def _make_room(self) -> None:
        with suppress(OSError, ApiError):  # another worker may be at it too
            states = sorted(self._root.glob("*/state.json"), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in states[KEPT - 1 :]:
                folder = self._kind(path.parent)
                if folder.load().state in OVER:
                    folder.remove()


class JobQueue:
    """Hands jobs, one after the other, to a process that is started when the first one comes."""

    def __init__(self, most: int, what: str, work: Callable[[Connection], None]) -> None:
        self.slots = Slots(most, what)
        self._work = work
        self._thread = ThreadPoolExecutor(1, "jobs")
        self._process: BaseProcess | None = None
        self._orders: Connection | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, folder: JobFolder[Any], order: object) -> None:
        """Have a job done when its turn comes; 429 where too many wait."""
        self.slots.take()
        task = asyncio.get_running_loop().create_task(self._wait_for(folder, order))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _wait_for(self, folder: JobFolder[Any], order: object) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._hand_over, folder, order)
        finally:
            self.slots.free()

    def _hand_over(self, folder: JobFolder[Any], order: object) -> None:
        """Blocks until the job is over; a process that dies takes only this one job with it."""
        try:
            orders = self._started()
            orders.send((str(folder.path), order))
            orders.recv()
        except (EOFError, OSError):
            self._process = None
            with suppress(SynthesisError, ApiError, OSError):  # its folder may be gone, with the server's own
                folder.clear()
                folder.change(state=FAILED, error=_DIED)

    def _started(self) -> Connection:
        if self._process is None or self._orders is None or not self._process.is_alive():
            # Spawned, not forked: there are threads and sockets here that it must not have.
            context = multiprocessing.get_context("spawn")
            self._orders, theirs = context.Pipe()
            self._process = context.Process(target=self._work, args=(theirs,), daemon=True, name="synthesis jobs")
            self._process.start()
            theirs.close()
        return self._orders

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            self._process.terminate()
