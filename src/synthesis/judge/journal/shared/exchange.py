"""One transaction of one process: it submits lines, reads those of the others, and renews and acquires leases.

The lock on the run's row serialises the transactions of a run. That gives the lines one order without gaps, so a
process that has read up to a number has read everything before it; and a process that asks for samples has just read
what is judged and sees who holds what, so no sample is granted twice. The clock is the database's.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from synthesis.errors import OutputError
from synthesis.judge.journal.base import Work
from synthesis.judge.journal.ledger import damaged
from synthesis.judge.journal.lines import CallLine, ErrorLine, Line, RunLine, SetLine, VerdictLine, decode

if TYPE_CHECKING:
    from psycopg import Connection


Key = tuple[int, str]


class Entry(msgspec.Struct, frozen=True):
    """A line to be stored: at once, or only under a lease; `instead` is stored if the lease was lost."""

    line: Line
    token: int | None = None
    instead: Line | None = None


class Order(msgspec.Struct, frozen=True):
    """What a process wants: `wanted` samples out of `unjudged`. The number makes a second attempt known as such."""

    number: int
    seen: int
    entries: tuple[Entry, ...] = ()
    wanted: int = 0
    unjudged: Mapping[Key, Work] = {}
    held: frozenset[int] = frozenset()


class Row(msgspec.Struct, frozen=True):
    """A stored line."""

    number: int
    is_own: bool
    exchange: int
    entry: int
    raw: bytes


class Answer(msgspec.Struct, frozen=True):
    """All lines since `seen`, what became of each entry, the samples that were given, and who else has some."""

    rows: tuple[Row, ...]
    stored: Mapping[int, Line]
    granted: tuple[Work, ...]
    held_elsewhere: int


class Registration(msgspec.Struct, frozen=True):
    """A process in a run."""

    worker: UUID
    name: str
    run: int
    lease: float
    shown: str


def exchange(connection: "Connection[Any]", who: Registration, order: Order) -> Answer:
    """Carry out an order; all of it is on the disk when this returns."""
    with connection.pipeline(), connection.transaction():
        return Transaction(connection, who, order).carry_out()


class Transaction:
    """The steps of an exchange."""

    def __init__(self, connection: "Connection[Any]", who: Registration, order: Order) -> None:
        self._connection = connection
        self._who = who
        self._order = order

    def carry_out(self) -> Answer:
        """Two trips to the database: look, then write; the statements of each travel together."""
        counters, news, leases = self._look()
        judged = {key for key in map(self._judged, news) if key is not None}
        mine = {lease[2]: lease[:2] for lease in leases if lease[3]}
        stored, rows, calls = self._accept(news, mine, counters)
        finished = [entry.token for entry in self._order.entries if isinstance(entry.line, VerdictLine | ErrorLine)]
        taken = {lease[:2] for lease in leases}
        forgotten = self._forgotten(mine, finished)
        fresh = self._choose(taken | judged, self._order.wanted - len(forgotten), counters[2])
        self._write(rows, finished, fresh, (counters[0] + len(rows), calls, counters[2] + len(fresh)))
        elsewhere = sum(not lease[3] for lease in leases)
        return Answer((*news, *rows), stored, (*forgotten, *fresh), elsewhere)

    def _look(self) -> tuple[tuple[int, int, int], list[Row], list[tuple[int, str, int, bool]]]:
        who, run = self._who, self._who.run
        counters = self._connection.execute(
            "SELECT lines, calls, tokens FROM synthesis_judge.run WHERE id = %s FOR UPDATE", [run]
        )
        self._connection.execute(
            "INSERT INTO synthesis_judge.worker VALUES (%s, %s, %s, clock_timestamp() + make_interval(secs => %s)) "
            "ON CONFLICT (id) DO UPDATE SET expires = excluded.expires",
            [who.worker, run, who.name, who.lease],
        )
        self._connection.execute(
            "DELETE FROM synthesis_judge.worker WHERE run = %s AND expires < clock_timestamp()", [run]
        )
        lines = read_lines(self._connection, run, self._order.seen, who.worker)
        leases = self._connection.execute(
            "SELECT iteration, hash, token, worker = %s FROM synthesis_judge.lease WHERE run = %s",
            [who.worker, run],
        )
        found = counters.fetchone()
        if found is None:
            raise OutputError(f"the run is gone from {who.shown}", hint="Somebody has deleted it.")
        return found, list(rows_of(lines)), leases.fetchall()

    def _judged(self, row: Row) -> Key | None:
        """The sample that a line of another process settles."""
        try:
            line = decode(row.raw)
        except msgspec.MsgspecError as error:
            raise damaged(self._who.shown, row.number, row.raw, f"the journal is damaged: {error}") from None
        if isinstance(line, RunLine | SetLine) and not row.is_own:
            raise OutputError(
                "while this process was cut off, another has begun to judge something else here",
                hint="Start it again if the judge and the test set of now are what you want.",
            )
        return (line.i, line.h) if isinstance(line, VerdictLine | ErrorLine) else None

    def _accept(
        self, news: Sequence[Row], mine: Mapping[int, Any], counters: tuple[int, int, int]
    ) -> tuple[dict[int, Line], list[Row], int]:
        """What is stored of the entries. After a broken connection it may already be, unknown to this process."""
        before = [row for row in news if row.is_own and row.exchange == self._order.number]
        if before:
            return {row.entry: decode(row.raw) for row in before}, [], counters[1]
        stored: dict[int, Line] = {}
        rows, (number, calls, _) = [], counters
        for position, entry in enumerate(self._order.entries):
            line = entry.line if entry.token is None or entry.token in mine else entry.instead
            if line is None:
                continue
            if isinstance(line, CallLine):
                calls += 1
                line = msgspec.structs.replace(line, n=calls)
            stored[position] = line
            number += 1
            rows.append(Row(number, True, self._order.number, position, msgspec.json.encode(line)))
        return stored, rows, calls

    def _forgotten(self, mine: Mapping[int, Key], finished: Sequence[int | None]) -> list[Work]:
        """Leases that were given, but the answer got lost with the connection."""
        known = self._order.held | set(finished)
        found = [(key, token) for token, key in mine.items() if token not in known and key in self._order.unjudged]
        return [msgspec.structs.replace(self._order.unjudged[key], token=token) for key, token in found]

    def _choose(self, taken: set[Key], count: int, last_token: int) -> list[Work]:
        """The first that nobody holds and nobody has judged, in the order of the set."""
        if count <= 0:
            return []
        free = (work for key, work in self._order.unjudged.items() if key not in taken)
        return [
            msgspec.structs.replace(work, token=token)
            for token, work in zip(range(last_token + 1, last_token + 1 + count), free, strict=False)
        ]

    def _write(
        self, rows: Sequence[Row], finished: Sequence[int | None], fresh: Sequence[Work], counters: tuple[int, int, int]
    ) -> None:
        if not (rows or finished or fresh):
            return
        who, cursor = self._who, self._connection.cursor()
        cursor.executemany(
            "INSERT INTO synthesis_judge.line VALUES (%s, %s, %s, %s, %s, %s)",
            [(who.run, row.number, who.worker, row.exchange, row.entry, row.raw.decode()) for row in rows],
        )
        cursor.execute(
            "DELETE FROM synthesis_judge.lease WHERE run = %s AND token = ANY(%s)", [who.run, list(finished)]
        )
        cursor.executemany(
            "INSERT INTO synthesis_judge.lease VALUES (%s, %s, %s, %s, %s)",
            [(who.run, work.iteration, work.sample.hash, who.worker, work.token) for work in fresh],
        )
        cursor.execute(
            "UPDATE synthesis_judge.run SET lines = %s, calls = %s, tokens = %s WHERE id = %s", [*counters, who.run]
        )


def read_lines(connection: "Connection[Any]", run: int, seen: int, worker: UUID | None) -> Any:
    """The lines behind number `seen`, in order."""
    return connection.execute(
        "SELECT number, worker = %s, exchange, entry, line FROM synthesis_judge.line "
        "WHERE run = %s AND number > %s ORDER BY number",
        [worker, run, seen],
    )


def rows_of(cursor: Any) -> Iterator[Row]:
    """The rows of `read_lines`."""
    for number, is_own, exchanged, entry, line in cursor:
        yield Row(number, bool(is_own), exchanged, entry, line.encode())
