"""Cooperative cancellation: the caller sets a flag, and the work stops at its next checkpoint.

Python cannot kill a thread. Loops that can take seconds call `checkpoint()`, which costs some tens of nanoseconds in
a run that cannot be cancelled.
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
    """Raise Cancelled if the caller has cancelled this work."""
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
