"""Tables of verdicts: parts written by workers, a manifest to resume from, and Arrow batches in and out."""

import hashlib
import sys
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from msgspec.structs import replace

from synthesis.checks.registry import checks, load_tables, named_checks, rules_in_force
from synthesis.checks.registry import checks as known_checks
from synthesis.errors import CaseError, InputError, OptionError, OutputError, Place
from synthesis.garbage import without_collection
from synthesis.io import held, part_path, refused_writes, replaced
from synthesis.lazy import regex
from synthesis.model import CaseResult, CheckResult
from synthesis.read.cases import CaseValidator
from synthesis.read.mapping import TEXT, with_message_columns
from synthesis.read.parquet import BATCH, require_kept
from synthesis.read.rows import KEEP_AS_ERROR, STOP, LogOptions, needed_columns, require_columns
from synthesis.read.shapes import id_column
from synthesis.report.table import arrow, verdict_batch, verdict_schema
from synthesis.rules.ruleset import RuleSet
from synthesis.run.blocks import (
    BlockResult,
    BlockTask,
    Example,
    Reader,
    Reading,
    ReportWorker,
    RunPlan,
    Worker,
    kind_of,
)
from synthesis.run.engines import Engine
from synthesis.run.evaluator import Evaluator
from synthesis.run.spec import known_profile, known_reader
from synthesis.settings import LEARNED, TRAFFIC

OURS = "_synthesis"
DONE = "_SUCCESS"
_PARTITION = regex(r"[^=/]+=[^/]*")
_PART = regex(r"part-[0-9a-f]{16}-[0-9]{6,}\.parquet")
_ELSEWHERE = "Choose another folder with --out-table."
_HINT = "Start over with --fresh, or choose another --out-table."


class PartRecord(msgspec.Struct, frozen=True):
    """A finished part: what it was made of, under which rules and options, and what came of it."""

    file: str
    index: int
    fingerprint: str
    run: str
    part: str
    sha256: str
    size: int
    seen: int
    tally: dict[str, Any]
    warned: int = 0
    warnings: list[str] = []
    examples: list[CaseResult] = []

    def to_result(self, number: int) -> BlockResult:
        block = BlockResult(number, self.size)
        block.seen, block.warned = self.seen, self.warned
        block.tally.add_counts(self.tally)
        block.warnings = list(self.warnings)
        block.examples = [Example(kind_of(result), result) for result in self.examples]
        return block


_decode_record = msgspec.json.Decoder(PartRecord).decode


def part_name(file: str, index: int) -> str:
    """Where the verdicts on a unit go: in the folders that part the input (`date=2026-01-01`), named after the file."""
    folders = [folder for folder in Path(file).parts[:-1] if _PARTITION.fullmatch(folder)]
    return "/".join([*folders, f"{_stem(file)}-{index:06}.parquet"])


def _stem(file: str) -> str:
    return f"part-{hashlib.sha256(file.encode()).hexdigest()[:16]}"


def run_hash(conditions: dict[str, Any]) -> str:
    return hashlib.sha256(msgspec.json.encode(conditions, order="sorted")).hexdigest()


def file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_record(table: Path, record: PartRecord) -> None:
    """The last step of a part's work; until then it is not finished."""
    with replaced(record_path(table, Path(record.part).name), hint=_ELSEWHERE) as file:
        file.write(msgspec.json.format(msgspec.json.encode(record), indent=1))


def record_path(table: Path, part: str) -> Path:
    return table / OURS / "parts" / f"{part.removesuffix('.parquet')}.json"


