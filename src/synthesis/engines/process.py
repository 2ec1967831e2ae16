"""The worker of a process, which is kept from task to task."""

from collections.abc import Callable

from synthesis.errors import SynthesisError
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.table import make_worker
from synthesis.runner.work import Part, Task, Worker, WorkOrder

_kept: dict[str, Worker] = {}  # at most one


def work_here(order: WorkOrder, task: Task, rules: RuleSet | None = None) -> Part:
    """Do a task in this process; the kernel is made once for each run (whose folder of parts is its own)."""
    return _worker(order.parts, lambda: make_worker(order, rules)).work(task)


def answer_here(run: str, order: Callable[[], WorkOrder], task: Task) -> Part | SynthesisError:
    """The same on a cluster, where the order is fetched once: what another try would not mend is an answer."""
    try:
        return _worker(run, lambda: make_worker(order())).work(task)
    except SynthesisError as error:  # plain, since not every kind of error travels
        return SynthesisError(error.message, place=error.place, hint=error.hint)


def _worker(run: str, make: Callable[[], Worker]) -> Worker:
    if run not in _kept:
        _kept.clear()
        _kept[run] = make()
    return _kept[run]


def part_of(answer: Part | SynthesisError) -> Part:
    if isinstance(answer, SynthesisError):
        raise answer
    return answer
