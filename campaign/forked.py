"""A function in a forked child with limits on memory, processor time and patience; for kinds without threads."""

import os
import pickle
import resource
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from campaign.tally import Broken

MEMORY = 4 << 30  # of address space, beside what the parent has mapped already


def in_child(function: Callable[[], Any], seconds: int) -> tuple[Any, float]:
    """What it returns and the megabytes that it took at most, beside those that it was born with.

    Broken if it raises, dies, or takes more seconds of processor time.
    """
    reader, writer = os.pipe()
    inherited = _resident()
    pid = os.fork()
    if not pid:
        _work(function, writer, seconds)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        content = _read_until(file.fileno(), pid, 4 * seconds + 30)
    _, status, usage = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        raise Broken(f"takes more than {seconds} s of processor time")
    if code or not content:
        raise Broken(f"the process died with {code}")
    error, value = pickle.loads(content)
    if error:
        raise Broken(error)
    return value, usage.ru_maxrss / 1024 - inherited / (1 << 20)


def _work(function: Callable[[], Any], writer: int, seconds: int) -> None:
    """Never returns: the child must not run what its parent is in the middle of."""
    try:
        limit = _mapped() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        try:
            outcome: tuple[str, Any] = ("", function())
        except Broken as broken:
            outcome = (str(broken), None)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            outcome = (f"traceback: {type(error).__name__}: {str(error)[:120]} ({place.name}:{place.lineno})", None)
        with os.fdopen(writer, "wb") as file:
            pickle.dump(outcome, file)
        os._exit(0)
    finally:
        os._exit(70)


def _mapped() -> int:
    """Bytes of address space that the child begins with: a parent with many libraries may hold gigabytes."""
    return _bytes_of_this_process(0)


def _resident() -> int:
    """Bytes of memory that the child is born with."""
    return _bytes_of_this_process(1)


def _bytes_of_this_process(column: int) -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[column]
    return int(pages) * resource.getpagesize()


def _read_until(descriptor: int, pid: int, seconds: float) -> bytes:
    """All that the child writes; it is killed when the time is up, since it may also sleep for ever."""
    import select

    found, deadline = b"", time.monotonic() + seconds
    while True:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            os.kill(pid, signal.SIGKILL)
            return found
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            return found
        found += piece
