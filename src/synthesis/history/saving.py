"""What changes a history. Each change is one transaction: a run that fails midway leaves nothing."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Table, delete, insert, select, update

from synthesis.errors import HistoryError, OptionError, Place
from synthesis.history.entries import Entry, Row, storable
from synthesis.history.tables import metadata, runs, samples, tags

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from synthesis.history.database import Database

_TAG_WIDTH = 100


def save(database: "Database", entry: Entry) -> str:
    """Write a run with all that belongs to it; the id it has got."""
    checked_tags(entry.tags)
    with database.writing() as connection:
        run_id = _write_run(connection, entry, database.shown)
        batches = 0
        for batch in entry.batches:
            batches += 1
            for name, rows in batch.items():
                owned = [row | {"run_id": run_id} for row in rows] if run_id != entry.run["id"] else rows
                _insert(connection, metadata.tables[f"synthesis_{name}"], owned)
        _add_tags(connection, run_id, entry.tags)
    if batches > 1 and database.engine.dialect.name == "postgresql":
        _tell_the_planner(database)
    return run_id


def _insert(connection: "Connection", table: Table, rows: Sequence[Row]) -> None:
    """Rows that all have the same fields; PostgreSQL takes them several times faster as a stream."""
    if not rows:
        return
    if connection.dialect.name != "postgresql":
        connection.execute(insert(table), rows)
        return
    names = list(rows[0])
    cursor: Any = connection.connection.cursor()
    with cursor, cursor.copy(f"COPY {table.name} ({', '.join(names)}) FROM STDIN") as stream:
        for row in rows:
            stream.write_row([row[name] for name in names])


def _tell_the_planner(database: "Database") -> None:
    """PostgreSQL plans by what it knows of the tables; without it, a search in a new large run takes minutes."""
    with database.writing() as connection:
        connection.exec_driver_sql(f"ANALYZE {', '.join(table.name for table in metadata.sorted_tables)}")


def _write_run(connection: "Connection", entry: Entry, shown: str) -> str:
    """A new run, or the place of the same judged run that was saved before it went on."""
    run_id: str = entry.run["id"]
    origin = entry.run["origin"]
    earlier = connection.execute(select(runs.c.id).where(runs.c.origin == origin)).scalar() if origin else None
    if earlier is not None:
        connection.execute(delete(samples).where(samples.c.run_id == earlier))
        kept = {"id", "started", "revision"}  # it is still the run that began then and there
        changed = {name: value for name, value in entry.run.items() if name not in kept}
        connection.execute(update(runs).where(runs.c.id == earlier), changed)
        return str(earlier)
    if connection.execute(select(runs.c.id).where(runs.c.id == run_id)).scalar() is not None:
        hint = "Delete it first to add it anew."
        raise HistoryError(f"the run {run_id} is already in this history", place=Place(shown), hint=hint)
    connection.execute(insert(runs), entry.run)
    return run_id


def change_tags(database: "Database", run_id: str, add: Sequence[str], remove: Sequence[str]) -> None:
    checked_tags(add)
    with database.writing() as connection:
        connection.execute(delete(tags).where(tags.c.run_id == run_id, tags.c.tag.in_(list(remove))))
        _add_tags(connection, run_id, add)


def _add_tags(connection: "Connection", run_id: str, added: Iterable[str]) -> None:
    present = set(connection.execute(select(tags.c.tag).where(tags.c.run_id == run_id)).scalars())
    rows = [{"run_id": run_id, "tag": tag} for tag in sorted(set(added) - present)]
    if rows:
        connection.execute(insert(tags), rows)


def checked_tags(names: Iterable[str]) -> None:
    for name in names:
        if not name.strip() or len(name) > _TAG_WIDTH or not name.isprintable() or storable(name) != name:
            hint = f"Use up to {_TAG_WIDTH} letters, digits and signs."
            raise OptionError(f"{name!r} is no tag", hint=hint)


def delete_runs(database: "Database", run_ids: Sequence[str]) -> int:
    """Remove runs with all that belongs to them; how many there were."""
    with database.writing() as connection:
        return sum(connection.execute(delete(runs).where(runs.c.id == run_id)).rowcount for run_id in run_ids)
