"""The work on one unit where the results become a part of a table of verdicts."""

import secrets
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from msgspec.structs import replace

from synthesis.checks.registry import checks
from synthesis.errors import OutputError, Place
from synthesis.io import held, host
from synthesis.model import CaseResult, CheckResult
from synthesis.report.table import arrow, verdict_batch, verdict_schema
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.block import BlockResult, BlockTask, ReportWorker, RunPlan, Worker, without_collection
from synthesis.runner.manifest import PartRecord, file_hash, part_name, write_record
from synthesis.runner.reading import Reader, Reading

ROW_GROUP = 10_000


def make_worker(plan: RunPlan, rules: RuleSet | None = None) -> Worker:
    """Who does the tasks of a run."""
    return TableWorker(plan, rules) if plan.spec.table else ReportWorker(plan, rules)


class TableWorker:
    """Writes verdicts as one Parquet file per task, then the record that it is finished."""

    def __init__(self, plan: RunPlan, rules: RuleSet | None = None) -> None:
        self._plan = plan
        self._spec = plan.spec
        self._table = plan.spec.table or Path()
        self._evaluator = plan.evaluator(rules)
        self._selection = plan.selection()
        self._reader = Reader.of(plan.spec)

    def work(self, task: BlockTask) -> BlockResult:
        """Evaluate the cases of a unit and write their verdicts; with problems, only report these."""
        with without_collection():
            return self._work(task)

    def _work(self, task: BlockTask) -> BlockResult:
        block = BlockResult(task.number, task.unit.size)
        name = part_name(task.unit.file, task.index)
        with _PartFile(self._table / name) as file:
            for reading in self._reader.read(task.unit):
                block.seen += len(reading.cases)
                block.add_problems(reading.problems)
                wanted = self._selection.wanted(reading.cases)
                shown = [result for result in block.evaluate(wanted, self._evaluator) if self._spec.shows(result)]
                file.write(to_batch(shown, reading, self._spec.keep, [result.id for result in shown], placed=True))
            if not block.kinds:
                file.put_in_place()
        if not block.kinds:
            self._record(task, block, name)
        return block

    def _record(self, task: BlockTask, block: BlockResult, name: str) -> None:
        record = PartRecord(
            file=task.unit.file,
            index=task.index,
            fingerprint=task.fingerprint,
            run=self._plan.run,
            part=name,
            sha256=file_hash(self._table / name),
            size=block.size,
            seen=block.seen,
            tally=block.tally.counts(),
            warned=block.warned,
            warnings=block.warnings,
            examples=[_without_evidence(example) for example in block.examples],
        )
        write_record(self._table, record)


def _without_evidence(result: CaseResult) -> CaseResult:
    """An example as the console shows it: no text that the evidence quotes is kept beside the table."""
    return replace(result, checks={name: _bare(check) for name, check in result.checks.items()})


def _bare(check: CheckResult) -> CheckResult:
    return replace(check, evidence={}, turns=tuple(map(_bare, check.turns)))


def to_batch(
    results: Sequence[CaseResult],
    reading: Reading,
    keep: Sequence[str],
    ids: Sequence[str | None],
    *,
    placed: bool = False,
) -> Any:
    """Verdicts as a record batch, with the kept columns of the rows that they are on."""
    fields = [reading.batch.schema.field(name) for name in keep]
    schema = verdict_schema(checks(), fields, placed=placed)
    if not keep:
        return verdict_batch(results, schema, ids)
    rows = [result.source.line - reading.first_line for result in results if result.source]
    kept = reading.batch.select(list(keep)).take(arrow().array(rows, arrow().int64()))
    return verdict_batch(results, schema, ids, kept)


class _PartFile:
    """A Parquet file that is written beside its place and put there when it is whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._beside = path.with_name(f".{path.name}.{host()}.{secrets.token_hex(6)}.part")
        self._lock = ExitStack()
        self._held: list[Any] = []
        self._writer: Any = None

    def write(self, batch: Any) -> None:
        self._held.append(batch)
        if sum(held.num_rows for held in self._held) >= ROW_GROUP:
            self._flush()

    def put_in_place(self) -> None:
        self._flush()
        self._writer.close()
        self._beside.replace(self._path)

    def _flush(self) -> None:
        if not self._held:
            return
        pa = arrow()
        if self._writer is None:
            import pyarrow.parquet

            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.enter_context(held(self._beside))
            self._writer = pyarrow.parquet.ParquetWriter(self._beside, self._held[0].schema, compression="zstd")
        self._writer.write_table(pa.Table.from_batches(self._held))
        self._held = []

    def __enter__(self) -> "_PartFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock, suppress(OSError):
            if self._writer is not None:
                self._writer.close()
            self._beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OutputError(
                f"cannot be written: {error.strerror or error}",
                place=Place(str(self._path)),
                hint="Choose another folder with --out-table.",
            ) from None
