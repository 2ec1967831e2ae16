"""Engines hand results on in the order of their tasks, whichever worker is ready first."""

import pytest
from engine_jobs import Numbered, SlowFirst

from synthesis.run.engines import LocalEngine


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_tasks(workers: int) -> None:
    with LocalEngine(SlowFirst(), workers) as engine:
        assert list(engine.work(map(Numbered, range(6)))) == list(range(6))
