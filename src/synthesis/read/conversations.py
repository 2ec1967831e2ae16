"""Rows that name their conversation become one case; rows that are not neighbours are reported, or sorted first."""

import pickle
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from synthesis.errors import RETURNS, SHOWN_PROBLEMS, InputError, OutputError, Place, Problem, shorten
from synthesis.model import Case, Source, Turn
from synthesis.read.lines import Row
from synthesis.read.mapping import CONVERSATION, MISSING, TEXT, require_whole_messages, value_at
from synthesis.read.rows import Converter, LogOptions, needed_columns

SHARES = 64


_MASK = (1 << 64) - 1


def name_hash(name: str) -> int:
    """A number of 64 bits that two names hardly share; the kernel makes the same one of an id."""
    content = name.encode(errors="surrogatepass")
    mixed = len(content)
    for at in range(0, len(content), 8):
        word = int.from_bytes(content[at : at + 8], "little")
        mixed = (((mixed << 23 | mixed >> 41) & _MASK ^ word) * 0x9E3779B97F4A7C15) & _MASK
    mixed = ((mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93) & _MASK
    return mixed - (1 << 64) if mixed >> 63 else mixed


def repeated_places(hashes: "array[int]") -> list[tuple[int, int]]:
    """The first place of each repeated hash with each later one, in the order of the later places."""
    repeated = _repeated(hashes)
    first: dict[int, int] = {}
    pairs = []
    for place, value in enumerate(hashes) if repeated else ():
        if value in repeated and first.setdefault(value, place) != place:
            pairs.append((first[value], place))
    return pairs


def _repeated(hashes: "array[int]") -> set[int]:
    """The hashes that appear more than once; looked for share by share, since a set of all takes ten times as much."""
    shares = [array("q") for _ in range(SHARES)]
    add = [share.append for share in shares]
    for value in hashes:
        add[value % SHARES](value)
    repeated: set[int] = set()
    for share in shares:
        if len(set(share)) < len(share):
            repeated.update(value for value, times in Counter(share).items() if times > 1)
    return repeated


# Rows that name the conversation they belong to (`--map conversation=NAME`) become one case for each conversation.


# A wrong column may join a whole file to one conversation, which would not fit into memory.
MOST_ROWS = 10_000
Begins = Callable[[Any, int], object]  # the name of a conversation, and the line where it begins
Ends = Callable[[bool], object]  # whether it seems to be the wrong way round


def cases_of(
    rows: Iterable[Row | Problem],
    converter: Converter,
    options: LogOptions,
    file: str,
    begins: Begins = lambda *_: None,
    ends: Ends = lambda _: None,
) -> Iterator[Case | Problem]:
    """A case for each row, or for each conversation where the map names the field that tells them apart.

    `begins` is called with the name of each conversation that is joined, and the line where it begins; `ends` with
    whether it seems to be the wrong way round.
    """
    require_whole_messages(options.columns, file)
    column = options.columns.get(CONVERSATION)
    if column is None:
        return (row if isinstance(row, Problem) else converter.case(row) for row in rows)
    return _joined(rows, converter, TEXT in options.columns, column, file, begins, ends)


def too_many_rows(name: object, file: str) -> InputError:
    return InputError(
        f"the conversation {shorten(repr(name), 40)} has more than {MOST_ROWS:,} rows",
        place=Place(file),
        hint="Does --map conversation=NAME name the right column?",
    )


class _Conversation:
    """The rows of one conversation so far."""

    def __init__(self, name: str, line: int, file: str) -> None:
        self.name = name
        self._line = line
        self._source = Source(file, line)
        self._cases: list[tuple[float | None, Case]] = []
        self._problem: Problem | None = None
        self._rows = 0
        self.unplaced: list[Problem] = []  # unreadable rows after it, which may belong to it

    def add(self, found: Case | Problem | None, time: float | None) -> None:
        """Another row of it, and when it was written; None for one without text."""
        self._rows += 1
        if self._rows > MOST_ROWS:
            raise too_many_rows(self.name, self._source.file)
        for problem in (*self.unplaced, found):
            if isinstance(problem, Problem) and self._problem is None:
                self._problem = problem
        self.unplaced = []
        if isinstance(found, Case):
            self._cases.append((time, found))

    def finish(self) -> Iterator[Case | Problem]:
        """The conversation as a case; a turn that cannot be read makes it a problem, since the others depend on it."""
        if self._problem is not None:
            # The same words for the first rows of all conversations, so that they are told as one.
            is_first = self._problem.line == self._line
            where = "its first row" if is_first else f"the row at line {self._problem.line}"
            yield Problem(self._line, self._problem.kind, f"{where} {self._problem.message}", self.name)
        elif self._cases:
            yield msgspec.structs.replace(_as_one(self._in_order(), self.name), source=self._source)
        else:
            yield Problem(self._line, "unusable row", "the conversation holds no text", self.name)
        yield from self.unplaced

    def _in_order(self) -> list[Case]:
        """By their times where each has one, as many exports have the newest first; else as they are in the file."""
        if not self._has_times:
            return [case for _, case in self._cases]
        return [case for _, case in sorted(self._cases, key=lambda one: one[0] or 0)]

    @property
    def _has_times(self) -> bool:
        return all(time is not None for time, _ in self._cases)

    @property
    def seems_reversed(self) -> bool:
        """Whether a reply comes first and what was asked last, and no times tell that it was so."""
        if self._problem is not None or (self._has_times and len({time for time, _ in self._cases}) > 1):
            return False
        turns = [turn.role for _, case in self._cases for turn in _turns(case) if turn.role in ("user", "assistant")]
        return turns[:1] == ["assistant"] and turns[-1:] == ["user"]


def _joined(
    rows: Iterable[Row | Problem],
    converter: Converter,
    of_messages: bool,
    column: str,
    file: str,
    begins: Begins,
    ends: Ends,
) -> Iterator[Case | Problem]:
    current: _Conversation | None = None
    for row in rows:
        if isinstance(row, Problem):
            if current:
                current.unplaced.append(row)
            else:
                yield row
            continue
        name = conversation_name(value_at(row.fields, column))
        if current and current.name != name:
            yield from _finished(current, ends)
            current = None
        if name is None:
            # A message without a conversation cannot be evaluated alone, as an exchange can.
            yield _alone(row, None if of_messages else converter, column)
            continue
        if current is None:
            begins(name, row.line)
            current = _Conversation(name, row.line, file)
        current.add(None if converter.is_silent(row) else converter.case(row), converter.time(row))
    if current:
        yield from _finished(current, ends)


def _finished(conversation: _Conversation, ends: Ends) -> Iterator[Case | Problem]:
    ends(conversation.seems_reversed)
    return conversation.finish()


def conversation_name(value: Any) -> str | None:
    """What a row calls its conversation; None where it belongs to none."""
    return None if value is None or value == "" else str(value)


def _alone(row: Row, converter: Converter | None, column: str) -> Case | Problem:
    if value_at(row.fields, column, MISSING) is MISSING:
        return Problem(row.line, "unusable row", f"has no '{column}' (--map conversation={column} names it)")
    if converter is None:
        message = f"its '{column}' is empty, so the row belongs to no conversation"
        return Problem(row.line, "unusable row", message, f"ROW-{row.number}")
    return converter.case(row)


def _as_one(cases: list[Case], name: str) -> Case:
    """All messages in order. A label holds for the conversation if it holds for each of its rows."""
    first = cases[0]
    labels: dict[str, bool] = {}
    for case in cases:
        for check, expected in (case.expected or {}).items():
            labels[check] = labels.get(check, True) and expected
    return msgspec.structs.replace(
        first,
        id=name,
        user="",
        assistant="",
        messages=tuple(turn for case in cases for turn in _turns(case)),
        tags=tuple(dict.fromkeys(tag for case in cases for tag in case.tags)),
        expected=labels or None,
        times=tuple(time for case in cases for time in case.times),
    )


def _turns(case: Case) -> tuple[Turn, ...]:
    return case.messages or (Turn("user", case.user), Turn("assistant", case.assistant))


# Conversations whose rows are not neighbours: a name that returns after rows of others.


class Returns:
    """Collects where conversations begin in one file, in sixteen bytes each, and how many seem to be reversed."""

    def __init__(self) -> None:
        self._hashes = array("q")
        self._lines = array("q")
        self._reversed = 0

    def end(self, is_reversed: bool) -> None:
        self._reversed += is_reversed

    @property
    def warning(self) -> str:
        """That conversations seem to be the wrong way round, with how many; empty where none does."""
        if not self._reversed:
            return ""
        some = "1 conversation begins" if self._reversed == 1 else f"{self._reversed:,} conversations begin"
        return (
            f"{some} with the assistant and {'ends' if self._reversed == 1 else 'end'} with the user. If the rows are "
            "newest first, --map time=NAME puts them in order by a column with their times"
        )

    def add(self, value: Any, line: int) -> None:
        """A conversation begins here; a row without a name belongs to none."""
        name = conversation_name(value)
        if name is not None:
            self._hashes.append(name_hash(name))
            self._lines.append(line)

    def problems(self, rows: Iterable[Row | Problem], column: str) -> Iterator[Problem]:
        """A problem for each later beginning; `rows` are those of the file again, which know its name."""
        pairs = repeated_places(self._hashes)
        found = {self._lines[again]: self._lines[first] for first, again in pairs}
        names = _names(rows, column, {*list(found)[:SHOWN_PROBLEMS]}) if found else {}
        for line, first in found.items():
            message = f"the conversation returns after rows of others: its first row is on line {first}"
            yield Problem(line, RETURNS, message, names.get(line))


def _names(rows: Iterable[Row | Problem], column: str, lines: set[int]) -> dict[int, str | None]:
    wanted = (row for row in rows if isinstance(row, Row) and row.line in lines)
    return {row.line: conversation_name(value_at(row.fields, column)) for row in wanted}


# Rows sorted by their conversation, on disk, so that the rows of each are neighbours.


MOST_HELD = 64 << 20  # bytes of rows in memory
MOST_RUNS = 64  # files that are open at a time
_OF_A_RECORD = 200  # bytes that a row takes beside its content

Record = tuple[str, int, bytes]  # conversation, number of the row, its line and fields


def sorted_rows(rows: Iterable[Row | Problem], options: LogOptions) -> Iterator[Row | Problem]:
    """The rows by conversation and number; unreadable ones come first, since they belong to none."""
    with TemporaryDirectory(prefix="synthesis-sort-", ignore_cleanup_errors=True) as folder:
        runs = _Runs(Path(folder))
        for row in rows:
            if isinstance(row, Problem):
                yield row
            else:
                runs.add(_record(row, options))
        for _, number, content in runs.merged():
            line, fields = pickle.loads(content)  # written above, in a folder that only this process knows
            yield Row(number, line, fields)


def _record(row: Row, options: LogOptions) -> Record:
    fields = {name: row.fields[name] for name in needed_columns(row.fields, options)}
    name = conversation_name(value_at(row.fields, options.columns[CONVERSATION])) or ""
    return name, row.number, pickle.dumps((row.line, fields))


class _Runs:
    """Sorted files of records, and the records that are not yet in one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: list[Record] = []
        self._size = 0
        self._files: list[Path] = []
        self._made = 0

    def add(self, record: Record) -> None:
        self._held.append(record)
        self._size += len(record[2]) + _OF_A_RECORD
        if self._size > MOST_HELD:
            self._files.append(self._written(sorted(self._held)))
            self._held, self._size = [], 0

    def merged(self) -> Iterator[Record]:
        while len(self._files) > MOST_RUNS:
            first, self._files = self._files[:MOST_RUNS], self._files[MOST_RUNS:]
            self._files.append(self._written(merge(*map(_read, first))))
            for path in first:
                path.unlink()
        self._held.sort()
        return merge(*map(_read, self._files), self._held)

    def _written(self, records: Iterable[Record]) -> Path:
        path = self._folder / str(self._made)
        self._made += 1
        try:
            with path.open("wb") as file:
                for record in records:
                    pickle.dump(record, file)
        except OSError as error:
            raise OutputError(
                f"rows cannot be sorted there: {error.strerror or error}",
                place=Place(str(self._folder)),
                hint="The variable TMPDIR names another folder for it.",
            ) from None
        return path


def _read(path: Path) -> Iterator[Record]:
    with path.open("rb") as file:
        while True:
            try:
                yield pickle.load(file)
            except EOFError:
                return
