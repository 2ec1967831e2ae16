"""The work on one block: a worker reads cases, evaluates them, writes results to its own files, and counts."""

import hashlib
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from synthesis.checks.registry import rules_in_force
from synthesis.errors import SHOWN_PROBLEMS, OptionError, Problem
from synthesis.garbage import without_collection
from synthesis.model import Case, CaseResult, Source
from synthesis.model.result import ERROR, FAIL
from synthesis.read.cases import duplicate, parse_block
from synthesis.read.conversations import Returns, cases_of, name_hash, repeated_places
from synthesis.read.inputs import PARQUET, Input, log_cases, log_rows
from synthesis.read.lines import STDIN, Block, Seen, blocks, unseen
from synthesis.read.mapping import CONVERSATION
from synthesis.read.parquet import RowRange, batch_rows, read_range, row_ranges, whole_conversations
from synthesis.read.rows import KEEP_AS_ERROR, STOP, Converter, LogOptions
from synthesis.report.findings import ErrorGroups
from synthesis.report.stored import PartWriter, rank_of, results_suffix
from synthesis.rules.ruleset import RuleSet
from synthesis.run.evaluator import Evaluator
from synthesis.run.spec import RunSpec
from synthesis.run.tally import BATCH, Tally, batches, failure_of, label_warnings
from synthesis.settings import AUTHORED