class Manifest:
    """The finished parts of one table; knows the rules and options of the run that asks."""

    def __init__(self, table: Path, conditions: dict[str, Any]) -> None:
        self._table = table
        self._conditions = conditions
        self.run = run_hash(conditions)
        self._left: set[str] = set()  # names of recorded parts that no task has asked for yet

    def open(self, files: Collection[str], *, fresh: bool) -> None:
        """Make the folder ready: InputError if what it holds does not belong to this run."""
        if fresh:
            with self._changing():
                self._clear()
        if (self._table / OURS / "run.json").exists():
            self._require_same_run()
            self._left = {path.stem for path in (self._table / OURS / "parts").glob("part-*.json")}
        elif self._table.is_dir() and any(path.name != OURS for path in self._table.iterdir()):
            raise self._refusal("is not a table that synthesis wrote", "Choose another --out-table.")
        known = {_stem(file) for file in files}
        for name in sorted(self._left):
            if name.rpartition("-")[0] not in known:
                raise self._refusal(
                    f"holds verdicts on {self._record(name).file}, which is not among the inputs", _HINT
                )
        with replaced(self._table / OURS / "run.json", hint=_ELSEWHERE) as file:
            file.write(msgspec.json.format(msgspec.json.encode(self._conditions, order="sorted"), indent=2))
        with self._changing():
            (self._table / DONE).unlink(missing_ok=True)

    def find(self, task: BlockTask) -> BlockResult | None:
        """What came of a task earlier, if it is finished and whole."""
        name = Path(part_name(task.unit.file, task.index)).stem
        if name not in self._left:
            return None
        self._left.remove(name)
        record = self._record(name)
        if record.fingerprint != task.fingerprint:
            raise self._refusal(f"holds verdicts on {record.file} as it was before it changed", _HINT)
        part = self._table / record.part
        if record.run != self.run or not part.is_file() or file_hash(part) != record.sha256:
            return None
        return record.to_result(task.number)

    def finish(self) -> None:
        """All is done: nothing is left over from input that has become shorter."""
        for name in sorted(self._left):
            file = self._record(name).file
            raise self._refusal(f"holds verdicts on more of {file} than there is now", _HINT)
        with self._changing():
            (self._table / DONE).touch()

    def _record(self, name: str) -> PartRecord:
        path = record_path(self._table, name)
        try:
            return _decode_record(path.read_bytes())
        except (OSError, msgspec.DecodeError) as error:
            raise InputError(f"is not a valid record of a part: {error}", place=Place(str(path)), hint=_HINT) from None

    def _require_same_run(self) -> None:
        path = self._table / OURS / "run.json"
        try:
            earlier = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        except (OSError, msgspec.DecodeError) as error:
            raise InputError(f"cannot be read: {error}", place=Place(str(path)), hint=_HINT) from None
        present = msgspec.json.decode(msgspec.json.encode(self._conditions))
        if earlier.keys() != present.keys():
            raise self._refusal("was written by another version of synthesis and cannot be resumed", _HINT)
        other = [name.replace("_", " ") for name in sorted(present) if earlier[name] != present[name]]
        if other:
            raise self._refusal(f"holds verdicts of a run that differs in: {', '.join(other)}", _HINT)

    def _clear(self) -> None:
        """Remove a table that synthesis wrote, and nothing else."""
        if not (self._table / OURS / "run.json").exists():
            return
        parts = [path for path in self._table.rglob("part-*.parquet") if _PART.fullmatch(path.name)]
        records = (self._table / OURS / "parts").glob("*.json")
        last = self._table / OURS / "run.json"  # marks the rest as ours, should this be cut short
        for path in [*parts, *self._table.rglob(".*.part"), *records, self._table / DONE, last]:
            path.unlink(missing_ok=True)
        for folder in sorted((path for path in self._table.rglob("*") if path.is_dir()), reverse=True):
            with suppress(OSError):  # not empty
                folder.rmdir()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            place = Place(str(error.filename or self._table))
            raise OutputError(f"cannot be changed: {error.strerror}", place=place, hint=_HINT) from None

    def _refusal(self, message: str, hint: str) -> InputError:
        return InputError(message, place=Place(str(self._table)), hint=hint)


class ResumingEngine:
    """Takes finished parts from the manifest and passes only the other tasks on; the order of the tasks is kept."""

    def __init__(self, engine: Engine[BlockTask, BlockResult], manifest: Manifest) -> None:
        self._engine = engine
        self._manifest = manifest

    def work(self, tasks: Iterator[BlockTask]) -> Iterator[BlockResult]:
        places: deque[BlockResult | None] = deque()  # None: a result that the engine will bring

        def unfinished() -> Iterator[BlockTask]:
            for task in tasks:
                found = self._manifest.find(task)
                places.append(found)
                if found is None:
                    yield task

        for result in self._engine.work(unfinished()):
            while (earlier := places.popleft()) is not None:
                yield earlier
            yield result
        yield from (result for result in places if result is not None)


# One unit of work becomes one part of the table.


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
                results = block.evaluate(wanted, self._evaluator.evaluate)
                shown = [result for result in results if self._spec.shows(result)]
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
            examples=[_without_evidence(example.result) for example in block.examples],
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
        self._beside = part_path(path)
        self._lock = ExitStack()
        self._held: list[Any] = []
        self._writer: Any = None

    def write(self, batch: Any) -> None:
        self._held.append(batch)
        if sum(held.num_rows for held in self._held) >= ROW_GROUP:
            self._flush()

    def put_in_place(self) -> None:
        self._flush()
        with refused_writes(self._path, _ELSEWHERE):
            self._writer.close()
            self._beside.replace(self._path)

    def _flush(self) -> None:
        if not self._held:
            return
        with refused_writes(self._path, _ELSEWHERE):
            if self._writer is None:
                self._open()
            self._writer.write_table(arrow().Table.from_batches(self._held))
        self._held = []

    def _open(self) -> None:
        import pyarrow.parquet

        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._lock.enter_context(held(self._beside))
        self._writer = pyarrow.parquet.ParquetWriter(self._beside, self._held[0].schema, compression="zstd")

    def __enter__(self) -> "_PartFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock, suppress(OSError):
            if self._writer is not None:
                self._writer.close()
            self._beside.unlink(missing_ok=True)


# Arrow record batches of conversations become record batches of verdicts.


_SHOWN = "the table"


