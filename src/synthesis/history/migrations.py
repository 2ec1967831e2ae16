"""How the tables came to be: numbered steps, only ever added to. A step that was released is never changed.

The statements are written for SQLite and PostgreSQL alike. All steps that are missing are taken in one transaction,
under a lock: of two processes that start at once, one waits and finds the work done.
"""

from typing import TYPE_CHECKING

from synthesis.errors import HistoryError, Place

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from synthesis.history.database import Database

_LOCK = 0x53594E5448  # of PostgreSQL, for as long as the transaction lasts
_OWNER = "run_id TEXT NOT NULL REFERENCES synthesis_runs (id) ON DELETE CASCADE"

RUNS_OF_THE_CHECKS = (
    """CREATE TABLE synthesis_runs (
        id TEXT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, started TEXT NOT NULL, tool_version TEXT NOT NULL,
        rules_hash TEXT, input_hash TEXT, revision TEXT, with_text BOOLEAN NOT NULL,
        conditions TEXT NOT NULL, summary TEXT NOT NULL)""",
    f"""CREATE TABLE synthesis_cases (
        {_OWNER}, position BIGINT NOT NULL, case_id TEXT NOT NULL, outcome TEXT NOT NULL, kind TEXT NOT NULL,
        language TEXT NOT NULL, words TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (run_id, position))""",
    f"""CREATE TABLE synthesis_outcomes (
        {_OWNER}, position BIGINT NOT NULL, check_name TEXT NOT NULL, outcome TEXT NOT NULL,
        expected BOOLEAN, matched BOOLEAN, PRIMARY KEY (run_id, position, check_name))""",
    f"""CREATE TABLE synthesis_findings (
        {_OWNER}, position BIGINT NOT NULL, number BIGINT NOT NULL, rule TEXT NOT NULL, signal TEXT NOT NULL,
        side TEXT NOT NULL, turn BIGINT NOT NULL, start_at BIGINT NOT NULL, end_at BIGINT NOT NULL,
        PRIMARY KEY (run_id, position, number))""",
)
JUDGED_RUNS = (
    f"""CREATE TABLE synthesis_samples (
        {_OWNER}, iteration BIGINT NOT NULL, position BIGINT NOT NULL, query_log_id TEXT NOT NULL,
        faithfulness BIGINT, completeness BIGINT, overall DOUBLE PRECISION, passed BOOLEAN, error TEXT,
        words TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (run_id, iteration, position))""",
    # A judged run that went on after it was saved takes the place of what was saved before.
    "ALTER TABLE synthesis_runs ADD COLUMN origin TEXT",
    "CREATE UNIQUE INDEX synthesis_runs_by_origin ON synthesis_runs (origin)",
)
TAGS = (f"CREATE TABLE synthesis_tags ({_OWNER}, tag TEXT NOT NULL, PRIMARY KEY (run_id, tag))",)
FINDING_IN_LARGE_HISTORIES = (
    "CREATE INDEX synthesis_runs_by_time ON synthesis_runs (started, id)",
    "CREATE INDEX synthesis_cases_by_kind ON synthesis_cases (run_id, kind, position)",
    "CREATE INDEX synthesis_outcomes_by_check ON synthesis_outcomes (run_id, check_name, outcome, position)",
    "CREATE INDEX synthesis_findings_by_rule ON synthesis_findings (run_id, rule, position)",
)
STEPS = (RUNS_OF_THE_CHECKS, JUDGED_RUNS, TAGS, FINDING_IN_LARGE_HISTORIES)


def migrate(database: "Database", to: int = len(STEPS)) -> None:
    """Bring the tables to version `to`; refuse those of a newer tool."""
    with database.reading() as connection:
        if _version(connection, database.shown) >= to:
            return
    with database.writing() as connection:
        lock(connection)
        for number in range(_version(connection, database.shown) + 1, to + 1):
            take(connection, number)


def lock(connection: "Connection") -> None:
    """One at a time until the transaction ends; a writer on SQLite is alone already."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")


def take(connection: "Connection", number: int) -> None:
    """One step, and the note that it was taken."""
    if number == 1:
        connection.exec_driver_sql("CREATE TABLE synthesis_schema_version (version BIGINT PRIMARY KEY)")
    for statement in STEPS[number - 1]:
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql(f"INSERT INTO synthesis_schema_version (version) VALUES ({number})")


def _version(connection: "Connection", shown: str) -> int:
    from sqlalchemy import func, inspect, select

    from synthesis.history.tables import versions

    if not inspect(connection).has_table(versions.name):
        return 0
    found: int = connection.execute(select(func.max(versions.c.version))).scalar() or 0
    if found > len(STEPS):
        raise HistoryError(
            f"this history has version {found}, which is newer than this tool knows ({len(STEPS)})",
            place=Place(shown),
            hint="Upgrade with: pip install --upgrade synthesis-eval",
        )
    return found