class DuplicateIds:
    """Takes the ids of block after block and finds those that appear twice."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._hashes = array("q")
        self._lines = array("q")
        self._blocks: list[tuple[int, int]] = []  # where the ids of a block begin, and its number

    @property
    def count(self) -> int:
        return len(self._hashes)

    def add(self, number: int, hashes: "array[int]", lines: "array[int]") -> None:
        self._blocks.append((len(self._hashes), number))
        self._hashes += hashes
        self._lines += lines

    def problems(self) -> Iterator[Problem]:
        """A problem for each later case with the id of an earlier one."""
        for first, again in repeated_places(self._hashes):
            yield duplicate(self._lines[again], self._lines[first], self._id(again))

    def _id(self, position: int) -> str:
        begin, number = self._blocks[bisect_right(self._blocks, (position, 1 << 62)) - 1]
        ids = (self._folder / f"{number}.ids").read_text(encoding="utf-8").split("\n")
        return ids[position - begin]


# Units of work, and the cases in them: a block of lines at once, rows of a table batch by batch.


Unit = Block | RowRange
BLOCK = 1 << 20  # bytes that one worker takes at a time: a second or so of work, so that progress is seen
# The same for a part of a table, from a file that is large enough for many of them: small parts are slow to read.
SMALL_PART, LARGE_PART = 2 << 20, 16 << 20
ROWS, ROWS_OF_A_PART = 500, 50_000  # of a log in one block
MOST_TEXT = 16 << 20  # characters of its texts: fewer rows where they are long
_UNPACKED = 8  # bytes that a compressed byte of a log becomes, more or less
_encode = msgspec.json.Encoder().encode


def file_units(
    file: Input,
    spec: RunSpec,
    seen: Seen = unseen,
    block_size: int | None = None,
    warn: Callable[[str], object] = lambda _: None,
) -> Iterator[Unit | Problem]:
    """The blocks of a file of cases, or of what a log gives; for a table of verdicts, the row groups of Parquet.

    `warn` is called with what seems to be wrong with the file as a whole.
    """
    file = file.looked_at(spec.max_line)
    if spec.keep and file.kind != PARQUET:
        raise OptionError(f"--keep names columns, and {file.name} is not a Parquet file", hint="Leave out --keep.")
    if file.holds_cases(mapped=spec.is_mapped) and not spec.as_log:
        size = _size_for_table(file) if spec.table else block_size or BLOCK
        found = blocks(file.path, file.name, size=size, most_line=spec.max_line, seen=seen)
        return _errors_as_blocks(found, spec.log_options(), file.name) if _keeps_errors(spec) else found
    options = spec.log_options()
    returns = Returns()
    if file.kind == PARQUET and spec.table and not spec.sort:
        units: Iterator[Unit | Problem] = row_ranges(file.path, file.name, options, spec.keep, seen, returns.add)
    else:
        most = (ROWS_OF_A_PART, _size_for_table(file)) if spec.table else (ROWS, MOST_TEXT)
        units = _log_blocks(file, options, most, stop=spec.on_bad_row == STOP, seen=seen, returns=returns)
    return _and_returns(units, file, options, returns, warn) if CONVERSATION in options.columns else units


def _and_returns(
    units: Iterable[Unit | Problem],
    file: Input,
    options: LogOptions,
    returns: Returns,
    warn: Callable[[str], object],
) -> Iterator[Unit | Problem]:
    """The units, then the conversations that were in two places, which no single unit can know."""
    yield from units
    if returns.warning:
        warn(f"{file.name}: {returns.warning}")
    if not options.sort:
        yield from returns.problems(log_rows(file, options), options.columns[CONVERSATION])


def _keeps_errors(spec: RunSpec) -> bool:
    return spec.on_bad_row == KEEP_AS_ERROR


def _size_for_table(file: Input) -> int:
    """Large files make large parts of a table; how large depends on the file alone, so that a run can be resumed."""
    size = file.size
    if not size and file.path.is_file():
        size = file.path.stat().st_size * _UNPACKED
    return min(max(SMALL_PART, size // 256), LARGE_PART)


class Reading(NamedTuple):
    """Cases, what is wrong with rows that cannot be cases, and the record batch that they were read from."""

    cases: list[Case]
    problems: list[Problem]
    batch: Any = None
    first_line: int = 1


class Reader:
    """Reads units; a bad row is a problem, or a case that will end in error."""

    def __init__(self, options: LogOptions, on_bad_row: str | None, keep: tuple[str, ...] = ()) -> None:
        self.options = options
        self._on_bad_row = on_bad_row
        self._keep = keep

    @classmethod
    def of(cls, spec: RunSpec) -> "Reader":
        return cls(spec.log_options(), spec.on_bad_row, spec.keep)

    def read(self, unit: Unit) -> Iterator[Reading]:
        if isinstance(unit, Block):
            yield self._block(unit)
            return
        line = unit.first_line
        batches = read_range(unit, self.options, self._keep)
        if CONVERSATION in self.options.columns:
            batches = whole_conversations(batches, self.options.columns[CONVERSATION], unit.file)
        for batch in batches:
            yield self.batch(batch, line, unit.file)
            line += batch.num_rows

    def batch(self, batch: Any, first_line: int, file: str) -> Reading:
        """The cases of an Arrow record batch."""
        converter = Converter(self.options, file, cells=True)
        found = batch_rows(batch, first_line, self.options.most_line)
        rows = list(cases_of(found, converter, self.options, file))
        problems = [row for row in rows if isinstance(row, Problem)]
        if self._on_bad_row == STOP:
            return Reading([row for row in rows if isinstance(row, Case)], problems, batch, first_line)
        cases = [row if isinstance(row, Case) else _error_case(row, self.options, file) for row in rows]
        return Reading(cases, [], batch, first_line)

    def _block(self, block: Block) -> Reading:
        cases, problems = parse_block(block, self.options.validator)
        if self._on_bad_row == KEEP_AS_ERROR:
            return Reading(_with_errors(cases, problems, self.options, block.file), [])
        return Reading(cases, problems)


def _log_blocks(
    file: Input, options: LogOptions, most: tuple[int, int], *, stop: bool, seen: Seen, returns: Returns
) -> Iterator[Block | Problem]:
    """The rows of a log as blocks of ready cases; a bad row is a problem (`stop`) or a case that will end in error.

    `most` are the rows of a block, and the characters of their texts.
    """
    meter, passed = _Meter(seen), 0
    rows = log_cases(file, options, returns.add, meter.add, returns.end)
    while batch := _next_rows(rows, *most):
        reached = meter.reached(_line_of(batch[-1])) if file.has_lines and file.size and not options.sort else 0
        problems = [row for row in batch if isinstance(row, Problem)]
        cases = [row for row in batch if isinstance(row, Case)]
        if stop:
            yield from problems
        else:
            cases = [row if isinstance(row, Case) else _error_case(row, options, file.name) for row in batch]
        yield _ready(cases, file.name, max(reached - passed, 0))
        passed = max(reached, passed)


def _next_rows(rows: Iterator[Case | Problem], most: int, most_text: int) -> list[Case | Problem]:
    found: list[Case | Problem] = []
    size = 0
    for row in islice(rows, most):
        found.append(row)
        if isinstance(row, Case):
            size += len(row.user) + len(row.assistant) + sum(len(turn.content) for turn in row.messages)
        if size > most_text:
            break
    return found


class _Meter:
    """How far into a file the rows are: bytes are read ahead, so the lines that the rows stand in have to tell."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._bytes = self._lines = 0

    def add(self, content: bytes) -> None:
        self._seen(content)
        self._bytes += len(content)
        self._lines += content.count(b"\n")

    def reached(self, line: int) -> int:
        return min(self._bytes, self._bytes * line // max(self._lines, 1))


def _line_of(row: Case | Problem) -> int:
    if isinstance(row, Problem):
        return row.line
    return row.source.line if row.source else 0


def _errors_as_blocks(found: Iterable[Block | Problem], options: LogOptions, name: str) -> Iterator[Block]:
    """The blocks of a case file, with lines that no block could hold as cases that will end in error."""
    for one in found:
        yield one if isinstance(one, Block) else _ready([_error_case(one, options, name)], name)


def _with_errors(cases: list[Case], problems: Iterable[Problem], options: LogOptions, name: str) -> list[Case]:
    """The cases, and a case that will end in error for each bad line, in the order of the file."""
    wrong: dict[int, list[Problem]] = defaultdict(list)
    for problem in problems:
        wrong[problem.line].append(problem)
    errors = [_error_case(_together(of_line), options, name) for of_line in wrong.values()]
    return sorted([*cases, *errors], key=lambda case: case.source.line if case.source else 0) if errors else cases


def _together(problems: list[Problem]) -> Problem:
    first = problems[0]
    return Problem(first.line, first.kind, "; ".join(problem.message for problem in problems), first.case_id)


def _error_case(problem: Problem, options: LogOptions, name: str) -> Case:
    case_id = problem.case_id or f"ROW-{problem.line}"
    return Case(case_id, options.row_checks, source=Source(name, problem.line, problem.own_id), problem=problem.message)


def _ready(cases: list[Case], name: str, size: int = 0) -> Block:
    return Block(name, 1, size, content=_encode(cases), ready=True)


# Which cases of a file are run.


Places = frozenset[tuple[str, int]]  # file and line of the chosen cases


def chosen_places(spec: RunSpec) -> Places | None:
    """Where the cases of the sample or below the limit are; found in a first pass that evaluates nothing."""
    if not spec.chooses:
        return None
    if any(str(file.path) == STDIN for file in spec.inputs):
        message = "--limit and --sample need a file: standard input cannot be read twice"
        raise OptionError(message, hint="Save it first.")
    reader, selection = Reader.of(spec), CaseSelection(spec)

    def wanted() -> Iterator[Case]:
        for file in spec.inputs:
            for unit in file_units(file, spec):
                if not isinstance(unit, Problem):
                    for reading in reader.read(unit):
                        yield from selection.wanted(reading.cases)

    return frozenset(case.source.place for case in selection.chosen(wanted()) if case.source)


class CaseSelection:
    """The cases that a run asks for, each with the checks that it asks for."""

    def __init__(self, spec: RunSpec, places: Places | None = None) -> None:
        self._spec = spec
        self._places = places

    def wanted(self, cases: Iterable[Case]) -> list[Case]:
        """The cases that fit by tag, id, check and place, with the wanted checks only."""
        return [case for case in map(self._with_checks, cases) if case.checks and self._wanted(case)]

    def chosen(self, cases: Iterable[Case]) -> list[Case]:
        """Of the wanted cases the sample, then the first of them up to the limit, in the order of the input.

        A sample holds the cases whose hash with the seed is smallest, so that no other case's place decides about one.
        """
        found: Iterable[Case] = cases
        if self._spec.sample is not None:
            least = nsmallest(self._spec.sample, ((self._lot(case), place, case) for place, case in enumerate(cases)))
            found = (case for _, _, case in sorted(least, key=lambda drawn: drawn[1]))
        return list(islice(found, self._spec.limit))

    def _lot(self, case: Case) -> bytes:
        # Rows of a log may have an id in common, such as that of a session, and are not drawn together for it.
        place = f":{case.source.line}" if case.source and case.source.id else ""
        return hashlib.sha256(f"{self._spec.seed}:{case.id}{place}".encode()).digest()

    def _wanted(self, case: Case) -> bool:
        tags, ids = self._spec.tags, self._spec.ids
        return (
            # Nobody knows the tags of a row that could not be read.
            (not tags or case.problem is not None or not set(tags).isdisjoint(case.tags))
            and (not ids or case.id in ids or (case.source is not None and case.source.id in ids))
            and (self._places is None or (case.source is not None and case.source.place in self._places))
        )

    def _with_checks(self, case: Case) -> Case:
        """The case with the checks that are wanted of it; labels of those it loses go with them."""
        only, instead = self._spec.only, self._spec.checks
        if not only and not instead:
            return case
        asked = instead or case.checks
        kept = tuple([name for name in asked if not only or name in only])
        dropped = set(case.checks) - set(kept)
        labels = {name: value for name, value in (case.expected or {}).items() if name not in dropped}
        return msgspec.structs.replace(case, checks=kept, expected=labels or None)


EXAMPLES = 5
Kind = tuple[str, bool, bool, bool, tuple[int, int]]  # outcome, expected, without an alert, unanswered, urgency


class RunPlan(msgspec.Struct, frozen=True):
    """A run specification, and what was settled before the first block; the same for all workers."""

    spec: RunSpec
    folder: str  # for the files of the blocks; each run has its own
    places: Places | None = None  # of the chosen cases
    run: str = ""  # hash of the conditions, for the records of a table's parts

    def evaluator(self, rules: RuleSet | None = None) -> Evaluator:
        spec = self.spec
        return Evaluator(
            rules_in_force(spec.rules, spec.disabled, spec.reader) if rules is None else rules,
            profile=spec.profile or AUTHORED,
            keep_text=spec.keep_text and not spec.table,
            language=spec.language,
        )

    def selection(self) -> CaseSelection:
        return CaseSelection(self.spec, self.places)


class BlockTask(msgspec.Struct, frozen=True):
    """A unit of work: its number in the run, and its place among the units of its file."""

    number: int
    index: int
    unit: Unit
    fingerprint: str = ""  # of the content, for the records of a table's parts

    @property
    def cargo(self) -> int:
        """Bytes of content that travel with the task."""
        return len(self.unit.content or b"") if isinstance(self.unit, Block) else 0


@dataclass(slots=True)
class BlockResult:
    """What came of one task; `seen` counts the cases before any filter."""

    number: int
    size: int
    seen: int = 0
    tally: Tally = field(default_factory=Tally)
    problems: list[Problem] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    repeated: Counter[str] = field(default_factory=Counter)  # problems by their words, of the first hundred words
    errors: ErrorGroups = field(default_factory=ErrorGroups)
    warnings: list[str] = field(default_factory=list)
    warned: int = 0
    declined: int = 0  # texts that the compiled reader left to Python
    examples: list[CaseResult] = field(default_factory=list)
    alike: Counter[Kind] = field(default_factory=Counter)  # results that an example could be of
    results: list[CaseResult] = field(default_factory=list)  # of a run without output files
    # Arrays rather than lists: of a million cases they take 16 MB, not 70.
    id_hashes: "array[int]" = field(default_factory=lambda: array("q"))
    id_lines: "array[int]" = field(default_factory=lambda: array("q"))

    def add_problems(self, problems: Sequence[Problem]) -> None:
        self.kinds.update(problem.kind for problem in problems)
        count_alike(self.repeated, Counter(problem.message for problem in problems))
        self.problems += problems[: SHOWN_PROBLEMS - len(self.problems)]

    def evaluate(self, cases: Iterable[Case], evaluator: Evaluator) -> Iterator[CaseResult]:
        """The results of the cases, in their order, each counted on its way."""
        for batch in batches(cases, BATCH):
            for case in batch:
                self._warn(label_warnings(case))
            declined = evaluator.rules.reader.declined
            results = evaluator.evaluate(batch)
            self.declined += evaluator.rules.reader.declined - declined
            for result in results:
                self.tally.add(result)
                self._remember(result)
                yield result

    def _warn(self, warnings: Iterable[str]) -> None:
        for warning in warnings:
            self.warned += 1
            if len(self.warnings) < SHOWN_PROBLEMS:
                self.warnings.append(warning)

    def _remember(self, result: CaseResult) -> None:
        """The first failures of each kind, the first errors and the first alerts, to be shown on the console."""
        if result.outcome == ERROR:
            self.errors.add(result)
        if result.outcome in {FAIL, ERROR} or result.alert is not None:
            kind = _kind(result)
            self.alike[kind] += 1
            if self.alike[kind] <= EXAMPLES:
                self.examples.append(result)


def count_alike(counts: Counter[str], more: Mapping[str, int]) -> None:
    """Add counts by words; words beyond the first hundred are not told, so they are not counted either."""
    for words, number in more.items():
        if words in counts or len(counts) < SHOWN_PROBLEMS:
            counts[words] += number


class Worker(Protocol):
    """Works on tasks, one after the other, with one evaluator."""

    def work(self, task: BlockTask) -> BlockResult: ...


class _OnUse(dict[int, PartWriter]):
    """Writers by rank, each opened when it is first asked for."""

    def __init__(self, opened: Callable[[int], PartWriter]) -> None:
        super().__init__()
        self._opened = opened

    def __missing__(self, rank: int) -> PartWriter:
        self[rank] = self._opened(rank)
        return self[rank]


class ReportWorker:
    """Writes results as records of a report or of a file of their own."""

    def __init__(self, plan: RunPlan, rules: RuleSet | None = None) -> None:
        self._spec = plan.spec
        self._folder = Path(plan.folder)
        self._evaluator = plan.evaluator(rules)
        self._selection = plan.selection()
        self._reader = Reader.of(plan.spec)
        self._suffix = results_suffix(plan.spec.results) if plan.spec.results else ""

    def work(self, task: BlockTask) -> BlockResult:
        """Evaluate the cases of a unit and write their results; with problems, only report these."""
        with without_collection():
            return self._work(task)

    def _work(self, task: BlockTask) -> BlockResult:
        block = BlockResult(task.number, task.unit.size)
        cases: list[Case] = []
        for reading in self._reader.read(task.unit):
            cases += reading.cases
            block.add_problems(reading.problems)
        block.seen = len(cases)
        if not (isinstance(task.unit, Block) and task.unit.ready):  # the rows of a log may have an id in common
            block.id_hashes = array("q", [name_hash(case.id) for case in cases])
            block.id_lines = array("q", [case.source.line if case.source else 0 for case in cases])
            self._path(block, "ids").write_text("\n".join(case.id for case in cases), encoding="utf-8")
        if not block.kinds:
            self._evaluate(self._selection.wanted(cases), block)
        return block

    def _evaluate(self, cases: Iterable[Case], block: BlockResult) -> None:
        found = block.evaluate(cases, self._evaluator)
        if self._spec.out is None:
            block.results = [result for result in found if self._spec.keep_results and self._spec.shows(result)]
            return
        with ExitStack() as stack:
            results = stack.enter_context(PartWriter(self._path(block, "results"), self._suffix))
            # One file for each urgency, so that joining them puts the worst first without holding any in memory.
            failures = _OnUse(lambda rank: stack.enter_context(PartWriter(self._path(block, f"failures-{rank}"))))
            for result in found:
                if self._spec.shows(result):
                    results.write(result.to_record())
                if result.outcome == FAIL:
                    failures[rank_of(result.urgency)].write(failure_of(result))

    def _path(self, block: BlockResult, kind: str) -> Path:
        return self._folder / f"{block.number}.{kind}"


def is_alike(one: CaseResult, other: CaseResult) -> bool:
    """Whether two examples are of one kind: an error, an expected failure, an unexpected one; equally urgent."""
    return _kind(one) == _kind(other)


def _kind(result: CaseResult) -> Kind:
    return result.outcome, result.is_negative_example, result.alert is None, result.is_unanswered, result.urgency
