"""The database of a history: a private SQLite file, or PostgreSQL by URL; its tables and migrations."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    TypeDecorator,
    func,
    inspect,
    select,
)

from synthesis.errors import DamagedRunError, HistoryError, NotInHistoryError, OptionError, OutputError, Place
from synthesis.history.seals import HINT, Damage, DamagedValueError, is_damage

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine

DEFAULT = ".synthesis/history.db"
VARIABLE = "SYNTHESIS_HISTORY"
PATIENCE = 300.0  # seconds that a writer waits on SQLite, which has one writer at a time; a large run takes minutes
_PRAGMAS = ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON", "secure_delete = ON")
_POSTGRESQL = "postgresql+psycopg"  # the driver that the extra `sql` brings
_HINT = "Give a file, sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE."


class Database:
    """An engine with transactions; an error of the database becomes a HistoryError without the password."""

    def __init__(self, engine: "Engine") -> None:
        self.engine = engine
        self.shown = _shown(engine.url)

    @contextmanager
    def reading(self, run_id: str | None = None) -> "Iterator[Connection]":
        """A transaction that sees one consistent state; `run_id` is whose data is damaged if it cannot be read."""
        with self._errors_translated(run_id), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> "Iterator[Connection]":
        """A transaction that is committed as a whole or not at all."""
        with self._errors_translated(), self.engine.connect() as plain:
            connection = plain.execution_options(writes=True)
            with connection.begin():
                yield connection

    @contextmanager
    def _errors_translated(self, run_id: str | None = None) -> Iterator[None]:
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except DamagedValueError as error:
            raise Damage(run_id or "(unknown)", error.column, reason=error.reason).error(self.shown) from None
        except UnicodeDecodeError:  # SQLite names what it finds in the file, and its driver expects text
            raise self._damaged(run_id, "it holds names that are not text") from None
        except (SQLAlchemyError, sqlite3.Error) as error:
            reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            password = self.engine.url.password
            reason = reason.replace(str(password), "***") if password else reason
            if is_damage(error):
                raise self._damaged(run_id, reason) from None
            hint = "Nothing was changed. Is it running, may you write to it, and is it a history of Synthesis?"
            raise HistoryError(f"the database says: {reason}", place=Place(self.shown), hint=hint) from None

    def _damaged(self, run_id: str | None, reason: str) -> HistoryError:
        if run_id is None:
            return HistoryError(f"the file is damaged: {reason}", place=Place(self.shown), hint=HINT)
        message = f"the file is damaged where run {run_id} is: {reason}"
        return DamagedRunError(message, place=Place(self.shown), hint=HINT)


def open_database(where: str | Path | None, *, create: bool) -> Database:
    """The database at a path or URL, by default SYNTHESIS_HISTORY or a file in the working folder."""
    url = _url(where or os.environ.get(VARIABLE) or DEFAULT)
    if url.drivername == "sqlite":
        return _open_file(url, create=create)
    from sqlalchemy import create_engine

    return Database(create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 10}))


def _url(where: str | Path) -> "URL":
    from sqlalchemy import URL, exc, make_url

    if "://" not in str(where):
        return URL.create("sqlite", database=str(where))
    try:
        url = make_url(str(where))
    except (exc.ArgumentError, ValueError):
        raise OptionError("the history is not a valid database URL", hint=_HINT) from None
    if url.drivername in ("postgres", "postgresql", _POSTGRESQL):
        return url.set(drivername=_POSTGRESQL)
    if url.drivername != "sqlite" or url.database in (None, "", ":memory:"):
        raise OptionError(f"a history cannot be kept in {_shown(url)}", hint=_HINT)
    return url


def _shown(url: "URL") -> str:
    return str(url.database) if url.drivername == "sqlite" else url.render_as_string(hide_password=True)


def _open_file(url: "URL", *, create: bool) -> Database:
    from sqlalchemy import create_engine, event

    path = Path(str(url.database))
    _require_file(path)
    if not path.exists() and not create:
        hint = f"`synthesis --save` creates one; --history or {VARIABLE} says where to look."
        raise NotInHistoryError("there is no history here", place=Place(str(path)), hint=hint)
    _make_private(path)
    engine = create_engine(url, connect_args={"timeout": PATIENCE})
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return Database(engine)


def _require_file(path: Path) -> None:
    """Refuse a device, a pipe or a folder before anything about it is changed."""
    if path.exists() and not path.is_file():
        reason = "it is a folder" if path.is_dir() else "it is not a regular file"
        hint = "Choose another file with --history."
        raise OutputError(f"the history cannot be written: {reason}", place=Place(str(path)), hint=hint)


def _make_private(path: Path) -> None:
    """Only the owner can read file and folder, and git ignores them; SQLite gives its own files the same mode."""
    try:
        if not path.parent.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            (path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise OutputError(
            f"the history cannot be written: {error.strerror}",
            place=Place(str(path)),
            hint="Choose another file with --history.",
        ) from None


def keep_private(database: Database) -> None:
    """Take away the rights of others, which a copied file may have."""
    path = Path(database.shown)
    if database.engine.dialect.name == "sqlite" and path.stat().st_mode & 0o077:
        with suppress(OSError):  # only the owner of the file may
            path.chmod(0o600)


def _prepare(connection: Any, _: object) -> None:
    connection.text_factory = _text_of  # bytes that are not text are found where their column is known
    connection.isolation_level = None  # `_begin` starts transactions: the driver would start them too late
    deadline = time.monotonic() + PATIENCE
    for pragma in _PRAGMAS:
        while True:
            try:
                connection.execute(f"PRAGMA {pragma}")
                break
            except sqlite3.OperationalError as error:  # SQLite does not wait while another process switches to WAL
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def _text_of(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _begin(connection: "Connection") -> None:
    """A writer takes the lock at once: SQLite refuses to upgrade a transaction that has read while another wrote."""
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


# The current tables, and the numbered migrations to them.


metadata = MetaData()


class _Stored:
    """A column refuses what only a damaged file holds: another type, no value, bytes that are not text."""

    name: str
    nullable: bool
    python: tuple[type, ...]

    def __init__(self, name: str, nullable: bool = False) -> None:
        super().__init__()
        self.name = name
        self.nullable = nullable

    def process_result_value(self, value: Any, dialect: Any) -> Any:  # noqa: ARG002
        if value is None and self.nullable:
            return value
        if type(value) not in self.python:
            raise DamagedValueError(self.name, f"it holds {type(value).__name__}, not {self.python[0].__name__}")
        if type(value) is str and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise DamagedValueError(self.name, "it is not valid UTF-8") from None
        return value


class _Text(_Stored, TypeDecorator[str]):
    impl, cache_ok, python = Text, True, (str,)


class _Number(_Stored, TypeDecorator[int]):
    impl, cache_ok, python = BigInteger, True, (int,)


class _Flag(_Stored, TypeDecorator[bool]):
    impl, cache_ok, python = Boolean, True, (bool,)
    coerce_to_is_types = (type(None), bool)  # PostgreSQL takes no parameter after IS


class _Real(_Stored, TypeDecorator[float]):
    impl, cache_ok, python = Double, True, (float, int)


def _column(kind: type[_Stored], name: str, *, key: bool = False, nullable: bool = False) -> "Column[Any]":
    stored: Any = kind(name, nullable)
    return Column(name, stored, primary_key=key)


def _of_a_run(name: str, *columns: "Column[object]") -> Table:
    """A table whose rows are deleted with their run."""
    owner: Column[Any] = Column(
        "run_id", _Text("run_id"), ForeignKey("synthesis_runs.id", ondelete="CASCADE"), primary_key=True
    )
    return Table(f"synthesis_{name}", metadata, owner, *columns)


runs = Table(
    "synthesis_runs",
    metadata,
    _column(_Text, "id", key=True),
    _column(_Text, "kind"),
    _column(_Text, "name"),
    _column(_Text, "started"),
    _column(_Text, "tool_version"),
    _column(_Text, "rules_hash", nullable=True),
    _column(_Text, "input_hash", nullable=True),
    _column(_Text, "revision", nullable=True),
    _column(_Flag, "with_text"),
    _column(_Text, "conditions"),
    _column(_Text, "summary"),
    _column(_Text, "origin", nullable=True),
    _column(_Text, "rows_checksum", nullable=True),
    _column(_Text, "checksum", nullable=True),
)
cases = _of_a_run(
    "cases",
    _column(_Number, "position", key=True),
    _column(_Text, "case_id"),
    _column(_Text, "outcome"),
    _column(_Text, "kind"),
    _column(_Text, "language"),
    _column(_Text, "words"),
    _column(_Text, "record"),
    _column(_Text, "checksum", nullable=True),
)
outcomes = _of_a_run(
    "outcomes",
    _column(_Number, "position", key=True),
    _column(_Text, "check_name", key=True),
    _column(_Text, "outcome"),
    _column(_Flag, "expected", nullable=True),
    _column(_Flag, "matched", nullable=True),
)
findings = _of_a_run(
    "findings",
    _column(_Number, "position", key=True),
    _column(_Number, "number", key=True),
    _column(_Text, "rule"),
    _column(_Text, "signal"),
    _column(_Text, "side"),
    _column(_Number, "turn"),
    _column(_Number, "start_at"),
    _column(_Number, "end_at"),
)
samples = _of_a_run(
    "samples",
    _column(_Number, "iteration", key=True),
    _column(_Number, "position", key=True),
    _column(_Text, "query_log_id"),
    _column(_Number, "faithfulness", nullable=True),
    _column(_Number, "completeness", nullable=True),
    _column(_Real, "overall", nullable=True),
    _column(_Flag, "passed", nullable=True),
    _column(_Text, "error", nullable=True),
    _column(_Text, "words"),
    _column(_Text, "record"),
    _column(_Text, "checksum", nullable=True),
)
labels = _of_a_run(
    "labels",
    _column(_Number, "position", key=True),
    _column(_Text, "question", key=True),
    _column(_Text, "person", key=True),
    _column(_Flag, "verified", key=True),
    _column(_Text, "answer"),
    _column(_Text, "first_answer"),
    _column(_Text, "given"),
    _column(_Text, "note"),
)
tags = _of_a_run("tags", _column(_Text, "tag", key=True))
versions = Table("synthesis_schema_version", metadata, _column(_Number, "version", key=True))

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
CHECKSUMS = (  # NULL in what an earlier version saved
    "ALTER TABLE synthesis_runs ADD COLUMN rows_checksum TEXT",
    "ALTER TABLE synthesis_runs ADD COLUMN checksum TEXT",
    "ALTER TABLE synthesis_cases ADD COLUMN checksum TEXT",
    "ALTER TABLE synthesis_samples ADD COLUMN checksum TEXT",
)
NOTES = ("ALTER TABLE synthesis_labels ADD COLUMN note TEXT NOT NULL DEFAULT ''",)
STEPS = (RUNS_OF_THE_CHECKS, JUDGED_RUNS, TAGS, FINDING_IN_LARGE_HISTORIES, LABELS, CHECKSUMS, NOTES)


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
