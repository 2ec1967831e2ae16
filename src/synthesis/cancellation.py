"""Work that may be given up: its caller sets a flag, and the work stops at its next checkpoint.

A thread cannot be ended from outside. Loops that can take seconds call `checkpoint()`, which costs some tens of
nanoseconds where nobody has asked for a cancellable run.
"""

from collections.abc import Callable
from contextvars import ContextVar
from threading import Event
from typing import TypeVar

T = TypeVar("T")
_flag: ContextVar[Event | None] = ContextVar("flag", default=None)


class Cancelled(BaseException):  # not an Exception: handlers of errors let it pass
    """The caller no longer waits for the result."""


def checkpoint() -> None:
    """Raise Cancelled if the work that this is part of was given up."""
    flag = _flag.get()
    if flag is not None and flag.is_set():
        raise Cancelled


def run_cancellable(work: Callable[[], T], flag: Event) -> T:
    """The result of `work`, which ends with Cancelled once `flag` is set."""
    token = _flag.set(flag)
    try:
        checkpoint()
        return work()
    finally:
        _flag.reset(token)
