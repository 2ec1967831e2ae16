"""Which kind of file it is, by its ending and its first row; the reader of each kind, and a preview of its rows."""

import pickle
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from synthesis.errors import InputError, OutputError, Place, Problem
from synthesis.model import Case
from synthesis.read import json
from synthesis.read.conversations import Begins, cases_of, conversation_name
from synthesis.read.lines import BYTE_ORDER_MARK, MOST_LINE, Block, blocks, decode_line
from synthesis.read.parquet import needed_columns
from synthesis.read.rows import CASE_ID, CONVERSATION, Converter, LogOptions, LogRow, with_message_columns
from synthesis.read.tables import table_rows

MOST_HELD = 64 << 20  # bytes of rows in memory
MOST_RUNS = 64  # files that are open at a time
_OF_A_RECORD = 200  # bytes that a row takes beside its content

Record = tuple[str, int, bytes]  # conversation, number of the row, its line and fields


def sorted_rows(rows: Iterable[LogRow | Problem], options: LogOptions) -> Iterator[LogRow | Problem]:
    """The rows by conversation and number; those that nobody can read come first, since they belong to none."""
    with TemporaryDirectory(prefix="synthesis-sort-", ignore_cleanup_errors=True) as folder:
        runs = _Runs(Path(folder))
        for row in rows:
            if isinstance(row, Problem):
                yield row
            else:
                runs.add(_record(row, options))
        for _, number, content in runs.merged():
            line, fields = pickle.loads(content)  # written above, in a folder that only this process knows
            yield LogRow(number, line, fields)


def _record(row: LogRow, options: LogOptions) -> Record:
    fields = {name: row.fields[name] for name in needed_columns(row.fields, options)}
    name = conversation_name(row.fields.get(options.columns[CONVERSATION])) or ""
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


# Which kind of file it is, by its ending and by its first row; each kind has its own reader.


CASES, LINES, JSON, TABLE, PARQUET, INSPECT = "cases", "lines", "json", "table", "parquet", "inspect"
_ENDINGS = {
    ".csv": TABLE,
    ".tsv": TABLE,
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".eval": INSPECT,
    ".json": JSON,
}


def format_of(path: Path, *, mapped: bool = False, most_line: int = MOST_LINE) -> str:
    """`cases` for a file of JSON Lines cases, else the kind of log.

    Lines are a log if the first of them is a conversation without anything that only a case has. `mapped` says that
    --map or --checks was given: then they are one if it names no checks.
    """
    by_ending = _ENDINGS.get(path.suffix.lower())
    if by_ending:
        return by_ending
    first = _first_object(path, most_line)
    names_checks = isinstance(first, dict) and "checks" in first
    return LINES if _is_conversation(first) or (mapped and not names_checks) else CASES


def kind_by_ending(path: Path) -> str:
    """The kind of a log; what has no ending that says it is lines."""
    return _ENDINGS.get(path.suffix.lower(), LINES)


def is_log(path: Path, *, mapped: bool = False) -> bool:
    """Whether a file is a log or a table rather than a file of cases."""
    return format_of(path, mapped=mapped) != CASES


def read_rows(
    path: Path, options: LogOptions, shown: str | None = None, begins: Begins = lambda *_: None
) -> Iterator[Case | Problem]:
    """The rows of a log, each as a case or as what is wrong with it; InputError if the file itself is unusable.

    `shown` is what the cases call their file, where its path says more about a machine than about the file.
    """
    name = shown or str(path)
    empty = True
    rows = raw_rows(path, options)
    if options.sort:
        rows = sorted_rows(rows, options)
    for case in cases_of(rows, Converter(options, name), options, name, begins):
        empty = False
        yield case
    if empty:
        raise InputError("holds no rows", place=Place(str(path)), hint="A log has one conversation per row.")


def raw_rows(path: Path, options: LogOptions) -> Iterator[LogRow | Problem]:
    """The rows of a log as they are in the file."""
    kind = kind_by_ending(path)
    if kind != LINES and not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "there is no such file"
        raise InputError(what, place=Place(str(path)), hint="Check the path.")
    try:
        yield from _reader(kind, path, options)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", place=Place(str(path))) from None


def _reader(kind: str, path: Path, options: LogOptions) -> Iterator[LogRow | Problem]:
    """Each reader is imported when a file asks for it."""
    if kind == TABLE:
        from synthesis.read.tables import csv_rows

        return csv_rows(path, options)
    if kind == PARQUET:
        from synthesis.read.parquet import parquet_rows

        return parquet_rows(path, options)
    if kind == INSPECT:
        return json.inspect_rows(path, options.most_line)
    read = json.line_rows if kind == LINES else json.json_rows
    return read(path, options.most_line)


def _is_conversation(first: Any) -> bool:
    """A row of a log: somebody speaks, without the id, the checks or the labels that make a case."""
    if not isinstance(first, dict):
        return False
    if isinstance(first.get("conversations"), list):
        return True
    name = first.get("id")
    if "checks" in first or (isinstance(name, str) and CASE_ID.fullmatch(name) is not None):
        return False
    if isinstance(first.get("messages"), list):
        return True
    return "expected" not in first and {"user", "assistant"} <= first.keys()


def _first_object(path: Path, most_line: int) -> Any:
    """What the first line that is not blank holds; None where that cannot be told: a pipe is read only once."""
    if not path.is_file():
        return None
    try:
        for block in blocks(path, str(path), most_line=most_line):
            for line in block.read().split(b"\n") if isinstance(block, Block) else ():
                if line.strip():
                    return decode_line(line.removeprefix(BYTE_ORDER_MARK), 1)
    except InputError:  # the reader of the file says it
        return None
    return None


# The beginning of a log: the names of its columns and its first rows, before anybody has said what they mean.


class Preview(NamedTuple):
    """Columns in the order of the file, and the first rows; of Parquet the columns alone."""

    columns: list[str]
    rows: list[LogRow | Problem]


def preview(path: Path, most_line: int = MOST_LINE, count: int = 1) -> Preview:
    """Nothing of what is not a file: a pipe is read only once. InputError says why a file cannot be read."""
    kind = kind_by_ending(path)
    if not path.is_file():
        return Preview([], [])
    if kind == PARQUET:
        from synthesis.read.parquet import column_names

        return Preview(column_names(path), [])
    if kind == TABLE:
        header: list[str] = []
        return Preview(header, _first(table_rows(path, most_line, header.extend), count))
    read = {INSPECT: json.inspect_rows, JSON: json.json_rows}.get(kind, json.line_rows)
    rows = _first(read(path, most_line), count)
    names = (name for row in rows if isinstance(row, LogRow) for name in row.fields)
    return Preview([*dict.fromkeys(names)], rows)


def _first(rows: Iterator[LogRow | Problem], count: int) -> list[LogRow | Problem]:
    """The first rows; of a document that breaks off, those before its end."""
    found: list[LogRow | Problem] = []
    try:
        found.extend(islice(rows, count))
    except InputError:
        if not found:
            raise
    return found


def completed_columns(path: Path, columns: dict[str, str], most_line: int = MOST_LINE) -> dict[str, str] | None:
    """The map with the columns that a message per row is in, if the file has them; None for a file without columns."""
    names = preview(path, most_line).columns
    return with_message_columns(columns, names) if names else None
