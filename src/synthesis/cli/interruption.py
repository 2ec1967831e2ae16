"""Ctrl-C and SIGTERM: the first ends a run in order and says what is dropped, or waits for calls that are paid for."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any, TypeVar

import click

from synthesis.cli import exits
from synthesis.printable import safe
from synthesis.run.spec import RunSpec

SIGNALS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 1.5  # seconds for workers to end and for files to be removed; the next run removes what is left
_Progress = Callable[[int, int, int], None]


class Interruption:
    """Watches over a run from its options to the last line that it prints."""

    def __init__(self) -> None:
        self._spec: RunSpec | None = None
        self._cases = 0
        self._is_written = False
        self._is_told = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():  # elsewhere Python allows no handlers
            self._before = {number: signal.signal(number, self._first) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            self._tell()
            raise click.exceptions.Exit(exits.INTERRUPTED)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def begin(self, spec: RunSpec) -> None:
        self._spec = spec

    def counting(self, progress: _Progress | None) -> _Progress:
        """The progress of the run, with the cases counted for what is told if it is interrupted."""

        def count(cases: int, done: int, total: int) -> None:
            self._cases = cases
            if progress:
                progress(cases, done, total)

        return count

    def written(self) -> None:
        self._is_written = True

    def _first(self, number: int, frame: FrameType | None) -> None:
        for known in SIGNALS:
            signal.signal(known, self._again)
        timer = threading.Timer(PATIENCE, self._leave)
        timer.daemon = True
        timer.start()
        raise KeyboardInterrupt

    def _again(self, number: int, frame: FrameType | None) -> None:
        self._leave()

    def _leave(self) -> None:
        self._tell()
        os._exit(exits.INTERRUPTED)

    def _tell(self) -> None:
        if not self._is_told:
            self._is_told = True
            # Past the buffers of `sys.stderr`, which may be in the middle of a line when a signal comes.
            line = "\r\x1b[2K" if os.isatty(2) else ""  # the line of progress may still be there
            os.write(2, f"{line}Interrupted: {safe(self._message())}\n".encode())

    def _message(self) -> str:
        spec = self._spec
        if spec is None:
            return "nothing was evaluated."
        if self._is_written:
            return f"the report is in {spec.out}; what was to be made of it is missing."
        if spec.table:
            return (
                f"{self._cases:,} cases were read and no report was written. Finished parts are kept in {spec.table}: "
                "the same command resumes there."
            )
        return f"the results of {self._cases:,} cases are dropped and no report was written."


# Ctrl-C and SIGTERM during a judged run: the first waits for calls that are paid for, the second does not.


T = TypeVar("T")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LAST_STEPS = 1.5  # seconds after the second signal to record abandoned calls


def run_interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Run `work`. The first signal cancels it, and it may wait; raises `CancelledError` when it has ended."""
    with asyncio.Runner() as runner:
        task = runner.get_loop().create_task(work)
        handler = _Handler(runner.get_loop(), task)
        before = {number: signal.signal(number, handler) for number in _SIGNALS}
        try:
            with _woken_by_signals(runner.get_loop()):
                return runner.run(_outcome(task))
        finally:
            for number, previous in before.items():
                signal.signal(number, previous)


@contextmanager
def _woken_by_signals(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Python notes a signal and calls its handler later: a loop that waits by then has to be woken, or waits on."""
    reader, writer = socket.socketpair()
    reader.setblocking(False)
    writer.setblocking(False)
    with reader, writer:
        with suppress(NotImplementedError):  # the loop of Windows takes no readers
            loop.add_reader(reader, reader.recv, 64)
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            with suppress(NotImplementedError):
                loop.remove_reader(reader)


async def _outcome(task: "asyncio.Task[T]") -> T:
    return await task


class _Handler:
    """Python calls it between two instructions of the main thread, so it works while files are written, too."""

    def __init__(self, loop: asyncio.AbstractEventLoop, task: "asyncio.Task[Any]") -> None:
        self._loop = loop
        self._task = task
        self._signals = 0

    def __call__(self, *_: object) -> None:
        self._signals += 1
        self._loop.call_soon_threadsafe(self._task.cancel)
        if self._signals > 1:
            # The journal is safe at every moment, so a long report may be left.
            last = threading.Timer(_LAST_STEPS, os._exit, [exits.INTERRUPTED])
            last.daemon = True
            last.start()
