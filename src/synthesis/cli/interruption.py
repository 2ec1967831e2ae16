"""Ctrl-C and SIGTERM: the first ends a run in order, the second at once."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, TypeVar

import click

from synthesis.cli import exits
from synthesis.printable import safe
from synthesis.run.spec import RunSpec

T = TypeVar("T")
SIGNALS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 1.5  # seconds for the last steps: ending workers, removing files, recording abandoned calls
_Progress = Callable[[int, int, int], None]


class SignalHandler:
    """Calls `first` for the first signal and `again` for each further one.

    Python calls it between two instructions of the main thread, so it works while files are written, too.
    """

    def __init__(self, first: Callable[[], None], again: Callable[[], None]) -> None:
        self._first = first
        self._again = again
        self._signals = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "SignalHandler":
        if threading.current_thread() is threading.main_thread():  # elsewhere Python allows no handlers
            self._before = {number: signal.signal(number, self) for number in SIGNALS}
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self, *_: object) -> None:
        self._signals += 1
        return self._first() if self._signals == 1 else self._again()


def _end_soon(end: Callable[[], object]) -> None:
    timer = threading.Timer(PATIENCE, end)
    timer.daemon = True
    timer.start()


class Interruption:
    """Watches over a run of the checks from its options to the last line that it prints.

    The first signal drops the run in order; the second does not wait for that.
    """

    def __init__(self) -> None:
        self._handler = SignalHandler(self._stop, self._leave)
        self._spec: RunSpec | None = None
        self._cases = 0
        self._is_written = False
        self._is_explained = False

    def __enter__(self) -> "Interruption":
        self._handler.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):  # the handler stays, for a second signal
            self._explain()
            raise click.exceptions.Exit(exits.INTERRUPTED)
        self._handler.__exit__(kind, error, trace)

    def begin(self, spec: RunSpec) -> None:
        self._spec = spec

    def counting(self, progress: _Progress | None) -> _Progress:
        """The progress of the run, counting the cases for the message of an interrupted run."""

        def count(cases: int, done: int, total: int) -> None:
            self._cases = cases
            if progress:
                progress(cases, done, total)

        return count

    def written(self) -> None:
        self._is_written = True

    def _stop(self) -> None:
        _end_soon(self._leave)
        raise KeyboardInterrupt

    def _leave(self) -> None:
        self._explain()
        os._exit(exits.INTERRUPTED)

    def _explain(self) -> None:
        if not self._is_explained:
            self._is_explained = True
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


def run_interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Run `work`. The first signal cancels it, and it may wait for calls that are paid for; the second ends it soon.

    Raises `CancelledError` when it has ended.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(work)

        def cancel() -> None:
            loop.call_soon_threadsafe(task.cancel)

        def cancel_and_leave() -> None:
            cancel()
            # The journal is safe at every moment, so a long report may be left.
            _end_soon(lambda: os._exit(exits.INTERRUPTED))

        with SignalHandler(cancel, cancel_and_leave), _woken_by_signals(loop):
            return runner.run(_outcome(task))


async def _outcome(task: "asyncio.Task[T]") -> T:
    return await task


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
