"""What is finished of a table of verdicts, so that a run that was cut short resumes where it stopped.

    verdicts/part-<file>-<number>.parquet       rows, in folders like `date=2026-01-01` where the input had such
    verdicts/_synthesis/run.json                rules and options of the run
    verdicts/_synthesis/parts/part-….json       one record per finished part, written after it by the same worker
    verdicts/_SUCCESS                           everything is there

A part and its record appear whole or not at all, and the same work gives the same bytes: no row is lost or doubled if
a worker is killed, or if two workers do the same part.
"""

import hashlib
import re
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from synthesis.engines.base import Engine
from synthesis.errors import InputError, OutputError, Place
from synthesis.model import CaseResult
from synthesis.report.files import replaced
from synthesis.runner.block import BlockResult, BlockTask

OURS = "_synthesis"
DONE = "_SUCCESS"
_PARTITION = re.compile(r"[^=/]+=[^/]*")
_PART = re.compile(r"part-[0-9a-f]{16}-[0-9]{6,}\.parquet")
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
        block.warnings, block.examples = list(self.warnings), list(self.examples)
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
    with replaced(record_path(table, Path(record.part).name)) as file:
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
        with replaced(self._table / OURS / "run.json") as file:
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
