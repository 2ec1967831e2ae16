"""What reaches a terminal: never a control character of the evaluated text, and progress only where someone looks."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from synthesis.printable import safe

__all__ = ["progress_bar", "safe"]

PATIENCE = 1.0  # seconds before progress is shown


@contextmanager
def progress_bar(*, enabled: bool) -> Iterator[Callable[[int, int, int], None] | None]:
    """A function that takes cases, bytes and all bytes (0: unknown); None where no terminal shows it."""
    if not (enabled and sys.stderr.isatty()):
        yield None
        return
    bar = _Bar()
    try:
        yield bar.show
    finally:
        bar.close()


class _Bar:
    """Appears after a second: cases, megabytes per second, time left."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._progress: Any = None
        self._task: Any = None

    def show(self, cases: int, done: int, total: int) -> None:
        elapsed = time.monotonic() - self._begun
        if elapsed < PATIENCE:
            return
        if self._progress is None:
            self._start(total)
        speed = done / elapsed / 1e6
        self._progress.update(self._task, completed=done, description=f"{cases:,} cases, {speed:.1f} MB/s")

    def _start(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task("", total=total or None)
        self._progress.start()

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()
