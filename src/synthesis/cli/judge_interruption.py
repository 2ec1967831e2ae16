"""Ctrl-C and SIGTERM during a judged run: the first waits for calls that are paid for, the second does not."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from synthesis.cli import exits

T = TypeVar("T")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LAST_STEPS = 1.5  # seconds after the second signal to record abandoned calls


def run_interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Run `work`. The first signal cancels it, and it may wait; raises `CancelledError` when it has ended."""
    with asyncio.Runner() as runner:
        task = runner.get_loop().create_task(work)
        handler = _Handler(runner.get_loop(), task)
        before = {number: signal.signal(number, handler) for number in _SIGNALS}
        try:
            with _woken_by_signals(runner.get_loop()):
                return runner.run(_outcome(task))
        finally:
            for number, previous in before.items():
                signal.signal(number, previous)


@contextmanager
def _woken_by_signals(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Python notes a signal and calls its handler later: a loop that waits by then has to be woken, or waits on."""
    reader, writer = socket.socketpair()
    reader.setblocking(False)
    writer.setblocking(False)
    with reader, writer:
        with suppress(NotImplementedError):  # the loop of Windows takes no readers
            loop.add_reader(reader, reader.recv, 64)
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            with suppress(NotImplementedError):
                loop.remove_reader(reader)


async def _outcome(task: "asyncio.Task[T]") -> T:
    return await task


class _Handler:
    """Python calls it between two instructions of the main thread, so it works while files are written, too."""

    def __init__(self, loop: asyncio.AbstractEventLoop, task: "asyncio.Task[Any]") -> None:
        self._loop = loop
        self._task = task
        self._signals = 0

    def __call__(self, *_: object) -> None:
        self._signals += 1
        self._loop.call_soon_threadsafe(self._task.cancel)
        if self._signals > 1:
            # The journal is safe at every moment, so a long report may be left.
            last = threading.Timer(_LAST_STEPS, os._exit, [exits.INTERRUPTED])
            last.daemon = True
            last.start()
