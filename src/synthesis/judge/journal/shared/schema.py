"""The tables of shared journals, created and upgraded by numbered steps, each applied once."""

from typing import TYPE_CHECKING, Any

from synthesis.errors import RunFolderError

if TYPE_CHECKING:
    from psycopg import Connection

_ADVISORY_LOCK = 7_305_227_416  # any number, the same in every process that makes tables
# Append-only: databases in use have already applied the earlier steps.
_STEPS = (
    """
    CREATE TABLE synthesis_judge.run (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text NOT NULL UNIQUE,
        lines bigint NOT NULL DEFAULT 0,
        calls bigint NOT NULL DEFAULT 0,
        tokens bigint NOT NULL DEFAULT 0
    );
    CREATE TABLE synthesis_judge.line (
        run bigint NOT NULL REFERENCES synthesis_judge.run ON DELETE CASCADE,
        number bigint NOT NULL,
        worker uuid NOT NULL,
        exchange bigint NOT NULL,
        entry integer NOT NULL,
        line text NOT NULL,
        PRIMARY KEY (run, number)
    );
    CREATE TABLE synthesis_judge.worker (
        id uuid PRIMARY KEY,
        run bigint NOT NULL REFERENCES synthesis_judge.run ON DELETE CASCADE,
        name text NOT NULL,
        expires timestamptz NOT NULL
    );
    CREATE INDEX ON synthesis_judge.worker (run);
    CREATE TABLE synthesis_judge.lease (
        run bigint NOT NULL REFERENCES synthesis_judge.run ON DELETE CASCADE,
        iteration integer NOT NULL,
        hash text NOT NULL,
        worker uuid NOT NULL REFERENCES synthesis_judge.worker ON DELETE CASCADE,
        token bigint NOT NULL,
        PRIMARY KEY (run, iteration, hash)
    );
    CREATE INDEX ON synthesis_judge.lease (worker);
    """,
)


def ensure_tables(connection: "Connection[Any]", shown: str) -> None:
    """Apply the missing steps; a second process waits for the first."""
    if _version(connection) != len(_STEPS):
        _take_steps(connection)
    version = _version(connection)
    if version != len(_STEPS):
        raise RunFolderError(
            f"{shown}: the tables have version {version}; this Synthesis knows version {len(_STEPS)}",
            hint="A newer Synthesis created them; use that version here.",
        )


def has_tables(connection: "Connection[Any]") -> bool:
    """This database has, or had, a shared journal."""
    return _version(connection) > 0


def _take_steps(connection: "Connection[Any]") -> None:
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_ADVISORY_LOCK])
        connection.execute("CREATE SCHEMA IF NOT EXISTS synthesis_judge")
        connection.execute("CREATE TABLE IF NOT EXISTS synthesis_judge.version (number integer NOT NULL)")
        for number, step in enumerate(_STEPS[_version(connection) :], start=_version(connection) + 1):
            connection.execute(step)
            connection.execute("DELETE FROM synthesis_judge.version")
            connection.execute("INSERT INTO synthesis_judge.version VALUES (%s)", [number])


def _version(connection: "Connection[Any]") -> int:
    known = connection.execute("SELECT to_regclass('synthesis_judge.version')").fetchone()
    if known is None or known[0] is None:
        return 0
    row = connection.execute("SELECT max(number) FROM synthesis_judge.version").fetchone()
    return int(row[0] or 0) if row else 0
