"""The tables as they are today, and the numbered steps that lead there.

Steps are only added: a released step never changes, because histories that took it exist. They are plain SQL for SQLite
and PostgreSQL alike, not derived from the tables, so that a later change of the tables cannot change an old step. All
missing steps run in one transaction under a lock: of two processes that start at once, one waits and finds the work
done.
"""

from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    ForeignKey,
    MetaData,
    Table,
    Text,
    func,
    inspect,
    select,
)

from synthesis.errors import HistoryError, Place

if TYPE_CHECKING:
    from synthesis.history.database import Database

metadata = MetaData()
_text, _number = Text(), BigInteger()


def _of_a_run(name: str, *columns: "Column[object]") -> Table:
    """A table whose rows are deleted with their run."""
    owner = Column("run_id", _text, ForeignKey("synthesis_runs.id", ondelete="CASCADE"), primary_key=True)
    return Table(f"synthesis_{name}", metadata, owner, *columns)


runs = Table(
    "synthesis_runs",
    metadata,
    Column("id", _text, primary_key=True),
    Column("kind", _text),
    Column("name", _text),
    Column("started", _text),
    Column("tool_version", _text),
    Column("rules_hash", _text),
    Column("input_hash", _text),
    Column("revision", _text),
    Column("with_text", Boolean()),
    Column("conditions", _text),
    Column("summary", _text),
    Column("origin", _text),
)
cases = _of_a_run(
    "cases",
    Column("position", _number, primary_key=True),
    Column("case_id", _text),
    Column("outcome", _text),
    Column("kind", _text),
    Column("language", _text),
    Column("words", _text),
    Column("record", _text),
)
outcomes = _of_a_run(
    "outcomes",
    Column("position", _number, primary_key=True),
    Column("check_name", _text, primary_key=True),
    Column("outcome", _text),
    Column("expected", Boolean()),
    Column("matched", Boolean()),
)
findings = _of_a_run(
    "findings",
    Column("position", _number, primary_key=True),
    Column("number", _number, primary_key=True),
    Column("rule", _text),
    Column("signal", _text),
    Column("side", _text),
    Column("turn", _number),
    Column("start_at", _number),
    Column("end_at", _number),
)
samples = _of_a_run(
    "samples",
    Column("iteration", _number, primary_key=True),
    Column("position", _number, primary_key=True),
    Column("query_log_id", _text),
    Column("faithfulness", _number),
    Column("completeness", _number),
    Column("overall", Double()),
    Column("passed", Boolean()),
    Column("error", _text),
    Column("words", _text),
    Column("record", _text),
)
labels = _of_a_run(
    "labels",
    Column("position", _number, primary_key=True),
    Column("question", _text, primary_key=True),
    Column("person", _text, primary_key=True),
    Column("verified", Boolean(), primary_key=True),
    Column("answer", _text),
    Column("first_answer", _text),
    Column("given", _text),
)
tags = _of_a_run("tags", Column("tag", _text, primary_key=True))
versions = Table("synthesis_schema_version", metadata, Column("version", _number, primary_key=True))

_LOCK = 0x53594E5448  # an advisory lock of PostgreSQL: "SYNTH", held until the transaction ends
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
    # A judged run that was resumed after it was saved replaces what was saved before.
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
LABELS = (
    f"""CREATE TABLE synthesis_labels (
        {_OWNER}, position BIGINT NOT NULL, question TEXT NOT NULL, person TEXT NOT NULL, verified BOOLEAN NOT NULL,
        answer TEXT NOT NULL, first_answer TEXT NOT NULL, given TEXT NOT NULL,
        PRIMARY KEY (run_id, position, question, person, verified))""",
)
STEPS = (RUNS_OF_THE_CHECKS, JUDGED_RUNS, TAGS, FINDING_IN_LARGE_HISTORIES, LABELS)


def migrate(database: "Database", to: int = len(STEPS)) -> None:
    """Bring the tables to version `to`; refuse those of a newer tool."""
    with database.reading() as connection:
        if _version(connection, database.shown) >= to:
            return
    with database.writing() as connection:
        lock(connection)
        for number in range(_version(connection, database.shown) + 1, to + 1):
            take(connection, number)


def lock(connection: Connection) -> None:
    """Keep other processes out until the transaction ends; on SQLite a writer is alone already."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")


def take(connection: Connection, number: int) -> None:
    """Run one step and record it."""
    if number == 1:
        connection.exec_driver_sql("CREATE TABLE synthesis_schema_version (version BIGINT PRIMARY KEY)")
    for statement in STEPS[number - 1]:
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql(f"INSERT INTO synthesis_schema_version (version) VALUES ({number})")


def _version(connection: Connection, shown: str) -> int:
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
