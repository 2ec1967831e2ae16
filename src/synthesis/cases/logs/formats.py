"""Which kind of file it is, by its ending and by its first row; each kind has its own reader.

    for row in read_rows(Path("chats.csv"), options):
        ...  # a Case, or a Problem with its row

Rows are read one at a time, in the order of the file; a bad row does not end the reading.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from synthesis.cases.blocks import MOST_LINE, Block, blocks
from synthesis.cases.decoding import BYTE_ORDER_MARK, decode_line
from synthesis.cases.logs.conversion import CASE_ID, Converter, LogRow
from synthesis.cases.logs.joining import Begins, cases_of
from synthesis.cases.logs.options import LogOptions
from synthesis.errors import InputError, Place, Problem
from synthesis.model import Case

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
        from synthesis.cases.logs.sorting import sorted_rows

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
        from synthesis.cases.logs.tables import csv_rows

        return csv_rows(path, options)
    if kind == PARQUET:
        from synthesis.cases.logs.parquet import parquet_rows

        return parquet_rows(path, options)
    from synthesis.cases.logs import json_logs

    if kind == INSPECT:
        return json_logs.inspect_rows(path, options.most_line)
    read = json_logs.line_rows if kind == LINES else json_logs.json_rows
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
