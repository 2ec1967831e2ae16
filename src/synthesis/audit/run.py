"""An audit over files: read in blocks, evaluated and counted by the workers of any engine, nothing kept but counts."""

import os
from collections.abc import Callable

import msgspec

from synthesis.audit.options import AuditOptions
from synthesis.audit.tally import AuditTally
from synthesis.checks.registry import rules_in_force
from synthesis.engines.base import LOCAL, start_engine
from synthesis.errors import InputError
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.block import BlockResult, BlockTask, RunPlan, without_collection
from synthesis.runner.files import settled
from synthesis.runner.leftovers import WorkFolder
from synthesis.runner.reading import Reader
from synthesis.runner.run import BATCH, batches, run_conditions
from synthesis.runner.spec import RunSpec
from synthesis.runner.stream import Progress, run_blocks, useful_workers
from synthesis.settings import AUTHORED

_NOT_UTF_8 = "is not UTF-8"
_ENCODING = "A log is JSON Lines, CSV or Parquet; save a text that was written otherwise as UTF-8."
_FIELDS = (
    "--map user=NAME,assistant=NAME names the fields of a log that calls them otherwise; where a row is one message, "
    "--map conversation=NAME,role=NAME,text=NAME does."
)


class Audited(msgspec.Struct, frozen=True):
    """The counts, and under which conditions they came about."""

    tally: AuditTally
    conditions: dict[str, object]
    groups: dict[str, str]  # rule -> its group
    is_stored: bool = False  # counted from results that were stored


def audit_files(spec: RunSpec, options: AuditOptions, progress: Progress | None = None) -> Audited:
    """Evaluate the files and count."""
    spec = settled(msgspec.structs.replace(spec, facts=options.by, any_id=True))
    rules = rules_in_force(spec.rules, spec.disabled)
    tally = new_tally(spec, options)
    with WorkFolder(None) as folder:
        plan = RunPlan(spec if spec.engine == LOCAL else spec.absolute(), str(folder))
        job = AuditJob(plan, options, rules)
        with start_engine(spec.engine, job, useful_workers(spec), spec.address) as engine:
            totals = run_blocks(plan, engine, progress, None, tally)
    _require_some(tally)
    conditions = {**run_conditions(rules, spec.profile or AUTHORED), "input": {"sha256": totals.input_hash}}
    return Audited(tally, conditions, {rule.id: rule.group for rule in rules.rules})


def _require_some(tally: AuditTally) -> None:
    if tally.cases and tally.told["errors"] == tally.cases:
        reasons = "".join(f"\n  {row}" for row in tally.unread)
        hint = _ENCODING if all(_NOT_UTF_8 in row.why for row in tally.unread) else _FIELDS
        raise InputError(f"no row could be read, so there is nothing to count{reasons}", hint=hint)


def new_tally(spec: RunSpec, options: AuditOptions) -> AuditTally:
    return AuditTally(options, [file.name for file in spec.inputs])


class AuditJob:
    """What an engine is given: every worker makes its own evaluator."""

    def __init__(self, plan: RunPlan, options: AuditOptions, rules: RuleSet | None = None) -> None:
        self._plan = plan
        self._options = options
        self._rules = rules
        self.key = f"audit {os.path.basename(plan.folder)}"

    def start(self) -> Callable[[BlockTask], BlockResult]:
        return AuditWorker(self._plan, self._options, self._rules).work

    def __reduce__(self) -> tuple[type["AuditJob"], tuple[RunPlan, AuditOptions]]:
        return AuditJob, (self._plan, self._options)  # compiled rules do not travel: another process loads them


class AuditWorker:
    """Counts the cases of a block; words end here, unless redacted excerpts were asked for."""

    def __init__(self, plan: RunPlan, options: AuditOptions, rules: RuleSet | None = None) -> None:
        spec = msgspec.structs.replace(plan.spec, keep_text=options.keeps_text)
        self._spec = spec
        self._options = options
        self._evaluator = msgspec.structs.replace(plan, spec=spec).evaluator(rules)
        self._reader = Reader.of(spec)

    def work(self, task: BlockTask) -> BlockResult:
        with without_collection():
            return self._work(task)

    def _work(self, task: BlockTask) -> BlockResult:
        tally = new_tally(self._spec, self._options)
        block = BlockResult(task.number, task.unit.size, tally=tally)
        for reading in self._reader.read(task.unit):
            block.seen += len(reading.cases)
            block.add_problems(reading.problems)
            for batch in batches(reading.cases, BATCH):
                for case, result in zip(batch, self._evaluator.evaluate(batch), strict=True):
                    tally.add_case(case, result)
        return block
