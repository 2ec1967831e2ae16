"""Rows of a log sorted by their conversation: on disk, in sorted runs that are merged, whatever the size of the log.

The sort is stable: rows of one conversation keep the order in which they are in the file.
"""

import pickle
from collections.abc import Iterable, Iterator
from heapq import merge
from pathlib import Path
from tempfile import TemporaryDirectory

from synthesis.cases.logs.conversion import LogRow
from synthesis.cases.logs.joining import conversation_name
from synthesis.cases.logs.options import CONVERSATION, LogOptions
from synthesis.cases.logs.parquet import needed_columns
from synthesis.errors import OutputError, Place, Problem

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
