"""Looks for damage: every run with all that belongs to it against its checksums, and the database's own file."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import Table, select, tuple_
from sqlalchemy.exc import SQLAlchemyError

from synthesis.errors import DamagedRunError, HistoryError
from synthesis.history.database import cases, findings, outcomes, runs, samples
from synthesis.history.model import BATCH, CHECKS, SavedRun
from synthesis.history.reading import belonging, case_name, decoded_record, read_runs, saved_sample, whole_rows
from synthesis.history.seals import (
    CASE_COLUMNS,
    CHECKSUM,
    FINDINGS,
    OUTCOMES,
    ROWS,
    Damage,
    DamagedValueError,
    Key,
    SealOfRows,
    damaged_column,
    seal_of_findings,
    seal_of_outcomes,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from synthesis.history.database import Database

_MOST_MESSAGES = 20
_UNREADABLE = "its part of the file is damaged"


class RunCheck(msgspec.Struct, frozen=True):
    """What is damaged of one run, if anything; `is_sealed` says whether it was saved with checksums."""

    run_id: str
    damage: tuple[Damage, ...]
    is_sealed: bool


def check_runs(database: "Database") -> Iterator[RunCheck]:
    """Every run, newest first."""
    for found in read_runs(database):
        if isinstance(found, Damage):
            yield RunCheck(found.run_id, (found,), True)
        else:
            yield check_run(database, found)


def check_run(database: "Database", run: SavedRun) -> RunCheck:
    """One run whose own columns are whole."""
    reader = _Rows(database, run)
    try:
        damage = tuple(reader.damaged())
    except HistoryError as error:  # not even the places of its rows can be read
        damage = (Damage(run.id, "position", reason=error.message),)
    return RunCheck(run.id, damage, reader.is_sealed)


class _Rows:
    """The cases or samples of one run."""

    def __init__(self, database: "Database", run: SavedRun) -> None:
        self._database = database
        self._run = run
        self._table: Table = cases if run.kind == CHECKS else samples
        self._key = [self._table.c.position] if run.kind == CHECKS else [samples.c.iteration, samples.c.position]
        self._sealed = SealOfRows()
        with database.reading(run.id) as connection:
            query = select(runs.c.rows_checksum).where(runs.c.id == run.id)
            self._expected: str | None = connection.execute(query).scalar()
        self.is_sealed = self._expected is not None

    def damaged(self) -> Iterator[Damage]:
        found = 0
        for keys in self._keys():
            for damage in self._of_batch(keys):
                found += 1
                yield damage
        if not found and self.is_sealed and str(self._sealed) != self._expected:
            yield Damage(self._run.id, ROWS, reason="rows are missing, or there are more than were saved")

    def _keys(self) -> Iterator[list[Key]]:
        mine = self._table.c.run_id == self._run.id
        with self._database.reading(self._run.id) as connection:
            every = [tuple(row) for row in connection.execute(select(*self._key).where(mine).order_by(*self._key))]
        return (every[first : first + BATCH] for first in range(0, len(every), BATCH))

    def _of_batch(self, keys: list[Key]) -> Iterator[Damage]:
        wanted = tuple_(*self._key).in_(keys) if len(self._key) > 1 else self._key[0].in_([key[0] for key in keys])
        query = select(self._table).where(self._table.c.run_id == self._run.id, wanted)
        with self._database.reading(self._run.id) as connection:
            rows = list(whole_rows(connection, query, self._table))
            whole = [row for row in rows if not isinstance(row, Damage)]
            left = iter([row for row in rows if isinstance(row, Damage)])
            for key in sorted(set(keys) - {self._key_of(row) for row in whole}):
                found = next(left, Damage(self._run.id, "record", reason=_UNREADABLE))
                yield msgspec.structs.replace(found, run_id=self._run.id, row=self._name(key), key=key)
            yield from self._of_cases(connection, whole) if self._table is cases else self._of_samples(whole)

    def _name(self, key: Key) -> str:
        return f"case {key[0]}" if self._table is cases else f"sample {key[1]} of iteration {key[0]}"

    def _key_of(self, row: "Row[Any]") -> Key:
        return tuple(row._mapping[column.name] for column in self._key)

    def _of_cases(self, connection: "Connection", rows: "Sequence[Row[Any]]") -> Iterator[Damage]:
        for row in rows:
            self._add(row)
            try:
                own = {
                    OUTCOMES: seal_of_outcomes(belonging(connection, outcomes, [row])[row.position]),
                    FINDINGS: seal_of_findings(belonging(connection, findings, [row])[row.position]),
                }
                column, reason = damaged_column(CASE_COLUMNS, {**row._mapping, **own}), ""
            except DamagedValueError as error:
                column, reason = error.column, error.reason
            except SQLAlchemyError:
                column, reason = OUTCOMES, _UNREADABLE
            if column is None:
                column, reason = self._undecodable(row)
            if column is not None:
                found = Damage(row.run_id, column, case_name(row), key=(row.position,))
                yield msgspec.structs.replace(found, reason=reason or found.reason)

    def _undecodable(self, row: "Row[Any]") -> tuple[str | None, str]:
        try:
            decoded_record(row, self._database.shown)
        except DamagedRunError:
            return "record", "it is not the result of a case"
        return None, ""

    def _of_samples(self, rows: "Sequence[Row[Any]]") -> Iterator[Damage]:
        for row in rows:
            self._add(row)
            found = saved_sample(row)
            if isinstance(found, Damage):
                yield found

    def _add(self, row: "Row[Any]") -> None:
        if (seal := row._mapping[CHECKSUM]) is not None:
            self._sealed.add(seal)


def check_file(database: "Database") -> list[str]:
    """What SQLite finds wrong with its file, and rows that belong to no run; PostgreSQL looks after its own files."""
    if database.engine.dialect.name != "sqlite":
        return []
    try:
        with database.reading() as connection:
            said = connection.exec_driver_sql(f"PRAGMA integrity_check({_MOST_MESSAGES})").scalars().all()
            orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    except HistoryError as error:
        return [error.message]
    messages = [" ".join(str(line).split()) for line in said if line != "ok"]
    tables = sorted({str(row[0]) for row in orphans})
    return messages + [f"rows of {table} belong to no run" for table in tables]
