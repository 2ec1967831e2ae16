"""One line on a terminal that tells how far a run is, from its first second on. Elsewhere there is none."""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING

from synthesis.cli.terminal import columns
from synthesis.run.files import Pace, duration

if TYPE_CHECKING:
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
