"""A whole run over files of any size, from the specification to the written report, at constant memory."""

import hashlib
import os
import secrets
import shutil
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import gettempdir
from types import TracebackType
from typing import Any

import msgspec

from synthesis.checks.registry import rules_in_force
from synthesis.checks.similarity import DEFAULT_NAME, adapter_name
from synthesis.errors import SHOWN_PROBLEMS, CaseError, OptionError, Problem, shorten
from synthesis.io import CHOOSE_ANOTHER, claimed, held, host, is_stream, refused_writes, require_writable
from synthesis.lazy import regex
from synthesis.model import CaseResult
from synthesis.model.report import Report
from synthesis.read.cases import no_cases
from synthesis.read.inputs import Input, completed_columns
from synthesis.read.mapping import CONVERSATION
from synthesis.read.parquet import RowRange
from synthesis.report.findings import ErrorGroups
from synthesis.report.stored import Parts, join_report, join_results
from synthesis.report.table import TABLE_VERSION
from synthesis.rules.native.library import library
from synthesis.rules.ruleset import RuleSet
from synthesis.run.blocks import (
    EXAMPLES,
    BlockResult,
    BlockTask,
    DuplicateIds,
    RunPlan,
    Unit,
    chosen_places,
    count_alike,
    file_units,
)
from synthesis.run.engines import LOCAL, Engine, start_engine
from synthesis.run.spec import RunSpec
from synthesis.run.table import Manifest, ResumingEngine, make_worker
from synthesis.run.tally import Tally, failures_of, run_conditions
from synthesis.settings import AUTHORED, TRAFFIC

LOCK = "lock"
# Without a host: as version 0.1 named them.
_FOLDER = regex(r"\.synthesis-(?:(?P<host>.+)-[0-9a-f]{12}|[a-z0-9_]{8})")
_PART = regex(r"\..+?(?:\.(?P<host>[A-Za-z0-9_-]+))?\.[0-9a-f]{12}\.part")


class WorkFolder:
    """A folder of a run's own beside its output, removed at its end; in the system's place without an output."""

    def __init__(self, parent: Path | None) -> None:
        self._parent = parent or Path(gettempdir())
        self._path = Path()
        self._lock = ExitStack()

    def __enter__(self) -> Path:
        with refused_writes(self._parent, CHOOSE_ANOTHER):
            self._parent.mkdir(parents=True, exist_ok=True)
            while not self._made():
                pass
        return self._path

    def _made(self) -> bool:
        self._path = self._parent / f".synthesis-{host()}-{secrets.token_hex(6)}"
        self._path.mkdir(mode=0o700)
        try:
            self._lock.enter_context(held(self._path / LOCK))
        except FileNotFoundError:  # another run took it for abandoned before it was locked
            if self._path.exists():
                raise
            return False
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            shutil.rmtree(self._path, ignore_errors=True)


def sweep(folders: Iterable[Path]) -> list[str]:
    """Remove what dead runs of this host left in these folders; what may belong to others is returned."""
    candidates = [path for folder in dict.fromkeys(folders) if folder.is_dir() for path in sorted(folder.iterdir())]
    return [str(path) for path in candidates if _is_foreign(path)]


def sweep_table(table: Path) -> list[str]:
    """The same for the parts of a table, in all of its folders."""
    return [str(path) for path in sorted(table.rglob(".*.part")) if _is_foreign(path)]


def _is_foreign(path: Path) -> bool:
    """Whether a path is what a run leaves, and not one of this host; if it is of a dead run here, it is removed."""
    found = (_FOLDER if path.is_dir() else _PART).fullmatch(path.name)
    if found is None or found["host"] != host():
        return found is not None
    with suppress(OSError):  # gone meanwhile, or not ours to remove
        _remove_if_abandoned(path)
    return False


def _remove_if_abandoned(path: Path) -> None:
    is_folder = path.is_dir()
    with claimed(path / LOCK if is_folder else path) as is_free:
        if is_free and is_folder:
            shutil.rmtree(path)
        elif is_free:
            path.unlink()


def output_folders(paths: Iterable[Path | None]) -> Iterator[Path]:
    """Where the output files are; the folder of a device or a pipe is none of ours to work in."""
    files = (path for path in paths if path is not None and not is_stream(path))
    return ((path.resolve() if path.is_symlink() else path).parent for path in files)