class BatchEvaluator(msgspec.Struct, frozen=True, kw_only=True):
    """A function from record batch to record batch; small, and safe to send to other processes.

    `user` and `assistant`, or `messages`, and `id` and `lang` name columns that have other names; a column
    `checks` says which checks a row asks for, else `checks` do. `keep` names columns to be copied beside the verdicts.
    """

    user: str | None = None
    assistant: str | None = None
    messages: str | None = None
    id: str | None = None
    lang: str | None = None
    checks: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    on_bad_row: str = KEEP_AS_ERROR
    language: str | None = None
    profile: str = TRAFFIC
    reader: str = LEARNED
    rules: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        load_tables(self.rules)
        msgspec.structs.force_setattr(self, "checks", named_checks(self.checks))
        for field in ("keep", "rules", "disable"):
            msgspec.structs.force_setattr(self, field, tuple(getattr(self, field)))  # lists are welcome too
        msgspec.structs.force_setattr(self, "profile", known_profile(self.profile))
        known_reader(self.reader)
        if self.on_bad_row not in (STOP, KEEP_AS_ERROR):
            raise OptionError(f"on_bad_row must be 'stop' or 'error', not '{self.on_bad_row}'")
        if self.messages and (self.user or self.assistant):
            raise OptionError("'messages' is named together with 'user' or 'assistant'", hint="Choose one of the two.")

    def __call__(self, batch: Any, first_row: int = 1) -> Any:
        """The verdicts on a batch, in its order; with `on_bad_row="stop"` a CaseError that names the bad rows."""
        schema = self.schema(batch.schema)
        reading = _reader(self).batch(batch.select(self.needed(batch.schema.names)), first_row, _SHOWN)
        if reading.problems:
            raise CaseError(reading.problems, file=_SHOWN)
        results = _evaluator(self).evaluate(reading.cases)
        return to_batch(results, reading, self.keep, self._ids(results, batch)).cast(schema)

    def schema(self, given: Any) -> Any:
        """What the verdicts on a table with the schema `given` look like; OptionError if a column is missing."""
        if TEXT in with_message_columns(self.columns, given.names):
            hint = "Give a row for each conversation, with a column of messages; `synthesis eval` joins rows of files."
            raise OptionError("a row of the table is one message, and batches cut conversations in two", hint=hint)
        require_columns(given.names, _reader(self).options, _SHOWN)
        require_kept(given.names, self.keep, _SHOWN)
        return verdict_schema(known_checks(), [given.field(name) for name in self.keep])

    def needed(self, present: Iterable[str]) -> list[str]:
        """The columns that are read, of those that are present."""
        return needed_columns([*present], _reader(self).options, self.keep)

    @property
    def columns(self) -> dict[str, str]:
        """Fields of a case -> columns that were named for them."""
        named = {name: getattr(self, name) for name in ("user", "assistant", "messages", "id", "lang")}
        return {name: column for name, column in named.items() if column}

    def _ids(self, results: Sequence[CaseResult], batch: Any) -> list[str | None]:
        """The rows' own ids; a batch does not know its place in the table, so other rows have none."""
        name = self.id or id_column(tuple(batch.schema.names))
        if name not in batch.schema.names:
            return [None] * len(results)
        given = batch.column(name).is_valid().to_pylist()
        return [result.id if own else None for result, own in zip(results, given, strict=True)]


def evaluate_table(data: Any, **options: Any) -> Any:
    """The verdicts on an Arrow table, record batches or a data frame, as a table; see `BatchEvaluator`."""
    pa = arrow()
    evaluator = BatchEvaluator(**options)
    batches = _batches(data)
    first = next(batches, None)
    if first is None:
        raise OptionError("there are no record batches", hint="Give a table, or batches with at least one among them.")
    schema = evaluator.schema(first.schema)
    return pa.Table.from_batches(evaluate_batches(chain([first], batches), evaluator), schema)


def evaluate_batches(batches: Iterable[Any], evaluator: BatchEvaluator) -> Iterator[Any]:
    """Batch after batch, as they come, so that no more than one is in memory."""
    row = 1
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH):
            yield evaluator(batch.slice(start, BATCH), row + start)
        row += batch.num_rows


def _batches(data: Any) -> Iterator[Any]:
    pa = arrow()
    if isinstance(data, pa.RecordBatch):
        yield data
    elif isinstance(data, pa.Table):
        yield from data.to_batches() or [pa.RecordBatch.from_pylist([], schema=data.schema)]
    elif hasattr(data, "__arrow_c_stream__") and not isinstance(data, pa.RecordBatchReader):  # pandas, Polars
        yield from _batches(pa.RecordBatchReader.from_stream(data).read_all())
    else:
        yield from data


@cache
def _reader(evaluator: BatchEvaluator) -> Reader:
    validator = CaseValidator(known_checks())
    # The caller holds the batch already, so there is no row that is too long for the memory.
    options = LogOptions(validator, evaluator.checks, evaluator.columns, sys.maxsize)
    return Reader(options, evaluator.on_bad_row, evaluator.keep)


@cache
def _evaluator(evaluator: BatchEvaluator) -> Evaluator:
    rules = rules_in_force(evaluator.rules, evaluator.disable, evaluator.reader)
    return Evaluator(rules, profile=evaluator.profile, keep_text=False, language=evaluator.language)
