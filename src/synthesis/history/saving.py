"""Changes to a history. Each is one transaction: a run that fails midway leaves nothing behind."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import Table, delete, insert, select, update

from synthesis.errors import HistoryError, OptionError, Place
from synthesis.history.rows import CaseRow, CheckRow, FindingRow, NewRun, SampleRow, storable
from synthesis.history.schema import cases, findings, metadata, outcomes, runs, samples, tags

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from synthesis.history.database import Database

_TAG_WIDTH = 100
_TABLES: dict[type, Table] = {CaseRow: cases, CheckRow: outcomes, FindingRow: findings, SampleRow: samples}


def save(database: "Database", run: NewRun) -> str:
    """Write a run with everything that belongs to it; returns its id."""
    check_tags(run.tags)
    with database.writing() as connection:
        run_id = _write_run(connection, run, database.shown)
        batches = 0
        for batch in run.batches:
            batches += 1
            for rows in batch:
                if rows:
                    fields = [{"run_id": run_id, **msgspec.structs.asdict(row)} for row in rows]
                    _insert(connection, _TABLES[type(rows[0])], fields)
        _add_tags(connection, run_id, run.tags)
    if batches > 1 and database.engine.dialect.name == "postgresql":
        _analyze(database)
    return run_id


def _insert(connection: "Connection", table: Table, rows: list[dict[str, Any]]) -> None:
    """Insert rows with the same fields; PostgreSQL takes them several times faster by COPY."""
    if connection.dialect.name != "postgresql":
        connection.execute(insert(table), rows)
        return
    names = list(rows[0])
    cursor: Any = connection.connection.cursor()
    with cursor, cursor.copy(f"COPY {table.name} ({', '.join(names)}) FROM STDIN") as stream:
        for row in rows:
            stream.write_row([row[name] for name in names])


def _analyze(database: "Database") -> None:
    """PostgreSQL plans by table statistics; without fresh ones, a search in a new large run takes minutes."""
    with database.writing() as connection:
        connection.exec_driver_sql(f"ANALYZE {', '.join(table.name for table in metadata.sorted_tables)}")


def _write_run(connection: "Connection", run: NewRun, shown: str) -> str:
    """Insert a new run, or replace the same judged run that was saved before it was resumed."""
    row = run.row
    fields = msgspec.structs.asdict(row)
    same = select(runs.c.id).where(runs.c.origin == row.origin)
    earlier = connection.execute(same).scalar() if row.origin else None
    if earlier is not None:
        connection.execute(delete(samples).where(samples.c.run_id == earlier))
        kept = {"id", "started", "revision"}  # it is still the run that started then and there
        changed = {name: value for name, value in fields.items() if name not in kept}
        connection.execute(update(runs).where(runs.c.id == earlier), changed)
        return str(earlier)
    if connection.execute(select(runs.c.id).where(runs.c.id == row.id)).scalar() is not None:
        hint = "Delete it first to add it again."
        raise HistoryError(f"the run {row.id} is already in this history", place=Place(shown), hint=hint)
    connection.execute(insert(runs), fields)
    return row.id


def change_tags(database: "Database", run_id: str, add: Sequence[str], remove: Sequence[str]) -> None:
    check_tags(add)
    with database.writing() as connection:
        connection.execute(delete(tags).where(tags.c.run_id == run_id, tags.c.tag.in_(list(remove))))
        _add_tags(connection, run_id, add)


def _add_tags(connection: "Connection", run_id: str, added: Iterable[str]) -> None:
    present = set(connection.execute(select(tags.c.tag).where(tags.c.run_id == run_id)).scalars())
    rows = [{"run_id": run_id, "tag": tag} for tag in sorted(set(added) - present)]
    if rows:
        connection.execute(insert(tags), rows)


def check_tags(names: Iterable[str]) -> None:
    for name in names:
        if not name.strip() or len(name) > _TAG_WIDTH or not name.isprintable() or storable(name) != name:
            hint = f"Use 1 to {_TAG_WIDTH} printable characters."
            raise OptionError(f"{name!r} is not a valid tag", hint=hint)


def delete_runs(database: "Database", run_ids: Sequence[str]) -> int:
    """Delete runs with everything that belongs to them; returns how many there were."""
    with database.writing() as connection:
        return sum(connection.execute(delete(runs).where(runs.c.id == run_id)).rowcount for run_id in run_ids)
