"""What reaches a terminal: never a control character of the evaluated text, and progress only where someone looks."""

import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_VISIBLE_ESCAPES = {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
_UNSAFE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
PATIENCE = 1.0  # seconds before progress is shown


def safe(text: str, *, keep_lines: bool = False) -> str:
    """`text` with every control, format and surrogate character spelled out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char, keep_lines) for char in text)


def _shown(char: str, keep_lines: bool) -> str:
    if (char == "\n" and keep_lines) or unicodedata.category(char) not in _UNSAFE_CATEGORIES:
        return char
    return _VISIBLE_ESCAPES.get(ord(char)) or f"\\u{ord(char):04x}"


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
