"""Checksums of what is saved, one for each column, so that damage is found and named when it is read."""

import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from synthesis.errors import DamagedRunError, Place

CHECKSUM, ROWS = "checksum", "rows_checksum"
OUTCOMES, FINDINGS = "outcomes", "findings"  # the rows that belong to a case, sealed with it
RUN_COLUMNS = (
    *("id", "kind", "name", "started", "tool_version", "rules_hash", "input_hash", "revision", "with_text"),
    *("conditions", "summary", "origin", ROWS),
)
CASE_COLUMNS = ("position", "case_id", "outcome", "kind", "language", "words", "record", OUTCOMES, FINDINGS)
SAMPLE_COLUMNS = (
    *("iteration", "position", "query_log_id", "faithfulness", "completeness", "overall", "passed", "error"),
    *("words", "record"),
)
_WIDTH = 8  # hexadecimal digits of one checksum
HINT = "`synthesis history check` names all damage; `synthesis history export --rest` saves what is whole."


Key = tuple[int, ...]  # the position of a case; the iteration and position of a sample


class Damage(msgspec.Struct, frozen=True):
    """One damaged column. `row` says which case or sample, `key` where it is; None is the run itself."""

    run_id: str
    column: str
    row: str | None = None
    reason: str = "it is not what was saved"
    key: Key | None = None

    def __str__(self) -> str:
        place = f"the column '{self.column}'" + (f" of {self.row}" if self.row else "")
        return f"run {self.run_id} is damaged in {place}: {self.reason}"

    def error(self, shown: str) -> DamagedRunError:
        """The error of a reader that needs this column; `shown` is where the history is."""
        return DamagedRunError(str(self), place=Place(shown), hint=HINT)


class DamagedValueError(ValueError):
    """A value that no column of this kind can hold, found while a row is read."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(column, reason)
        self.column = column
        self.reason = reason


def seal(names: Sequence[str], values: Mapping[Any, Any]) -> str:
    """The checksums of all columns, and one of the checksums themselves."""
    parts = "".join(_checksum(values[name]) for name in names)
    return parts + _checksum(parts)


def damaged_column(names: Sequence[str], values: Mapping[Any, Any]) -> str | None:
    """The first of the columns read that differs from its seal; None also where a version without seals saved it."""
    found = values[CHECKSUM]
    if found is None:
        return None
    parts = found[:-_WIDTH]
    if len(parts) != _WIDTH * len(names) or _checksum(parts) != found[-_WIDTH:]:
        return CHECKSUM
    sealed = {name: parts[at * _WIDTH : (at + 1) * _WIDTH] for at, name in enumerate(names)}
    return next((name for name in names if name in values and _checksum(values[name]) != sealed[name]), None)


def seal_of_outcomes(rows: Iterable[Any]) -> list[tuple[Any, ...]]:
    """The outcomes of one case as a value to seal, in an order of their own."""
    return sorted(((row.check_name, row.outcome, row.expected, row.matched) for row in rows), key=itemgetter(0))


def seal_of_findings(rows: Iterable[Any]) -> list[tuple[Any, ...]]:
    """The findings of one case, likewise."""
    named = ("number", "rule", "signal", "side", "turn", "start_at", "end_at")
    return sorted((tuple(getattr(row, name) for name in named) for row in rows), key=itemgetter(0))


class SealOfRows:
    """Takes the seals of a run's cases or samples in any order: a row that is gone shows, too."""

    def __init__(self) -> None:
        self._count = self._sum = 0

    def add(self, seal: str) -> None:
        self._count += 1
        self._sum = (self._sum + zlib.crc32(seal.encode())) % (1 << 32)

    def __str__(self) -> str:
        return f"{self._count}:{self._sum:08x}"


def is_damage(error: BaseException) -> bool:
    """Whether an error of the database says that its file is damaged."""
    if isinstance(error, DamagedValueError):
        return True
    code = getattr(getattr(error, "orig", error), "sqlite_errorcode", 0) or 0
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _checksum(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a database may give back 4.0 for 4
    return f"{zlib.crc32(msgspec.json.encode(value)):0{_WIDTH}x}"
