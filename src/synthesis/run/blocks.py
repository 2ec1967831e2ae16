"""The work on one block: a worker reads cases, evaluates them, writes results to its own files, and counts."""

import hashlib
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from synthesis.checks.registry import rules_in_force
from synthesis.errors import SHOWN_PROBLEMS, OptionError, Problem
from synthesis.garbage import without_collection
from synthesis.io import CASE_SCHEMA, packed
from synthesis.model import Case, CaseResult, Source
from synthesis.model.result import ERROR, FAIL
from synthesis.read.cases import duplicate, parse_block, parse_line
from synthesis.read.conversations import Returns, cases_of, name_hash, repeated_places
from synthesis.read.inputs import PARQUET, Input, log_cases, log_rows
from synthesis.read.lines import STDIN, Block, Seen, blocks, unseen
from synthesis.read.mapping import CONVERSATION
from synthesis.read.parquet import RowRange, batch_rows, read_range, row_ranges, whole_conversations
from synthesis.read.rows import KEEP_AS_ERROR, STOP, Converter, LogOptions
from synthesis.report.findings import ErrorGroups
from synthesis.report.stored import SEPARATOR, Parts, rank_of, results_suffix, write_parts
from synthesis.rules.native.library import NativeReaderError
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.text import Span
from synthesis.run.engines import LOCAL
from synthesis.run.evaluator import Evaluator, warn_of_fault
from synthesis.run.kernel import (
    AS_LINES,
    FAILURES,
    KEEPS_TEXT,
    ONLY_FAILURES,
    RANKS,
    READY,
    RECORDS,
    RESULTS,
    Answer,
    Kernel,
    KernelCall,
)
from synthesis.run.kernel import EXAMPLES as EXAMPLES_WANTED
from synthesis.run.spec import RunSpec
from synthesis.run.tally import BATCH, Tally, batches, failure_of, label_warnings
from synthesis.settings import AUTHORED


