"""Jobs: work that takes longer than a request, done one by one in a process beside the server.

Each job has a folder of its own with its state in a small file, because the next request about it may reach another
worker process of the server. The file is replaced as a whole, so a reader never sees half of it.
"""

import asyncio
import multiprocessing
import os
import re
import secrets
import shutil
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

import msgspec

from synthesis.errors import SynthesisError
from synthesis.report.files import replaced
from synthesis.server.errors import ApiError, ErrorDetail, as_api_error, not_found
from synthesis.server.limits import Slots

PAUSE = 0.1  # seconds between two writes of a job's progress
KEPT = 20  # finished jobs; older ones are removed
WAITING: Final = "waiting"
RUNNING: Final = "running"
DONE: Final = "done"
FAILED: Final = "failed"
CANCELLED: Final = "cancelled"
OVER = {DONE, FAILED, CANCELLED}
State = Literal["waiting", "running", "done", "failed", "cancelled"]
_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_CANCEL = "cancel"
_DIED = ErrorDetail("died", "The process that ran this job died.", "It may have run out of memory.")


class Job(msgspec.Struct, frozen=True, omit_defaults=True):
    """What all jobs have: an id and a state."""

    id: str
    state: State


J = TypeVar("J", bound=Job)


def run_jobs(jobs: Connection, run: Callable[[Path, Any], None]) -> None:
    """The loop of the process beside the server: run each job that comes through the pipe, and answer when it is over.

    It ends when the server closes the pipe, and in the middle of a job when the server dies.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then ends this process
    threading.Thread(target=_end_with_server, daemon=True).start()
    while True:
        try:
            path, options = jobs.recv()
        except EOFError:
            return
        try:
            run(Path(path), options)
            jobs.send(None)
        except (OSError, ApiError):
            if Path(path).exists():
                raise
            return  # a server that ends has removed the folder


def _end_with_server() -> None:
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
        os._exit(1)  # nobody can ask for the result; the job's own thread would go on for as long as it takes


def failure(error: Exception, code: str, folder: Path, *, placed: bool = False) -> ErrorDetail:
    """Why a job failed; `placed`: where in its file. An unexpected error is told without details: they may quote."""
    if not isinstance(error, SynthesisError):
        return as_api_error(error).detail
    message, hint = (str(error), "") if placed else (error.message, error.hint or "")
    return ErrorDetail(code, _told(message, folder), _told(hint, folder))


def _told(text: str, folder: Path) -> str:
    """Without a path of this machine; what was not UTF-8 in the file is spelled out, since JSON cannot hold it."""
    return text.replace(f"{folder}/", "").encode("utf-8", "backslashreplace").decode()


def no_such_job(noun: str) -> ApiError:
    return not_found(f"There is no such {noun}.", f"The latest {KEPT} are kept while the server runs.")


class JobFolder(Generic[J]):
    """The files of one job."""

    kind: ClassVar[type[Any]] = Job
    noun: ClassVar[str] = "job"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._saved = 0.0

    def load(self) -> J:
        try:
            found: J = msgspec.json.decode((self.path / "state.json").read_bytes(), type=self.kind)
        except FileNotFoundError:
            raise no_such_job(self.noun) from None
        return found

    def save(self, job: J) -> None:
        with replaced(self.path / "state.json") as file:
            file.write(msgspec.json.encode(job))
        self._saved = monotonic()

    def change(self, **fields: Any) -> J:
        changed = msgspec.structs.replace(self.load(), **fields)
        self.save(changed)
        return changed

    def note_progress(self, **fields: Any) -> None:
        """Change the state unless that was done a moment ago: progress comes faster than anybody reads it."""
        if monotonic() - self._saved > PAUSE:
            self.change(**fields)

    @property
    def is_cancelled(self) -> bool:
        return (self.path / _CANCEL).exists()

    def cancel(self) -> J:
        """Ask a job that waits or runs to end, and return its state; a finished one stays as it is."""
        if self.load().state not in OVER:
            (self.path / _CANCEL).touch()
        return self.load()

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def clear(self) -> None:
        """Remove the files that a finished job does not need."""


F = TypeVar("F", bound=JobFolder[Any])


class JobStore(Generic[F]):
    """All jobs of one kind. An id from a request becomes part of a path, so it must look like one of ours."""

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
        with suppress(OSError, ApiError):  # another worker may be removing it too
            states = sorted(self._root.glob("*/state.json"), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in states[KEPT - 1 :]:
                folder = self._kind(path.parent)
                if folder.load().state in OVER:
                    folder.remove()


class JobQueue:
    """Runs jobs one by one in a process of its own, which starts with the first job."""

    def __init__(self, most: int, what: str, target: Callable[[Connection], None]) -> None:
        self.slots = Slots(most, what)
        self._target = target
        self._thread = ThreadPoolExecutor(1, "jobs")
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, folder: JobFolder[Any], options: object) -> None:
        """Run a job when its turn comes; 429 if too many wait."""
        self.slots.take()
        task = asyncio.get_running_loop().create_task(self._wait(folder, options))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _wait(self, folder: JobFolder[Any], options: object) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._run, folder, options)
        finally:
            self.slots.free()

    def _run(self, folder: JobFolder[Any], options: object) -> None:
        """Block until the job is over. If the process dies, only this job fails; the next one starts a new process."""
        try:
            pipe = self._started()
            pipe.send((str(folder.path), options))
            pipe.recv()
        except (EOFError, OSError):
            self._process = None
            with suppress(SynthesisError, ApiError, OSError):  # at shutdown the folder may be gone already
                folder.clear()
                folder.change(state=FAILED, error=_DIED)

    def _started(self) -> Connection:
        if self._process is None or self._pipe is None or not self._process.is_alive():
            # Spawned, not forked: a fork would inherit locks held by threads, and the listening socket.
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=self._target, args=(theirs,), daemon=True, name="synthesis jobs")
            self._process.start()
            theirs.close()
        return self._pipe

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            self._process.terminate()
