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
from synthesis.judge.journal.checksums import ChecksumError
from synthesis.judge.journal.lines import CallLine, ErrorLine, Line, RunLine, SetLine, VerdictLine, decode
from synthesis.judge.journal.reading import JournalReader

if TYPE_CHECKING:
    from psycopg import Connection


Key = tuple[int, str]


class PendingLine(msgspec.Struct, frozen=True):
    """A line to be stored: at once, or only under a lease; `instead` is stored if the lease was lost."""

    line: Line
    token: int | None = None
    instead: Line | None = None


class ExchangeRequest(msgspec.Struct, frozen=True):
    """What a process asks for: `wanted` samples out of `unjudged`. `number` identifies a second attempt.

    `reader` has read the lines up to number `seen`.
    """

    number: int
    seen: int
    reader: JournalReader
    entries: tuple[PendingLine, ...] = ()
    wanted: int = 0
    unjudged: Mapping[Key, Work] = {}
    held: frozenset[int] = frozenset()


class StoredLine(msgspec.Struct, frozen=True):
    """A line as the database has it; `exchange` and `entry` say which submission it came from."""

    number: int
    is_own: bool
    exchange: int
    entry: int
    raw: bytes


class ExchangeReply(msgspec.Struct, frozen=True):
    """All lines since `seen`, what each entry became, the granted samples, and how many others hold."""

    rows: tuple[StoredLine, ...]
    stored: Mapping[int, Line]
    granted: tuple[Work, ...]
    held_elsewhere: int


class Registration(msgspec.Struct, frozen=True):
    """A process that takes part in a run."""

    worker: UUID
    name: str
    run: int
    lease: float
    shown: str


def exchange(connection: "Connection[Any]", who: Registration, request: ExchangeRequest) -> ExchangeReply:
    """Carry out a request; everything is on the disk when this returns."""
    with connection.pipeline(), connection.transaction():
        return Transaction(connection, who, request).run()


class Transaction:
    """The steps of an exchange."""

    def __init__(self, connection: "Connection[Any]", who: Registration, request: ExchangeRequest) -> None:
        self._connection = connection
        self._who = who
        self._request = request
        self._chain = request.reader.chain.copy()  # if the connection breaks, another attempt starts from there

    def run(self) -> ExchangeReply:
        """Two round trips: read, then write; the statements of each are pipelined."""
        counters, news, leases = self._look()
        judged = {key for key in map(self._judged, news) if key is not None}
        mine = {lease[2]: lease[:2] for lease in leases if lease[3]}
        stored, rows, calls = self._accept(news, mine, counters)
        finished = [entry.token for entry in self._request.entries if isinstance(entry.line, VerdictLine | ErrorLine)]
        taken = {lease[:2] for lease in leases}
        forgotten = self._forgotten(mine, finished)
        fresh = self._choose(taken | judged, self._request.wanted - len(forgotten), counters[2])
        self._write(rows, finished, fresh, (counters[0] + len(rows), calls, counters[2] + len(fresh)))
        elsewhere = sum(not lease[3] for lease in leases)
        return ExchangeReply((*news, *rows), stored, (*forgotten, *fresh), elsewhere)

    def _look(self) -> tuple[tuple[int, int, int], list[StoredLine], list[tuple[int, str, int, bool]]]:
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
        lines = read_lines(self._connection, run, self._request.seen, who.worker)
        leases = self._connection.execute(
            "SELECT iteration, hash, token, worker = %s FROM synthesis_judge.lease WHERE run = %s",
            [who.worker, run],
        )
        # Results are fetched only now, so that the pipeline sends all statements in one round trip.
        found = counters.fetchone()
        if found is None:
            raise OutputError(f"the run is gone from {who.shown}", hint="It was deleted.")
        return found, list(rows_of(lines)), leases.fetchall()

    def _judged(self, row: StoredLine) -> Key | None:
        """The sample that a line of another process completes."""
        try:
            self._chain.check(row.raw)
            line = decode(row.raw)
        except (ChecksumError, msgspec.MsgspecError) as error:
            raise self._request.reader.damaged(row.raw, row.number, error) from None
        if isinstance(line, RunLine | SetLine) and not row.is_own:
            raise OutputError(
                "while this process was disconnected, another one began to judge something else here",
                hint="Start again if you want to continue with the present judge and test set.",
            )
        return (line.i, line.h) if isinstance(line, VerdictLine | ErrorLine) else None

    def _accept(
        self, news: Sequence[StoredLine], mine: Mapping[int, Any], counters: tuple[int, int, int]
    ) -> tuple[dict[int, Line], list[StoredLine], int]:
        """What is stored of the entries. After a broken connection they may already be, unknown to this process."""
        before = [row for row in news if row.is_own and row.exchange == self._request.number]
        if before:
            return {row.entry: decode(row.raw) for row in before}, [], counters[1]
        stored: dict[int, Line] = {}
        rows, (number, calls, _) = [], counters
        for position, entry in enumerate(self._request.entries):
            line = entry.line if entry.token is None or entry.token in mine else entry.instead
            if line is None:
                continue
            if isinstance(line, CallLine):
                calls += 1
                line = msgspec.structs.replace(line, n=calls)
            stored[position] = line
            number += 1
            rows.append(StoredLine(number, True, self._request.number, position, self._chain.seal(line)))
        return stored, rows, calls

    def _forgotten(self, mine: Mapping[int, Key], finished: Sequence[int | None]) -> list[Work]:
        """Leases that were granted in a reply that was lost with the connection."""
        known = self._request.held | set(finished)
        found = [(key, token) for token, key in mine.items() if token not in known and key in self._request.unjudged]
        return [msgspec.structs.replace(self._request.unjudged[key], token=token) for key, token in found]

    def _choose(self, taken: set[Key], count: int, last_token: int) -> list[Work]:
        """The first samples that are neither held nor judged, in the order of the set."""
        if count <= 0:
            return []
        free = (work for key, work in self._request.unjudged.items() if key not in taken)
        return [
            msgspec.structs.replace(work, token=token)
            for token, work in zip(range(last_token + 1, last_token + 1 + count), free, strict=False)
        ]

    def _write(
        self,
        rows: Sequence[StoredLine],
        finished: Sequence[int | None],
        fresh: Sequence[Work],
        counters: tuple[int, int, int],
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
    """The lines after number `seen`, in order."""
    return connection.execute(
        "SELECT number, worker = %s, exchange, entry, line FROM synthesis_judge.line "
        "WHERE run = %s AND number > %s ORDER BY number",
        [worker, run, seen],
    )


def rows_of(cursor: Any) -> Iterator[StoredLine]:
    """The rows of `read_lines`."""
    for number, is_own, exchanged, entry, line in cursor:
        yield StoredLine(number, bool(is_own), exchanged, entry, line.encode())
