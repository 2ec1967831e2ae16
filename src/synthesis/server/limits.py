"""How much the server takes on at once, how long one evaluation may take, and how much of an address is read."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from synthesis.cancellation import run_cancellable
from synthesis.server.errors import ApiError, busy

T = TypeVar("T")
MOST_WORDS = 200  # characters of a name, a tag or a search in an address


class Slots:
    """A fixed number of slots. A request that finds none free is refused at once: a queue would only hide the load."""

    def __init__(self, number: int, what: str) -> None:
        self._number = number
        self._what = what
        self.taken = 0

    def require_free(self) -> None:
        """429 if all are taken."""
        if self.taken >= self._number:
            raise busy(f"The limit of {self._number} {self._what} at once is reached.")

    def take(self) -> None:
        self.require_free()
        self.taken += 1

    def free(self) -> None:
        self.taken -= 1

    @contextmanager
    def one(self) -> Iterator[None]:
        self.take()
        try:
            yield
        finally:
            self.free()


async def in_thread(pool: ThreadPoolExecutor, seconds: float, work: Callable[[], T]) -> T:
    """Run work that would block the event loop in a thread; 408 if it takes too long.

    The work ends at its next checkpoint when nobody waits for it any more: after the timeout, and when the server
    ends. Otherwise two slow texts would hold both threads, and later requests would time out while they wait.
    """
    given_up = threading.Event()
    future = asyncio.get_running_loop().run_in_executor(pool, lambda: run_cancellable(work, given_up))
    try:
        return await asyncio.wait_for(future, seconds)
    except TimeoutError:
        message = f"The evaluation took longer than {seconds:g} seconds."
        raise ApiError(408, "too_slow", message, "Send a shorter text, or upload a file.") from None
    finally:
        given_up.set()
