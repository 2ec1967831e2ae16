"""The worker of a process, which is kept from task to task."""

from synthesis.rules.ruleset import RuleSet
from synthesis.runner.table import make_worker
from synthesis.runner.work import Part, Task, Worker, WorkOrder

_kept: dict[str, Worker] = {}  # at most one


def work_here(order: WorkOrder, task: Task, rules: RuleSet | None = None) -> Part:
    """Do a task in this process; the kernel is made once for each run (whose folder of parts is its own)."""
    if order.parts not in _kept:
        _kept.clear()
        _kept[order.parts] = make_worker(order, rules)
    return _kept[order.parts].work(task)