class DuplicateIds:
    """Takes the ids of block after block and finds those that appear twice."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
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
            name = self._id(again)
            if name == self._id(first):  # two names may have a hash in common
                yield duplicate(self._lines[again], self._lines[first], name)

    def _id(self, position: int) -> str:
        begin, number = self._blocks[bisect_right(self._blocks, (position, 1 << 62)) - 1]
        ids = b"".join(self._parts.pieces(number, IDS)).decode().split("\n")
        return ids[position - begin]


# Units of work, and the cases in them: a block of lines at once, rows of a table batch by batch.


Unit = Block | RowRange
BLOCK = 1 << 18  # bytes that one worker takes at a time: some hundredths of a second, and no thread is idle for long
# The same for a part of a table, from a file that is large enough for many of them: small parts are slow to read.
SMALL_PART, LARGE_PART = 2 << 20, 16 << 20
ROWS, ROWS_OF_A_PART = 500, 50_000  # of a log in one block
MOST_TEXT = 16 << 20  # characters of its texts: fewer rows where they are long
_UNPACKED = 8  # bytes that a compressed byte of a log becomes, more or less
_encoder = msgspec.json.Encoder()
_encode, _encode_lines = _encoder.encode, _encoder.encode_lines
_decode_case = msgspec.json.Decoder(Case).decode
_decode_result = msgspec.json.Decoder(CaseResult).decode
_results = msgspec.json.Decoder(CaseResult).decode_lines


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
    return Block(name, 1, size, content=_encode_lines(cases), ready=True)


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


class Example(NamedTuple):
    """A result to be shown, with its kind; one of the kernel is decoded if it comes to that."""

    kind: int
    content: CaseResult | bytes

    @property
    def result(self) -> CaseResult:
        return _decode_result(self.content) if isinstance(self.content, bytes) else self.content


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


Evaluate = Callable[[Sequence[Case]], Iterable[CaseResult]]  # a batch


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
    deferred: int = 0  # cases that the kernel left to Python
    examples: list[Example] = field(default_factory=list)
    alike: Counter[int] = field(default_factory=Counter)  # results that an example could be of, by kind
    results: list[CaseResult] = field(default_factory=list)  # of a run without output files
    # Arrays rather than lists: of a million cases they take 16 MB, not 70.
    id_hashes: "array[int]" = field(default_factory=lambda: array("q"))
    id_lines: "array[int]" = field(default_factory=lambda: array("q"))
    parts: dict[str, bytes] = field(default_factory=dict)  # what is joined to a report, unless it is in files already

    def add_problems(self, problems: Sequence[Problem]) -> None:
        self.kinds.update(problem.kind for problem in problems)
        count_alike(self.repeated, Counter(problem.message for problem in problems))
        self.problems += problems[: SHOWN_PROBLEMS - len(self.problems)]

    def evaluate(self, cases: Iterable[Case], evaluate: Evaluate) -> Iterator[CaseResult]:
        """The results of the cases, in their order, each counted on its way."""
        for batch in batches(cases, BATCH):
            for case in batch:
                self.warn(label_warnings(case))
            for result in evaluate(batch):
                self.tally.add(result)
                self.remember(result)
                yield result

    def warn(self, warnings: Iterable[str]) -> None:
        for warning in warnings:
            self.warned += 1
            if len(self.warnings) < SHOWN_PROBLEMS:
                self.warnings.append(warning)

    def remember(self, result: CaseResult) -> None:
        """The first failures of each kind, the first errors and the first alerts, to be shown on the console."""
        for example in self.example_of(result):
            self.keep_example(example)

    def example_of(self, result: CaseResult) -> list["Example"]:
        """The result, if it is one to be shown."""
        if result.outcome == ERROR:
            self.errors.add(result)
        is_shown = result.outcome in {FAIL, ERROR} or result.alert is not None
        return [Example(kind_of(result), result)] if is_shown else []

    def keep_example(self, example: "Example") -> None:
        """Keep an example if it is among the first of its kind."""
        self.alike[example.kind] += 1
        if self.alike[example.kind] <= EXAMPLES:
            self.examples.append(example)


def count_alike(counts: Counter[str], more: Mapping[str, int]) -> None:
    """Add counts by words; words beyond the first hundred are not told, so they are not counted either."""
    for words, number in more.items():
        if words in counts or len(counts) < SHOWN_PROBLEMS:
            counts[words] += number


class Worker(Protocol):
    """Works on tasks, one after the other, with one evaluator."""

    def work(self, task: BlockTask) -> BlockResult: ...


RESULTS_PART, IDS = "results", "ids"


class ReportWorker:
    """Evaluates blocks and keeps what a report is joined from: records, failures in short, ids."""

    def __init__(self, plan: RunPlan, rules: RuleSet | None = None) -> None:
        self._spec = plan.spec
        self._folder = Path(plan.folder)
        self._evaluator = plan.evaluator(rules)
        self._selection = plan.selection()
        self._reader = Reader.of(plan.spec)
        self._suffix = results_suffix(plan.spec.results) if plan.spec.results else ""
        self._by_lines = _takes_lines(plan)

    def work(self, task: BlockTask) -> BlockResult:
        """Evaluate the cases of a unit and keep their results; with problems, only report these."""
        with without_collection():
            block = BlockResult(task.number, task.unit.size)
            unit = task.unit
            kernel = self._evaluator.kernel if self._by_lines else None
            if kernel and isinstance(unit, Block):
                self._by_kernel(unit, block, kernel)
            else:
                self._evaluate_cases(unit, block, self._evaluator.evaluate)
            if block.parts and self._spec.engine != LOCAL:  # whoever joins them is another process
                write_parts(self._folder, block.number, block.parts)
                block.parts = {}
            return block

    def _by_kernel(self, unit: Block, block: BlockResult, kernel: Kernel) -> None:
        """Evaluate the lines of a block by the kernel; after a fault in it, or by functions as checks, in Python."""
        try:
            if kernel.can_decide(self._spec.checks):
                content = unit.read()
                self._take(kernel.call(content, self._call(unit), unit.first_line), content, unit, block)
                return
        except NativeReaderError as error:
            warn_of_fault(error, f"the lines of {unit.file} from {unit.first_line} on")
        self._evaluate_cases(unit, block, self._evaluator.evaluate_in_python)

    def _evaluate_cases(self, unit: Unit, block: BlockResult, evaluate: Evaluate) -> None:
        """Read and choose cases in Python."""
        cases: list[Case] = []
        for reading in self._reader.read(unit):
            cases += reading.cases
            block.add_problems(reading.problems)
        block.seen = len(cases)
        if not _is_ready(unit):
            block.id_hashes = array("q", [name_hash(case.id) for case in cases])
            block.id_lines = array("q", [case.source.line if case.source else 0 for case in cases])
            block.parts[IDS] = "\n".join(case.id for case in cases).encode()
        if not block.kinds:
            pieces = _Pieces(self._spec, self._suffix)
            for result in block.evaluate(self._selection.wanted(cases), evaluate):
                pieces.add(result)
            pieces.put(block)

    def _take(self, answer: Answer, content: bytes, unit: Block, block: BlockResult) -> None:
        """What the kernel made of a block, and in Python what it left."""
        lines = content.split(b"\n") if answer.deferred or answer.odd else []
        left = self._left(answer, lines, unit, block)
        block.seen = len(answer.lines) + len(left)
        block.deferred = len(left)
        if not unit.ready:
            self._add_ids(answer, left, unit.first_line, block)
        if block.kinds:
            return
        odd = {line: self._wanted(self._case(lines[line], line, unit)) for line in answer.odd}
        odd |= {line: self._wanted(case) for line, case in left.items()}
        for line in sorted(odd):
            block.warn(warning for case in odd[line] for warning in label_warnings(case))
        for counts in answer.counts:
            block.tally.add_counts(msgspec.json.decode(counts))
        self._splice(answer, left, block)

    def _call(self, unit: Block) -> KernelCall:
        spec = self._spec
        is_kept = spec.out is not None or spec.keep_results
        form = (RECORDS if spec.out else RESULTS) if is_kept else 0
        flags = {
            READY: unit.ready,
            KEEPS_TEXT: spec.keep_text,
            FAILURES: spec.out is not None,
            ONLY_FAILURES: spec.failures_only,
            EXAMPLES_WANTED: True,
            AS_LINES: bool(self._suffix) or spec.out is None,
        }
        wanted = form | sum(flag for flag, is_set in flags.items() if is_set)
        return KernelCall(wanted, unit.file, spec.language, spec.checks, spec.only)

    def _left(self, answer: Answer, lines: list[bytes], unit: Block, block: BlockResult) -> dict[int, Case]:
        """The cases that the kernel left to Python, by line; what is wrong with a line is a problem of the block."""
        found: dict[int, Case] = {}
        for line, *_ in answer.deferred:
            case = self._case(lines[line], line, unit)
            if isinstance(case, Case):
                found[line] = case
            else:
                block.add_problems(case)
        return found

    def _case(self, line: bytes, number: int, unit: Block) -> Case | Sequence[Problem]:
        if unit.ready:
            return _decode_case(line)
        return parse_line(line, unit.first_line + number, unit.file, self._reader.options.validator)

    def _wanted(self, case: Case | Sequence[Problem]) -> list[Case]:
        return self._selection.wanted([case]) if isinstance(case, Case) else []

    def _add_ids(self, answer: Answer, left: Mapping[int, Case], first_line: int, block: BlockResult) -> None:
        ids = answer.ids.decode().split("\n")[:-1]
        rows = [(line, number, name) for line, number, name in zip(answer.lines, answer.hashes, ids, strict=True)]
        if left:
            rows = sorted([*rows, *((line, name_hash(case.id), case.id) for line, case in left.items())])
        block.id_lines = array("q", [line + first_line for line, _, _ in rows])
        block.id_hashes = array("q", [number for _, number, _ in rows])
        block.parts[IDS] = "\n".join(name for _, _, name in rows).encode()

    def _splice(self, answer: Answer, left: Mapping[int, Case], block: BlockResult) -> None:
        """The results of the kernel with those of Python in their places."""
        pieces = _Pieces(self._spec, self._suffix)
        found = zip(answer.example_lines, answer.example_kinds, answer.examples.splitlines(), strict=True)
        examples = {line: [Example(kind, content)] for line, kind, content in found}
        copied, failed = 0, (0,) * RANKS
        for line, place, failures in answer.deferred:
            pieces.copy(answer, (copied, place), zip(failed, failures, strict=True))
            copied, failed = place, failures
            examples[line] = []
            for result in self._evaluator.evaluate_in_python(self._wanted(left[line])):
                block.tally.add(result)
                pieces.add(result)
                examples[line] += block.example_of(result)
        ends = zip(failed, map(len, answer.failures), strict=True)
        pieces.copy(answer, (copied, len(answer.records)), ends)
        for line in sorted(examples):
            for example in examples[line]:
                block.keep_example(example)
        pieces.put(block)


def _takes_lines(plan: RunPlan) -> bool:
    """Whether lines can be handed over unread: what chooses among cases, or keeps bad ones, looks at them first."""
    spec = plan.spec
    chooses = spec.tags or spec.ids or plan.places is not None
    return not chooses and _is_bundled(spec.schema) and spec.on_bad_row != KEEP_AS_ERROR


def _is_bundled(schema: Path) -> bool:
    """A copy of the schema in somebody's project says the same."""
    return schema == CASE_SCHEMA or (schema.is_file() and schema.read_bytes() == CASE_SCHEMA.read_bytes())


