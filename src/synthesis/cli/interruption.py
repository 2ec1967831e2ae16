"""Ctrl-C and SIGTERM during a run: the first ends it in order, within two seconds, and says what is dropped."""

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

import click

from synthesis.cli import exits
from synthesis.cli.terminal import safe
from synthesis.run.spec import RunSpec

SIGNALS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 1.5  # seconds for workers to end and for files to be removed; the next run removes what is left
_Progress = Callable[[int, int, int], None]


class Interruption:
    """Watches over a run from its options to the last line that it prints."""

    def __init__(self) -> None:
        self._spec: RunSpec | None = None
        self._cases = 0
        self._is_written = False
        self._is_told = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():  # elsewhere Python allows no handlers
            self._before = {number: signal.signal(number, self._first) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            self._tell()
            raise click.exceptions.Exit(exits.INTERRUPTED)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def begin(self, spec: RunSpec) -> None:
        self._spec = spec

    def counting(self, progress: _Progress | None) -> _Progress:
        """The progress of the run, with the cases counted for what is told if it is interrupted."""

        def count(cases: int, done: int, total: int) -> None:
            self._cases = cases
            if progress:
                progress(cases, done, total)

        return count

    def written(self) -> None:
        self._is_written = True

    def _first(self, number: int, frame: FrameType | None) -> None:
        for known in SIGNALS:
            signal.signal(known, self._again)
        timer = threading.Timer(PATIENCE, self._leave)
        timer.daemon = True
        timer.start()
        raise KeyboardInterrupt

    def _again(self, number: int, frame: FrameType | None) -> None:
        self._leave()

    def _leave(self) -> None:
        self._tell()
        os._exit(exits.INTERRUPTED)

    def _tell(self) -> None:
        if not self._is_told:
            self._is_told = True
            # Past the buffers of `sys.stderr`, which may be in the middle of a line when a signal comes.
            line = "\r\x1b[2K" if os.isatty(2) else ""  # the line of progress may still be there
            os.write(2, f"{line}Interrupted: {safe(self._message())}\n".encode())

    def _message(self) -> str:
        spec = self._spec
        if spec is None:
            return "nothing was evaluated."
        if self._is_written:
            return f"the report is in {spec.out}; what was to be made of it is missing."
        if spec.table:
            return (
                f"{self._cases:,} cases were read and no report was written. Finished parts are kept in {spec.table}: "
                "the same command resumes there."
            )
        return f"the results of {self._cases:,} cases are dropped and no report was written."
