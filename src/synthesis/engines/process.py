"""The worker of a process, which is kept from task to task."""

from synthesis.errors import SynthesisError
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


def answer_here(order: WorkOrder, task: Task) -> Part | SynthesisError:
    """The same on a cluster: what doing the task again would not mend is an answer, not a failure."""
    try:
        return work_here(order, task)
    except SynthesisError as error:  # plain, since not every kind of error travels
        return SynthesisError(error.message, place=error.place, hint=error.hint)


def part_of(answer: Part | SynthesisError) -> Part:
    if isinstance(answer, SynthesisError):
        raise answer
    return answer
