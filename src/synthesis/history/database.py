"""Where a history lives: a private SQLite file, or PostgreSQL by URL."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthesis.errors import HistoryError, NotInHistoryError, OptionError, OutputError, Place

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

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
    def reading(self) -> "Iterator[Connection]":
        """A transaction that sees one consistent state."""
        with self._errors_translated(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> "Iterator[Connection]":
        """A transaction that is committed as a whole or not at all."""
        with self._errors_translated(), self.engine.connect() as plain:
            connection = plain.execution_options(writes=True)
            with connection.begin():
                yield connection

    @contextmanager
    def _errors_translated(self) -> Iterator[None]:
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:
            reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            password = self.engine.url.password
            reason = reason.replace(str(password), "***") if password else reason
            hint = "Nothing was changed. Is it running, may you write to it, and is it a history of Synthesis?"
            raise HistoryError(f"the database says: {reason}", place=Place(self.shown), hint=hint) from None


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
    if not path.exists() and not create:
        hint = f"`synthesis --save` creates one; --history or {VARIABLE} says where to look."
        raise NotInHistoryError("there is no history here", place=Place(str(path)), hint=hint)
    _make_private(path)
    engine = create_engine(url, connect_args={"timeout": PATIENCE})
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return Database(engine)


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


def _begin(connection: "Connection") -> None:
    """A writer takes the lock at once: SQLite refuses to upgrade a transaction that has read while another wrote."""
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
