"""How far a run is, on stderr: one line drawn again on a terminal, a line now and then elsewhere."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING

import click

from synthesis.cli.terminal import columns
from synthesis.run.files import Pace, duration

if TYPE_CHECKING:
    from synthesis.model import CaseResult
    from synthesis.report.stored import StoredReport

PATIENCE = 0.5  # seconds: what is quicker needs no line
INTERVAL = 0.25  # seconds between two looks
SECONDS_BETWEEN_LINES = 10.0  # where no terminal redraws one
_ERASE = "\r\x1b[2K"
Note = Callable[[int, int, int], None]


class ProgressLine:
    """Shows what `describe` returns, in a thread: the first part may take long, and the time should move meanwhile."""

    def __init__(self, describe: Callable[[], str]) -> None:
        self._describe = describe
        self._over = threading.Event()
        self._turn = threading.Lock()
        self._is_shown = False
        self._printed = time.monotonic()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "ProgressLine":
        if sys.stderr.isatty():
            self._thread = threading.Thread(target=self._draw, name="progress", daemon=True)
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

    def print_sometimes(self) -> None:
        """Print the line every few seconds where no terminal draws it."""
        if self._thread is None and time.monotonic() - self._printed >= SECONDS_BETWEEN_LINES:
            self._printed = time.monotonic()
            click.echo(self._describe(), err=True)

    def _clear(self) -> None:
        with self._turn:
            if self._is_shown:
                _write(_ERASE)
                self._is_shown = False

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
    """A function that takes rows, what is done and of how much (0: unknown); None where no terminal shows it."""
    if not (enabled and sys.stderr.isatty()):
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
