"""How a run stands while it runs: a live bar on a terminal, plain lines elsewhere."""

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

    def __init__(self) -> None:
        self._last: Progress | None = None
        self._began = time.monotonic()
        self._line_at = self._began
        self._bar: Any = None
        self._task: Any = None

    @property
    def has_begun(self) -> bool:
        """The run got as far as its first sample."""
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
        """Take in how the run stands; shown at once on a terminal, now and then elsewhere."""
        self._last = progress
        if self._bar is not None:
            self._update_bar(progress)
        elif time.monotonic() - self._line_at >= SECONDS_BETWEEN_LINES:
            self._line_at = time.monotonic()
            click.echo(self._line(progress), err=True)

    def standing(self) -> str:
        """One sentence on what is judged and stored."""
        if self._last is None:
            return "Nothing was judged."
        return f"{self._last.done} of {self._last.total} judged and stored, {self._last.failed} failed."

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
