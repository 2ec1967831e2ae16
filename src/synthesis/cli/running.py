"""While a run is under way: a line of progress on stderr, and what Ctrl-C and SIGTERM do."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from synthesis.cli import ExitCode
from synthesis.cli.terminal import columns
from synthesis.printable import safe
from synthesis.run.files import Pace, duration
from synthesis.run.spec import RunSpec

if TYPE_CHECKING:
    import asyncio

    from synthesis.model import CaseResult
    from synthesis.report.stored import StoredReport

PATIENCE = 0.5  # seconds: what is quicker needs no line
INTERVAL = 0.25  # seconds between two looks
SECONDS_BETWEEN_LINES = 10.0  # where no terminal redraws one: a log, a pipe
_ERASE = "\r\x1b[2K"
Note = Callable[[int, int, int], None]


class ProgressLine:
    """Shows what `describe` returns, in a thread: the first part may take long, and the time should move meanwhile.

    A terminal has one line that is drawn again; elsewhere a line is printed every few seconds.
    """

    def __init__(self, describe: Callable[[], str], *, quiet: bool = False) -> None:
        self._describe = describe
        self._is_quiet = quiet
        self._over = threading.Event()
        self._turn = threading.Lock()
        self._is_shown = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "ProgressLine":
        if not self._is_quiet:
            show = self._draw if sys.stderr.isatty() else self._print
            self._thread = threading.Thread(target=show, name="progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Erase the line; nothing is drawn afterwards."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(1)
        self._clear()

    def say(self, message: str) -> None:
        """Print a message; the line is drawn again below it."""
        self._clear()
        click.echo(message, err=True)

    def _clear(self) -> None:
        with self._turn:
            if self._is_shown:
                _write(_ERASE)
                self._is_shown = False

    def _print(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN_LINES):
            _write(f"{self._describe()}\n")

    def _draw(self) -> None:
        wait = PATIENCE
        while not self._over.wait(wait):
            wait = INTERVAL
            with self._turn:
                _write(f"{_ERASE}{self._describe()[: (columns(err=True) or 80) - 1]}")
                self._is_shown = True


def _write(text: str) -> None:
    # Past the buffers of `sys.stderr`, whose lock the main thread may hold when a signal comes.
    with suppress(OSError):  # the terminal is gone, and the run need not care
        os.write(2, text.encode())


@contextmanager
def progress(noun: str, *, enabled: bool = True) -> Iterator[Note | None]:
    """A function that takes rows, what is done and of how much (0: unknown); None where nothing is shown."""
    if not enabled:
        yield None
        return
    pace = Pace()
    with ProgressLine(lambda: pace_line(pace, noun)):
        yield pace.note


def pace_line(pace: Pace, noun: str) -> str:
    """`12,340 cases, 35 %, 4,100 per second, about 40 s left`."""
    if not pace.rows:
        return f"no {noun} yet, {duration(pace.elapsed)} so far"
    share = [f"{100 * pace.done // pace.total} %"] if pace.total and pace.done else []
    return ", ".join([f"{pace.rows:,} {noun}", *share, *speed_and_time(pace)])


def speed_and_time(pace: Pace) -> Iterator[str]:
    """`4,100 per second`, where that is known, and `about 40 s left`."""
    if speed := pace.rows_per_second:
        yield f"{speed:,.0f} per second" if speed >= 10 else f"{speed:.1f} per second"
    left = pace.seconds_left
    yield f"about {duration(left)} left" if left else f"{duration(pace.elapsed)} so far"


def counted(reports: "Sequence[StoredReport]", note: Note | None, total: int) -> "list[StoredReport]":
    """The same reports, with their results counted together as they are read."""
    numbers = count(1)

    def pass_on(result: "CaseResult") -> "CaseResult":
        if note:
            number = next(numbers)
            note(number, number, total)
        return result

    return [report.changed(pass_on) for report in reports]


# Ctrl-C and SIGTERM: the first ends a run in order, the second at once.

T = TypeVar("T")
SIGNALS = (signal.SIGINT, signal.SIGTERM)
LAST_STEPS = 1.5  # seconds for the last steps: ending workers, removing files, recording abandoned calls


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
    timer = threading.Timer(LAST_STEPS, end)
    timer.daemon = True
    timer.start()


class Interruption:
    """Watches over a run of the checks from its options to the last line that it prints.

    The first signal drops the run in order; the second does not wait for that.
    """

    def __init__(self) -> None:
        self._handler = SignalHandler(self._stop, self._leave)
        self._spec: RunSpec | None = None
        self._report: Path | None = None
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
            raise click.exceptions.Exit(ExitCode.INTERRUPTED)
        self._handler.__exit__(kind, error, trace)

    def begin(self, spec: RunSpec, report: Path | None) -> None:
        self._spec, self._report = spec, report

    def counting(self, progress: Note | None) -> Note:
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
        os._exit(ExitCode.INTERRUPTED)

    def _explain(self) -> None:
        if not self._is_explained:
            self._is_explained = True
            # Past the buffers of `sys.stderr`, which may be in the middle of a line when a signal comes.
            line = _ERASE if os.isatty(2) else ""  # the line of progress may still be there
            os.write(2, f"{line}Interrupted: {safe(self._message())}\n".encode())

    def _message(self) -> str:
        spec = self._spec
        if spec is None:
            return "nothing was evaluated."
        if self._is_written:
            report = f"the report is in {self._report}" if self._report else "no report was to be written"
            return f"{report}; what was to be made of it is missing."
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
    import asyncio  # which only the judge needs: it takes a while

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(work)

        def cancel() -> None:
            loop.call_soon_threadsafe(task.cancel)

        def cancel_and_leave() -> None:
            cancel()
            # The journal is safe at every moment, so a long report may be left.
            _end_soon(lambda: os._exit(ExitCode.INTERRUPTED))

        with SignalHandler(cancel, cancel_and_leave), _woken_by_signals(loop):
            return runner.run(_outcome(task))


async def _outcome(task: "asyncio.Task[T]") -> T:
    return await task


@contextmanager
def _woken_by_signals(loop: "asyncio.AbstractEventLoop") -> Iterator[None]:
    """Python notes a signal and calls its handler later: a loop that waits by then has to be woken, or waits on."""
    import socket

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
