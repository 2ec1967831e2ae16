"""How a process joins a run: as the first, beside others that judge the same, or not at all."""

import os
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from synthesis.errors import Place, RunFolderError
from synthesis.judge.journal.base import Opening
from synthesis.judge.journal.ledger import Ledger
from synthesis.judge.journal.lines import Line
from synthesis.judge.journal.reading import JournalReader
from synthesis.judge.journal.shared.connection import SharedPlace
from synthesis.judge.journal.shared.exchange import Registration, read_lines, rows_of
from synthesis.judge.journal.shared.schema import ensure_tables, has_tables

if TYPE_CHECKING:
    from psycopg import Connection


class JoinedRun:
    """A run that this process has joined: `reader` has read it up to line number `seen`."""

    def __init__(self, connection: "Connection[Any]", place: SharedPlace, name: str) -> None:
        self._connection = connection
        self.seen = 0
        ensure_tables(connection, place.shown)
        _require_unicode(connection, place)
        own_name = f"{socket.gethostname()}:{os.getpid()}"
        self.who = Registration(uuid4(), own_name, _run_id(connection, name), place.lease, shown(place, name))
        self.reader = JournalReader(self.who.shown)

    def join(self, opening: Opening) -> None:
        """Store what is missing, unless another process was faster: then read again."""
        # Reading and `opening` take long on a large run, so they happen outside the lock; `_register` then checks
        # that no line was added meanwhile.
        self._read()
        while not self._register(opening(self.reader.ledger)):
            self._read()

    def _read(self) -> None:
        for row in rows_of(read_lines(self._connection, self.who.run, self.seen, None)):
            self.reader.read(row.raw, row.number)
            self.seen = row.number

    def _register(self, lines: Sequence[Line]) -> bool:
        run = self.who.run
        with self._connection.transaction():
            last = self._connection.execute(
                "SELECT lines FROM synthesis_judge.run WHERE id = %s FOR UPDATE", [run]
            ).fetchone()
            if last is None or last[0] != self.seen:
                return False
            if lines and self.seen:
                self._require_solitude()
            self._connection.execute(
                "INSERT INTO synthesis_judge.worker VALUES (%s, %s, %s, clock_timestamp() + make_interval(secs => %s))",
                [self.who.worker, run, self.who.name, self.who.lease],
            )
            self._store(lines)
        for line in lines:
            self.reader.ledger.apply(line)
        self.seen += len(lines)
        return True

    def _require_solitude(self) -> None:
        """Judge, price, iterations and set cannot change while other processes are at work."""
        others = self._connection.execute(
            "SELECT name FROM synthesis_judge.worker WHERE run = %s AND expires >= clock_timestamp() ORDER BY name",
            [self.who.run],
        ).fetchall()
        if others:
            raise RunFolderError(
                f"another process ({others[0][0]}) is judging here, with another judge, price, number of "
                "iterations or test set",
                place=Place(self.who.shown),
                hint="Start all processes of a run with the same test set and options, or wait until it ends.",
            )

    def _store(self, lines: Sequence[Line]) -> None:
        cursor = self._connection.cursor()
        chain = self.reader.chain
        cursor.executemany(
            "INSERT INTO synthesis_judge.line VALUES (%s, %s, %s, 0, %s, %s)",
            [
                (self.who.run, self.seen + 1 + position, self.who.worker, position, chain.seal(line).decode())
                for position, line in enumerate(lines)
            ],
        )
        cursor.execute("UPDATE synthesis_judge.run SET lines = lines + %s WHERE id = %s", [len(lines), self.who.run])


def shown(place: SharedPlace, name: str) -> str:
    """What messages call a run in a database."""
    return f"{place.shown} ({name})"


def find_ledger(connection: "Connection[Any]", place: SharedPlace, name: str) -> Ledger | None:
    """What a run in the database adds up to; None if it does not exist. Read-only."""
    if not has_tables(connection):
        return None
    found = connection.execute("SELECT id FROM synthesis_judge.run WHERE name = %s", [name]).fetchone()
    reader = JournalReader(shown(place, name))
    for row in rows_of(read_lines(connection, found[0], 0, None)) if found else ():
        reader.read(row.raw, row.number)
    return reader.ledger if reader.ledger.run is not None else None


def _run_id(connection: "Connection[Any]", name: str) -> int:
    connection.execute("INSERT INTO synthesis_judge.run (name) VALUES (%s) ON CONFLICT DO NOTHING", [name])
    found = connection.execute("SELECT id FROM synthesis_judge.run WHERE name = %s", [name]).fetchone()
    if found is None:
        raise RunFolderError("the run has just been deleted", hint=f"Start again; it was called {name}.")
    return int(found[0])


def _require_unicode(connection: "Connection[Any]", place: SharedPlace) -> None:
    encoding = connection.execute("SHOW server_encoding").fetchone()
    if encoding != ("UTF8",):
        raise RunFolderError(
            f"the database stores text as {encoding[0] if encoding else 'unknown'}, a journal needs UTF8",
            place=Place(place.shown),
            hint="Create one with: createdb --encoding UTF8 NAME",
        )
