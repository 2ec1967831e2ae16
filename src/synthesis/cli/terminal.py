"""What reaches a terminal: never a control character of the evaluated text, and progress only where someone looks."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from synthesis.printable import safe

__all__ = ["columns", "print_lines", "progress_bar", "safe", "warn"]

PATIENCE = 1.0  # seconds before progress is shown


def print_lines(lines: Iterable[str], *, err: bool = False, hang: int = 2) -> None:
    """Print lines, broken between words where a terminal shows them; a file or a pipe gets them whole.

    What is left of a line is `hang` columns further in, so that it is seen to belong there.
    """
    width = columns(err=err)
    colours = False if "NO_COLOR" in os.environ else None
    for line in lines:
        for row in _rows(line, width, hang) if width else (line,):
            click.echo(row, err=err, color=colours)


def columns(*, err: bool = False) -> int | None:
    """The width of the terminal that shows an output; None where none does."""
    stream = sys.stderr if err else sys.stdout
    try:
        return os.get_terminal_size(stream.fileno()).columns or None if stream.isatty() else None
    except (OSError, ValueError, AttributeError):  # no file behind it, as under a test or in a notebook
        return None


def _rows(line: str, width: int, hang: int) -> Iterator[str]:
    from synthesis.cli.wrapping import wrapped

    for own in line.split("\n"):
        yield from wrapped(own, width, hang)


def warn(message: str, colour: str = "yellow") -> None:
    """A line on standard error, beside a result that is on standard output."""
    print_lines([click.style(safe(message), fg=colour)], err=True)


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
