"""How far a judged run is, on stderr: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from synthesis.judge.config import Progress

SECONDS_BETWEEN_LINES = 10.0


class Reporter:
    """Shows done, failed, rate, cost so far and time left, on stderr."""

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._said_stop = False
        self._last: Progress | None = None
        self._began = time.monotonic()
        self._line_at = self._began
        self._bar: Any = None
        self._task: Any = None

    @property
    def has_begun(self) -> bool:
        """The run has reached its first sample."""
        return self._last is not None

    def __enter__(self) -> "Reporter":
        if sys.stderr.isatty():
            self._bar = _bar()
            self._bar.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, progress: "Progress") -> None:
        """Show the progress: at once on a terminal, every few seconds elsewhere."""
        self._last = progress
        if progress.interrupted and not self._said_stop:
            self._said_stop = True
            click.echo(self._stopping(progress.under_way), err=True)
        if self._bar is not None:
            self._update_bar(progress)
        elif time.monotonic() - self._line_at >= SECONDS_BETWEEN_LINES:
            self._line_at = time.monotonic()
            click.echo(self._line(progress), err=True)

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

    def _update_bar(self, progress: "Progress") -> None:
        if self._task is None:
            self._task = self._bar.add_task("judged", total=progress.total, completed=progress.stored_before)
        self._bar.update(self._task, completed=progress.done, description=self._line(progress))

    def _line(self, progress: "Progress") -> str:
        seconds = max(time.monotonic() - self._began, 1e-9)
        rate = (progress.done + progress.failed - progress.stored_before) / seconds
        left = progress.total - progress.done - progress.failed
        parts = [f"{progress.done} of {progress.total} judged", f"{progress.failed} failed", f"{rate:.1f}/s"]
        if progress.cost is not None:
            parts.append(f"{progress.cost:.4f} USD")
        if rate and left:
            parts.append(f"about {_duration(left / rate)} left")
        return ", ".join(parts)


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(BarColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
