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
    from synthesis.judge.run import Progress
    from synthesis.model import CaseResult
    from synthesis.report.stored import StoredReport

PATIENCE = 0.5  # seconds: what is quicker needs no line
INTERVAL = 0.25  # seconds between two looks
_ERASE = "\r\x1b[2K"
Note = Callable[[int, int, int], None]


class LiveLine:
    """Draws what `told` says again and again, in a thread: a first part may take long, and time passes meanwhile."""

    def __init__(self, told: Callable[[], str]) -> None:
        self._told = told
        self._over = threading.Event()
        self._turn = threading.Lock()
        self._is_shown = False
        self._thread = threading.Thread(target=self._draw, name="progress", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Erase the line; nothing is drawn afterwards."""
        self._over.set()
        self._thread.join(1)
        self.clear()

    def clear(self) -> None:
        """Erase the line for a message; it is drawn again below."""
        with self._turn:
            if self._is_shown:
                _write(_ERASE)
                self._is_shown = False

    def _draw(self) -> None:
        wait = PATIENCE
        while not self._over.wait(wait):
            wait = INTERVAL
            with self._turn:
                _write(f"{_ERASE}{self._told()[: (columns(err=True) or 80) - 1]}")
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
    line = LiveLine(lambda: pace_line(pace, noun))
    try:
        yield pace.note
    finally:
        line.close()


def pace_line(pace: Pace, noun: str) -> str:
    """`12,340 rows evaluated, 35 %, 4,100 per second, about 40 s left`."""
    if not pace.rows:
        return f"no {noun} yet, {duration(pace.elapsed)} so far"
    speed, left = pace.rows_per_second, pace.seconds_left
    parts = [
        f"{pace.rows:,} {noun}",
        f"{100 * pace.done // pace.total} %" if pace.total and pace.done else "",
        f"{speed:,.0f} per second" if speed and speed >= 10 else f"{speed:.1f} per second" if speed else "",
        f"about {duration(left)} left" if left else f"{duration(pace.elapsed)} so far",
    ]
    return ", ".join(filter(None, parts))


def counted(reports: "Sequence[StoredReport]", note: Note | None, total: int) -> "list[StoredReport]":
    """The same reports, with their results counted together as they are read."""
    numbers = count(1)

    def pass_on(result: "CaseResult") -> "CaseResult":
        if note:
            number = next(numbers)
            note(number, number, total)
        return result

    return [report.changed(pass_on) for report in reports]


# How far a judged run is, on stderr: a line that is drawn again on a terminal, a line now and then elsewhere.


SECONDS_BETWEEN_LINES = 10.0


class Reporter:
    """Shows done, failed, rate, cost so far and time left, on stderr."""

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._said_stop = False
        self._last: Progress | None = None
        self._pace = Pace()
        self._line_at = time.monotonic()
        self._live: LiveLine | None = None

    @property
    def has_begun(self) -> bool:
        """The run has reached its first sample."""
        return self._last is not None

    def __enter__(self) -> "Reporter":
        if sys.stderr.isatty():
            self._live = LiveLine(self._line)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._live is not None:
            self._live.close()

    def update(self, progress: "Progress") -> None:
        """Show the progress: at once on a terminal, every few seconds elsewhere."""
        self._last = progress
        asked = progress.done + progress.failed - progress.stored_before
        self._pace.note(asked, asked, progress.total - progress.stored_before)
        if progress.interrupted and not self._said_stop:
            self._said_stop = True
            if self._live is not None:
                self._live.clear()
            click.echo(self._stopping(progress.under_way), err=True)
        if self._live is None and time.monotonic() - self._line_at >= SECONDS_BETWEEN_LINES:
            self._line_at = time.monotonic()
            click.echo(self._line(), err=True)

    def summary(self) -> str:
        """One sentence on what is judged and stored."""
        if self._last is None:
            return "Nothing was judged."
        return f"{self._last.done} of {self._last.total} judged and stored, {self._last.failed} failed."

    def _stopping(self, calls: int) -> str:
        if not calls:
            return "Stopping: no call is under way."
        return (
            f"Stopping: nothing new is sent. Waiting up to {self._grace:g} s for {calls} "
            f"call{'s' if calls > 1 else ''} under way, already paid for. Press Ctrl-C again to end at once."
        )

    def _line(self) -> str:
        """`12 of 40 judged, 1 failed, 2.5 per second, 0.0031 USD, about 10 s left`."""
        if self._last is None:
            return f"nothing judged yet, {duration(self._pace.elapsed)} so far"
        parts = [f"{self._last.done} of {self._last.total} judged", f"{self._last.failed} failed"]
        if speed := self._pace.rows_per_second:
            parts.append(f"{speed:.1f} per second")
        if self._last.cost is not None:
            parts.append(f"{self._last.cost:.4f} USD")
        left = self._pace.seconds_left
        parts.append(f"about {duration(left)} left" if left else f"{duration(self._pace.elapsed)} so far")
        return ", ".join(parts)
