"""Engines hand results on in the order of their tasks, whichever worker is ready first, and say what went wrong."""

import threading
from collections.abc import Callable

import pytest
from engine_jobs import Numbered, SlowFirst

from synthesis.run.engines import LocalEngine


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_tasks(workers: int) -> None:
    with LocalEngine(SlowFirst(), workers) as engine:
        assert list(engine.work(map(Numbered, range(6)))) == list(range(6))


class Failing:
    """The fourth task fails, and a thread is left with the fifth."""

    key = "failing"

    def __init__(self) -> None:
        self.done: list[int] = []

    def start(self) -> Callable[[Numbered], int]:
        def do(task: Numbered) -> int:
            if task.number == 3:
                raise ValueError("the fourth")
            self.done.append(task.number)
            return task.number

        return do


@pytest.mark.parametrize("workers", [1, 2])
def test_what_goes_wrong_in_a_thread_is_raised_where_results_are_awaited(workers: int) -> None:
    job, before = Failing(), threading.active_count()
    with LocalEngine(job, workers) as engine, pytest.raises(ValueError, match="the fourth"):
        list(engine.work(map(Numbered, range(1000))))
    assert len(job.done) < 20, "the tasks behind it are dropped"
    assert threading.active_count() == before
