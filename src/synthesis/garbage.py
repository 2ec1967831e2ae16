"""Python's search for reference cycles, left off where many objects without any are made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """No search for cycles while many hits, results or verdicts are made: it would grow with their number.

    It takes an eighth of the time of a run, and three times the time of a text with a hundred thousand hits. Used as a
    decorator, it holds for each call.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