def _is_ready(unit: Unit) -> bool:
    return isinstance(unit, Block) and unit.ready  # the rows of a log may have an id in common


class _Pieces:
    """The results of a block as they are kept: in memory, or as records."""

    def __init__(self, spec: RunSpec, suffix: str) -> None:
        self._spec = spec
        self._suffix = suffix
        self._before, self._after = (b"", b"\n") if suffix or spec.out is None else (SEPARATOR, b"")
        self._records: list[bytes] = []
        self._results: list[CaseResult] = []
        self._failures: dict[int, list[bytes]] = defaultdict(list)

    def copy(self, answer: Answer, records: Span, failures: Iterable[Span]) -> None:
        """Results of the kernel, from one place in its answer to another."""
        if self._spec.out is None:
            self._results += _results(answer.records[slice(*records)])
            return
        self._records.append(answer.records[slice(*records)])
        for rank, (start, end) in enumerate(failures):
            if start < end:
                self._failures[rank].append(answer.failures[rank][start:end])

    def add(self, result: CaseResult) -> None:
        """A result of Python."""
        is_shown = self._spec.shows(result)
        if self._spec.out is None:
            self._results += [result] if is_shown and self._spec.keep_results else []
            return
        if is_shown:
            self._records.append(self._before + _encode(result.to_record()) + self._after)
        if result.outcome == FAIL:
            self._failures[rank_of(result.urgency)].append(SEPARATOR + _encode(failure_of(result)))

    def put(self, block: BlockResult) -> None:
        block.results = self._results
        if self._spec.out is not None:
            block.parts[RESULTS_PART] = packed(b"".join(self._records), self._suffix)
            block.parts |= {f"failures-{rank}": b"".join(own) for rank, own in self._failures.items()}


def kind_of(result: CaseResult) -> int:
    """What examples have in common, as a number: outcome, expected or not, alert, unanswered, urgency."""
    failed = {FAIL: 1, ERROR: 1 << 16}.get(result.outcome, 0)
    bad, sure = result.urgency
    flags = failed | result.is_negative_example << 1 | (result.alert is not None) << 2 | result.is_unanswered << 3
    return flags | bad << 4 | -sure << 8
