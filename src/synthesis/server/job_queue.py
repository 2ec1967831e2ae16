"""Jobs are done one by one in a process beside the server, so that none holds up a request."""

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from synthesis.errors import SynthesisError
from synthesis.server.errors import ApiError, ErrorDetail
from synthesis.server.jobs import FAILED, JobFolder
from synthesis.server.limits import Slots

_DIED = ErrorDetail("died", "The process that ran this job died.", "It may have run out of memory.")


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
