"""A path becomes rows: which kind of file it is, a first look at it, and its rows, whatever they are about."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from synthesis.errors import InputError, Place, Problem
from synthesis.io import ROOT, SUFFIXES
from synthesis.model import Case
from synthesis.read import json
from synthesis.read.conversations import Begins, Ends, cases_of, sorted_rows
from synthesis.read.lines import CHUNK, MOST_LINE, TOO_LONG, Row, Seen, input_size, line_rows, opened, unseen
from synthesis.read.mapping import with_message_columns
from synthesis.read.rows import SIDES, Converter, LogOptions, is_case_id, needed_columns, require_columns
from synthesis.read.shapes import probable_map, recognised, unfolded

LINES, JSON, TABLE, PARQUET, INSPECT = "lines", "json", "table", "parquet", "inspect"
_ENDINGS = {
    ".jsonl": LINES,
    ".ndjson": LINES,
    ".csv": TABLE,
    ".tsv": TABLE,
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".eval": INSPECT,
    ".json": JSON,
}
_WITH_LINES = (LINES, TABLE)
LOOKED_AT = 20  # rows, to tell what a file is
# What only other programs read; as lines they would be a list of errors.
_FOREIGN = frozenset({".xlsx", ".xls", ".ods", ".docx", ".pdf", ".zip", ".avro", ".orc", ".feather", ".db", ".sqlite"})
Choose = Callable[[list[str]], list[str]]  # the columns to read, of those in the header; may refuse them


class Input(msgspec.Struct, frozen=True):
    """A file to read and what a first look says about it: made once, and carried through a run."""

    path: Path
    name: str  # what cases and reports call it
    kind: str  # how its rows are stored
    size: int = 0  # bytes; 0 if unknown
    columns: tuple[str, ...] | None = None  # in its header, or in its first row; None before the first look
    is_conversation: bool = False  # of lines: the first one is a row of a log, and nothing makes them cases
    names_checks: bool = False  # of lines: one of the first does, as cases do
    likely: str = ""  # the map that may read its first row, if that is of no known shape

    @classmethod
    def of(cls, path: str | Path, name: str | None = None) -> "Input":
        """The file at a path, which is not opened if its ending says what it is."""
        path = Path(path)
        return cls(path, shown_path(path) if name is None else name, _kind(path), input_size(path))

    def looked_at(self, most_line: int = MOST_LINE) -> "Input":
        """With what its beginning says, if it can be read twice; InputError if it is unusable."""
        if self.columns is not None:
            return self
        found = preview(self, most_line, LOOKED_AT)
        rows = [row.fields for row in found.rows if isinstance(row, Row)]
        first = rows[0] if rows else {}
        # A row of a log may name checks of its own. Only where ids are those of cases, one of many may have forgotten.
        telling = rows if is_case_id(first.get("id")) else rows[:1]
        return msgspec.structs.replace(
            self,
            columns=tuple(found.columns if self.kind in (TABLE, PARQUET) else first),
            is_conversation=_is_conversation(first) and not any(map(_is_of_a_case, telling)),
            names_checks=any("checks" in row for row in telling),
            likely="" if recognised(first) else probable_map(first, rows[1:]),
        )

    def holds_cases(self, *, mapped: bool) -> bool:
        """Whether it is a file of cases, one per line, rather than a log.

        Lines are a log if the first of them is a conversation without anything that only a case has; where its id is
        one of a case, the next ones must be without it, too. `mapped` says that --map or --checks was given: then they
        are a log if none of these names checks.
        """
        return self.kind == LINES and not self.is_conversation and (self.names_checks or not mapped)

    @property
    def has_lines(self) -> bool:
        """Whether a row is a line or more, so that its number says how far into the file it is."""
        return self.kind in _WITH_LINES


def shown_path(path: Path) -> str:
    """A path as a reader of the report can use it; the bundled files are elsewhere on every machine."""
    if path.is_absolute() and path.is_relative_to(ROOT):
        return f"bundled:{path.relative_to(ROOT).as_posix()}"
    return path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else path.as_posix()


def _kind(path: Path) -> str:
    """By the ending, that of a compression left out; a file with another ending is a list of JSON or lines of it."""
    plain = path.with_suffix("") if path.suffix in SUFFIXES else path
    kind = _ENDINGS.get(plain.suffix.lower())
    if kind is None:
        return JSON if _begins_a_list(path) else LINES
    return kind


def _begins_a_list(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with opened(path) as file:
            return file.read(256).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    except (InputError, OSError):  # which reading it reports
        return False


def _is_conversation(first: Mapping[str, Any]) -> bool:
    """Whether somebody speaks in a row."""
    if isinstance(first.get("conversations"), list):
        return True
    shape = recognised(first)
    return shape is not None and (shape.columns != ("messages",) or isinstance(first["messages"], list))


def _is_of_a_case(row: Mapping[str, Any]) -> bool:
    """Whether a row has what only cases have. An id tells nothing: tickets are called like cases (`SUP-1`)."""
    if "checks" in row:
        return not isinstance(row.get("conversations"), list)
    if "expected" not in row:
        return False
    return row.keys() >= {*SIDES} or ("messages" in row and is_case_id(row.get("id")))


# The rows of a file, whatever they are about.


def all_columns(names: list[str]) -> list[str]:
    return names


def read_rows(
    source: Input, most_line: int = MOST_LINE, choose: Choose = all_columns, seen: Seen = unseen
) -> Iterator[Row | Problem]:
    """The rows of a file, each as it is or as what is wrong with it; none is held beyond `most_line` bytes.

    InputError if the file itself is unusable. `seen` is shown every byte of it, unpacked, for a hash.
    """
    _require_file(source)
    try:
        yield from _reader(source, most_line, choose, seen)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", place=Place(str(source.path))) from None


def _require_file(source: Input) -> None:
    path = source.path
    if path.suffix.lower() in _FOREIGN:
        hint = "Save it as JSON Lines (.jsonl), CSV or Parquet."
        raise InputError(f"{path.suffix} files cannot be read", place=Place(str(path)), hint=hint)
    if source.kind in (PARQUET, INSPECT) and path.suffix in SUFFIXES:
        raise InputError("is compressed twice", place=Place(str(path)), hint=f"Unpack the {path.suffix} first.")


def _reader(source: Input, most_line: int, choose: Choose, seen: Seen) -> Iterator[Row | Problem]:
    """Each reader is imported when a file asks for it."""
    if source.kind == TABLE:
        from synthesis.read.tables import csv_rows

        return csv_rows(source.path, most_line, choose, seen)
    if source.kind in (PARQUET, INSPECT) and seen is not unseen:
        _show_bytes(source.path, seen)  # they are not read from the beginning to the end
    if source.kind == PARQUET:
        from synthesis.read.parquet import parquet_rows

        return parquet_rows(source.path, most_line, choose)
    if source.kind == INSPECT:
        return json.inspect_rows(source.path, most_line)
    return (line_rows if source.kind == LINES else json.json_rows)(source.path, most_line, seen)


def _show_bytes(path: Path, seen: Seen) -> None:
    with opened(path) as file:
        while chunk := file.read(CHUNK):
            seen(chunk)


# The beginning of a file: the names of its columns and its first rows, before a map says what they mean.


class Preview(NamedTuple):
    """Columns in the order of the file, and the first rows; of Parquet the columns alone."""

    columns: list[str]
    rows: list[Row | Problem]


def preview(source: Input, most_line: int = MOST_LINE, count: int = 1) -> Preview:
    """Nothing of what is not a file: a pipe is read only once. InputError says why a file cannot be read."""
    if not source.path.is_file():
        return Preview([], [])
    if source.kind == PARQUET:
        from synthesis.read.parquet import column_names

        return Preview(column_names(source.path), [])
    header: list[str] = []

    def note(names: list[str]) -> list[str]:
        header.extend(names)
        return names

    rows = _first(read_rows(source, most_line, note), count)
    names = (name for row in rows if isinstance(row, Row) for name in row.fields)
    return Preview(header or [*dict.fromkeys(names)], rows)


def _first(rows: Iterator[Row | Problem], count: int) -> list[Row | Problem]:
    """The first rows, those that are too long left out; of a document that breaks off, those before its end."""
    found: list[Row | Problem] = []
    short = (row for row in rows if isinstance(row, Row) or row.kind != TOO_LONG)
    try:
        found.extend(islice(short, count))
    except InputError:
        if not found:
            raise
    return found


# The rows of a log become cases.


_NO_ROWS = (
    "A log has one conversation per row. Spans, runs and observations that are not calls of a model are left out."
)


def log_rows(source: Input, options: LogOptions, seen: Seen = unseen) -> Iterator[Row | Problem]:
    """The rows of a log as they are in the file, which must have the columns that the options name."""

    def choose(names: list[str]) -> list[str]:
        is_read = source.columns is not None and source.kind != PARQUET
        require_columns(names, options, source.path, source.likely if is_read else None)
        return needed_columns(names, options)

    return unfolded(read_rows(source, options.most_line, choose, seen))


def log_cases(
    source: Input,
    options: LogOptions,
    begins: Begins = lambda *_: None,
    seen: Seen = unseen,
    ends: Ends = lambda _: None,
) -> Iterator[Case | Problem]:
    """The rows of a log, each as a case or as what is wrong with it; InputError if the file itself is unusable.

    `begins` is called with the name of each conversation that is joined, and the line where it begins; `ends` with
    whether it seems to be the wrong way round.
    """
    empty = True
    rows = log_rows(source, options, seen)
    if options.sort:
        rows = sorted_rows(rows, options)
    converter = Converter(options, source.name, cells=source.kind in (TABLE, PARQUET))
    for case in cases_of(rows, converter, options, source.name, begins, ends):
        empty = False
        yield case
    if empty:
        raise InputError("holds no rows", place=Place(str(source.path)), hint=_NO_ROWS)


def completed_columns(source: Input, columns: dict[str, str]) -> dict[str, str] | None:
    """The map with the columns that a message per row is in, if the file has them; None for a file without columns."""
    return with_message_columns(columns, source.columns) if source.columns else None
