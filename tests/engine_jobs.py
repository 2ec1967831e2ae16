"""A job that workers in other processes can import; its first task takes longest."""

import time
from collections.abc import Callable
from typing import NamedTuple


class Numbered(NamedTuple):
    number: int
    cargo: int = 0


class SlowFirst(NamedTuple):
    key: str = "slow first"

    def start(self) -> Callable[[Numbered], int]:
        return _number


def _number(task: Numbered) -> int:
    time.sleep(0 if task.number else 1)
    return task.number
