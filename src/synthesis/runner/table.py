"""The work on one unit where the results become a part of a table of verdicts."""

import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from msgspec.structs import replace

from synthesis.checks.registry import checks
from synthesis.errors import OutputError, Place
from synthesis.model import CaseResult
from synthesis.model.result import ERROR, FAIL
from synthesis.report.table import arrow, verdict_batch, verdict_schema
from synthesis.rules.ruleset import RuleSet
from synthesis.runner.manifest import PartRecord, file_hash, part_name, write_record
from synthesis.runner.reading import Reader, Reading
from synthesis.runner.work import Part, ReportWorker, Task, Worker, WorkOrder, make_kernel

ROW_GROUP = 10_000


def make_worker(order: WorkOrder, rules: RuleSet | None = None) -> Worker:
    """Who does the tasks of an order."""
    return TableWorker(order, rules) if order.table else ReportWorker(order, rules)


class TableWorker:
    """Writes verdicts as one Parquet file per task, then the record that it is finished."""

    def __init__(self, order: WorkOrder, rules: RuleSet | None = None) -> None:
        self._order = order
        self._kernel = make_kernel(order, rules)
        self._reader = Reader(order.rows, order.schema, order.keep)

    def work(self, task: Task) -> Part:
        """Evaluate the cases of a unit and write their verdicts; with problems, only tell these."""
        part = Part(task.number, task.unit.size)
        name = part_name(task.unit.file, task.index)
        with _PartTable(Path(self._order.table) / name) as table:
            for reading in self._reader.read(task.unit):
                part.seen += len(reading.cases)
                part.add_problems(reading.problems)
                wanted = self._order.filters.wanted(reading.cases)
                results = list(part.evaluate(wanted, self._kernel))
                shown = [result for result in results if self._shows(result)]
                table.write(to_batch(shown, reading, self._order.keep, [result.id for result in shown], placed=True))
            if not part.kinds:
                table.put_in_place()
        if not part.kinds:
            self._record(task, part, name)
        return part

    def _shows(self, result: CaseResult) -> bool:
        return not self._order.failures_only or result.outcome in {FAIL, ERROR}

    def _record(self, task: Task, part: Part, name: str) -> None:
        table = Path(self._order.table)
        record = PartRecord(
            file=task.unit.file,
            index=task.index,
            fingerprint=task.fingerprint,
            run=self._order.run,
            part=name,
            sha256=file_hash(table / name),
            size=part.size,
            seen=part.seen,
            tally=part.tally.counts(),
            warned=part.warned,
            warnings=part.warnings,
            examples=[_without_evidence(example) for example in part.examples],
        )
        write_record(table, record)


def _without_evidence(result: CaseResult) -> CaseResult:
    """An example as the console shows it: what the evidence holds of the texts does not lie beside the table."""
    bare = {name: replace(check, evidence={}, turns=()) for name, check in result.checks.items()}
    return replace(result, checks=bare)


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


class _PartTable:
    """A Parquet file that is written beside its place and put there when it is whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
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
            self._writer = pyarrow.parquet.ParquetWriter(self._beside, self._held[0].schema, compression="zstd")
        self._writer.write_table(pa.Table.from_batches(self._held))
        self._held = []

    def __enter__(self) -> "_PartTable":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            if self._writer is not None:
                self._writer.close()
            self._beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OutputError(
                f"cannot be written: {error.strerror or error}",
                place=Place(str(self._path)),
                hint="Choose another folder with --out-table.",
            ) from None
