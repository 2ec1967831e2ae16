"""How far a judged run is, on stderr: a line that is drawn again on a terminal, a line now and then elsewhere."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

import click

from synthesis.cli.progress import LiveLine
from synthesis.run.files import Pace, duration

if TYPE_CHECKING:
    from synthesis.judge.config import Progress

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