# The speed of a run and the time left, from what is finished.


WINDOW = 20.0  # seconds that count for the pace: long enough to be steady, short enough to follow a change
Clock = Callable[[], float]


class Pace:
    """Takes what is finished as it comes. Rows are what people count; `done` of `total` is what the time left needs."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._begun = clock()
        self._notes: deque[tuple[float, int, int]] = deque([(self._begun, 0, 0)])  # when, rows, done
        self.rows = 0
        self.done = 0
        self.total = 0

    def note(self, rows: int, done: int, total: int) -> None:
        """So many rows are finished, and so much of a total (0: unknown)."""
        now = self._clock()
        self.rows, self.done, self.total = rows, done, total
        self._notes.append((now, rows, done))
        while len(self._notes) > 2 and self._notes[1][0] < now - WINDOW:
            self._notes.popleft()

    @property
    def elapsed(self) -> float:
        return self._clock() - self._begun

    @property
    def rows_per_second(self) -> float | None:
        """None before the first rows."""
        return self._speed(1)

    @property
    def seconds_left(self) -> float | None:
        """Counts down between two notes; None where the total is unknown, or where the estimate has run out."""
        speed = self._speed(2)
        if not speed or not self.total:
            return None
        left = (self.total - self.done) / speed - (self._clock() - self._notes[-1][0])
        return left if left > 0 else None

    def _speed(self, field: int) -> float | None:
        first, last = self._notes[0], self._notes[-1]
        seconds = last[0] - first[0]
        return (last[field] - first[field]) / seconds if seconds > 0 and last[field] > first[field] else None


def duration(seconds: float) -> str:
    """`40 s`, `2 min 5 s`, `3 h 10 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


# Blocks go to workers, and their results become figures.


Progress = Callable[[int, int, int], None]  # cases so far, bytes so far, bytes in all (0: unknown)


class StreamTotals(msgspec.Struct):
    """What the blocks of a run add up to; the results themselves are in files, unless there is no file for them."""

    tally: Tally
    parts: Parts
    warnings: list[str] = []
    warned: int = 0
    deferred: int = 0
    examples: list[CaseResult] = []
    alike: Counter[int] = msgspec.field(default_factory=Counter)  # examples by kind
    errors: ErrorGroups = msgspec.field(default_factory=ErrorGroups)
    results: list[CaseResult] = []
    blocks: int = 0
    read: int = 0  # bytes
    input_hash: str = ""

    def warn(self, message: str) -> None:
        """What concerns a whole file comes before the warnings about its cases."""
        self.warned += 1
        self.warnings = [message, *self.warnings][:SHOWN_PROBLEMS]

    def add(self, block: BlockResult) -> None:
        self.blocks += 1
        self.read += block.size
        self.tally.merge(block.tally)
        self.warned += block.warned
        self.deferred += block.deferred
        self.errors.merge(block.errors)
        self.warnings += block.warnings[: SHOWN_PROBLEMS - len(self.warnings)]
        self.results += block.results
        for example in block.examples:
            self.alike[example.kind] += 1
            if self.alike[example.kind] <= EXAMPLES:
                self.examples.append(example.result)


def run_blocks(
    plan: RunPlan,
    engine: Engine[BlockTask, BlockResult],
    progress: Progress | None,
    block_size: int | None,
    tally: Tally | None = None,
) -> StreamTotals:
    """Evaluate all cases of all files; CaseError with everything that is wrong with one of them.

    `tally` is one that takes in what the workers' own tallies counted.
    """
    total = sum(file.size for file in plan.spec.inputs)
    totals = StreamTotals(tally or Tally(), Parts(Path(plan.folder)))
    digest = hashlib.sha256()
    for file in plan.spec.inputs:
        run = _FileRun(file, engine, plan, totals)
        run.perform(file_units(file, plan.spec, digest.update, block_size, totals.warn), progress, total)
    totals.input_hash = digest.hexdigest()
    totals.examples.sort(key=lambda example: example.is_negative_example)
    return totals


def useful_workers(spec: RunSpec) -> int:
    """How many workers are of use: threads of this process wait for each other where Python does the work."""
    return 1 if spec.engine == LOCAL and library() is None else spec.workers


class _FileRun:
    """The run over one file: its blocks in order, its problems together."""

    def __init__(
        self, file: Input, engine: Engine[BlockTask, BlockResult], plan: RunPlan, totals: StreamTotals
    ) -> None:
        self._file = file
        self._engine = engine
        self._for_table = plan.spec.table is not None
        self._is_log = not file.holds_cases(mapped=plan.spec.is_mapped)
        self._totals = totals
        self._seen = 0
        self._problems: list[Problem] = []
        self._kinds: Counter[str] = Counter()
        self._alike: Counter[str] = Counter()
        # Conversations that return are found where rows are joined.
        self._ids = None if CONVERSATION in plan.spec.columns else DuplicateIds(totals.parts)

    def perform(self, found: Iterator[Unit | Problem], progress: Progress | None, total: int) -> None:
        for block in self._engine.work(self._tasks(found)):
            self._take(block)
            if progress:
                progress(self._totals.tally.cases, self._totals.read, total)
        for problem in self._ids.problems() if self._ids else ():
            self._add(problem)
        if self._kinds:
            self._problems.sort(key=lambda problem: problem.line)
            shown = self._problems[:SHOWN_PROBLEMS]
            raise CaseError(
                shown,
                file=self._file.name,
                total=self._kinds.total(),
                kinds=self._kinds,
                alike=self._alike,
                seen=self._seen_columns(),
                is_log=self._is_log,
            )
        if not self._seen and not self._for_table:  # a data lake has empty files
            raise no_cases(self._file.name)

    def _tasks(self, found: Iterator[Unit | Problem]) -> Iterator[BlockTask]:
        first, index = self._totals.blocks, 0
        for one in found:
            if isinstance(one, Problem):
                self._add(one)
            else:
                yield BlockTask(first + index, index, one, _fingerprint(one) if self._for_table else "")
                index += 1

    def _seen_columns(self) -> str:
        """What the first row holds and the map that may read it, where it is nothing like a case."""
        columns = self._file.columns or ()
        if (
            self._is_log
            or not columns
            or not {"user", "assistant", "messages", "checks", "expected"}.isdisjoint(columns)
        ):
            return ""
        likely = f"--map {self._file.likely}" if self._file.likely else "--map user=NAME,assistant=NAME"
        seen = shorten(", ".join(sorted(columns)))
        return f"The first row has: {seen}. `synthesis eval {self._file.name} {likely}` may read it as a log.\n  "

    def _add(self, problem: Problem) -> None:
        self._kinds[problem.kind] += 1
        count_alike(self._alike, {problem.message: 1})
        self._problems.append(problem)

    def _take(self, block: BlockResult) -> None:
        self._seen += block.seen
        self._totals.add(block)
        self._kinds += block.kinds
        count_alike(self._alike, block.repeated)
        self._problems += block.problems[: SHOWN_PROBLEMS - len(self._problems)]
        self._totals.parts.put(block.number, block.parts)
        if self._ids:
            self._ids.add(block.number, block.id_hashes, block.id_lines)


def _fingerprint(unit: Unit) -> str:
    """What tells a unit from the one that a changed file would give in its place."""
    if isinstance(unit, RowRange):
        content = msgspec.json.encode((unit.group, unit.skip, unit.rows, unit.state))
    else:
        content = unit.read()
    return hashlib.sha256(content).hexdigest()


def available_cores() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


# The whole run.


class RunOutcome(msgspec.Struct, frozen=True):
    """The report of a run, and what a summary of it shows. The results are in the report if no file was asked for."""

    report: Report
    rules: RuleSet
    examples: tuple[CaseResult, ...]  # the first failures of each kind, and the first errors
    errors: ErrorGroups
    warned: int  # how many warnings there were; the report holds the first
    # Who read the texts, and how many cases the kernel left to Python. Not in the report, whose bytes are the same
    # whoever decided.
    reader: str
    deferred: int
    leftovers: tuple[str, ...] = ()  # beside the output, of other hosts or of version 0.1, which nobody may remove


def evaluate_files(
    spec: RunSpec, *, progress: Progress | None = None, rules: RuleSet | None = None, block_size: int | None = None
) -> RunOutcome:
    """Do everything that the specification asks for.

    `rules` are those that it names, where they are already loaded. Smaller blocks report progress more often.
    """
    spec = settled(spec)
    _refuse_to_overwrite(spec)
    _require_portable_similarity(spec)
    loaded = rules_in_force(spec.rules, spec.disabled, spec.reader) if rules is None else rules
    left = sweep(output_folders((spec.out, spec.results)))
    # Beside the output: on the same disk, and visible to the workers of a cluster.
    with WorkFolder(next(output_folders((spec.out, spec.table)), None)) as folder:
        plan = RunPlan(spec, str(folder), chosen_places(spec))
        totals = _run(plan, loaded, progress, block_size)
        _require_matches(spec, totals)
        report = _report(spec, totals, loaded)
        _write(report, spec, totals)
    left += sweep_table(spec.table) if spec.table else []
    reader = loaded.reader.name
    examples = tuple(totals.examples)
    return RunOutcome(report, loaded, examples, totals.errors, totals.warned, reader, totals.deferred, tuple(left))


def settled(spec: RunSpec) -> RunSpec:
    """The run with what its files say and it leaves open: the columns of messages, and the profile."""
    inputs = tuple(file.looked_at(spec.max_line) for file in spec.inputs)
    return _with_profile(_with_columns(msgspec.structs.replace(spec, inputs=inputs)))


def _with_columns(spec: RunSpec) -> RunSpec:
    """With the columns that a message per row is in, which many exports call alike."""
    read = (completed_columns(file, spec.columns) for file in spec.inputs)
    found = [columns for columns in read if columns is not None]
    if any(columns != found[0] for columns in found):
        raise OptionError(
            "some of the files have a row for each message, in columns that others do not have",
            hint="Name the columns with --map, or evaluate the files apart.",
        )
    columns = found[0] if found else spec.columns
    if spec.sort and CONVERSATION not in columns:
        hint = "--map conversation=NAME names the column that tells conversations apart."
        raise OptionError("--sort sorts rows by their conversation, and no column names one", hint=hint)
    return msgspec.structs.replace(spec, columns=columns)


def _with_profile(spec: RunSpec) -> RunSpec:
    """With the profile that the files ask for, if none is named: somebody who wrote cases named their checks."""
    if spec.profile is not None:
        return spec
    logs = {not file.holds_cases(mapped=spec.is_mapped): file.name for file in reversed(spec.inputs)}
    if len(logs) > 1:
        raise OptionError(
            f"{logs[False]} holds cases and {logs[True]} is a log, which are evaluated by different profiles",
            hint=f"Evaluate them in two runs, or name one profile for all with --profile ({AUTHORED} or {TRAFFIC}).",
        )
    return msgspec.structs.replace(spec, profile=TRAFFIC if True in logs else AUTHORED)


class BlockJob:
    """What an engine is given: every worker makes its own evaluator from the plan."""

    def __init__(self, plan: RunPlan, rules: RuleSet | None = None) -> None:
        self._plan = plan
        self._rules = rules
        self.key = plan.folder

    def start(self) -> Callable[[BlockTask], BlockResult]:
        return make_worker(self._plan, self._rules).work

    def __reduce__(self) -> tuple[type["BlockJob"], tuple[RunPlan]]:
        return BlockJob, (self._plan,)  # compiled rules do not travel: another process loads them


def _run(plan: RunPlan, rules: RuleSet, progress: Progress | None, block_size: int | None) -> StreamTotals:
    """On the engine that was asked for; for a table only what is not yet finished of it."""
    spec = plan.spec
    manifest: Manifest | None = None
    if spec.table:
        manifest = Manifest(spec.table, table_conditions(plan, rules))
        manifest.open([file.name for file in spec.inputs], fresh=spec.fresh)
        plan = msgspec.structs.replace(plan, run=manifest.run)
    job = BlockJob(plan if spec.engine == LOCAL else _absolute(plan), rules)
    try:
        with start_engine(spec.engine, job, useful_workers(spec), spec.address) as engine:
            hands: Engine[BlockTask, BlockResult] = ResumingEngine(engine, manifest) if manifest else engine
            totals = run_blocks(plan, hands, progress, block_size)
    finally:
        if spec.table:  # workers that were ended in the middle of a part leave a piece of it
            sweep_table(spec.table)
    if manifest:
        manifest.finish()
    return totals


def table_conditions(plan: RunPlan, rules: RuleSet) -> dict[str, Any]:
    """All that the parts of a table depend on, apart from the input."""
    in_force = run_conditions(rules, plan.spec.profile or AUTHORED)
    chosen = repr(sorted(plan.places)) if plan.places is not None else ""
    return {
        **plan.spec.conditions(),
        "version": in_force["tool"]["version"],
        "table_version": TABLE_VERSION,
        "rules": in_force["rules"]["hash"],
        "reader": in_force["reader"],
        "similarity": in_force["similarity"],
        "chosen": hashlib.sha256(chosen.encode()).hexdigest(),
    }


def _absolute(plan: RunPlan) -> RunPlan:
    return msgspec.structs.replace(plan, spec=plan.spec.absolute(), folder=os.path.abspath(plan.folder))


def _report(spec: RunSpec, totals: StreamTotals, rules: RuleSet) -> Report:
    conditions = {
        **run_conditions(rules, spec.profile or AUTHORED),
        "input": {"files": [file.name for file in spec.inputs], "sha256": totals.input_hash},
        "options": spec.options(),
    }
    return Report(
        conditions=conditions,
        summary=totals.tally.to_dict(),
        failures=failures_of(totals.results),
        results=tuple(totals.results),
        warnings=tuple(totals.warnings),
        file=spec.out,
    )


def _write(report: Report, spec: RunSpec, totals: StreamTotals) -> None:
    if spec.out is None:
        return
    header = report.header()
    for name, place in (("results_file", spec.results), ("results_table", spec.table)):
        if place:
            header[name] = Path(os.path.relpath(place, spec.out.parent)).as_posix()
    if spec.results:
        join_results(totals.parts, totals.blocks, spec.results)
    join_report(header, totals.parts, totals.blocks, spec.out)


def _require_matches(spec: RunSpec, totals: StreamTotals) -> None:
    """An id that is not there, or filters that leave nothing, are a mistake and not an empty success."""
    wanted = set(spec.ids)
    if not totals.tally.cases or (totals.tally.cases < len(wanted) and not spec.chooses):
        what = f"not every id has a case (wanted: {', '.join(sorted(wanted))})" if wanted else "no case is left"
        raise OptionError(f"{what} after the filters", hint="Check --tag, --id, --only-check and --limit.")


def _require_portable_similarity(spec: RunSpec) -> None:
    """Other processes would decide with the default similarity, and the report would name the adapter of this one."""
    if adapter_name() != DEFAULT_NAME and spec.engine != LOCAL:
        raise OptionError("an embedding adapter works in this process only", hint="Evaluate with engine 'local'.")


def _refuse_to_overwrite(spec: RunSpec) -> None:
    """No output may take the place of an input, or of another output."""
    inputs = [*(("--cases", file.path) for file in spec.inputs), ("--schema", spec.schema)]
    outputs = [(option, path) for option, path in (("--out", spec.out), ("--results", spec.results)) if path]
    for option, path in outputs:
        require_writable(path, overwrite=True)
        for kind, taken in inputs:
            if taken.exists() and path.exists() and taken.samefile(path):
                raise OptionError(f"{option} and {kind} are the same file ({path})", hint=f"Choose another {option}.")
    if spec.results and spec.out and spec.results.resolve() == spec.out.resolve():
        raise OptionError(f"--out and --results are the same file ({spec.out})", hint="Choose another --results.")
    if spec.table:
        _keep_table_apart(spec.table, [file.path for file in spec.inputs])


def _keep_table_apart(table: Path, inputs: list[Path]) -> None:
    """A table is never its own input; and its parts are named after their files, so each file is read once."""
    if table.exists() and not table.is_dir():
        raise OptionError("--out-table is not a folder", hint="Give the path of a folder, which will be made.")
    for path in inputs:
        if table.resolve() in path.resolve().parents:
            raise OptionError(f"{path} is in the folder of --out-table", hint="Choose another --out-table.")
        if inputs.count(path) > 1:
            raise OptionError(f"--cases names {path} twice", hint="Name it once.")
