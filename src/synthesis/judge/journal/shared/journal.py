"""The shared journal as a run sees it."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from synthesis.errors import Place, RunFolderError
from synthesis.judge.files import replace_file
from synthesis.judge.journal.base import Journal, Listener, Opening, Work
from synthesis.judge.journal.file import SHARED_COPY, refuse_foreign_folder
from synthesis.judge.journal.ledger import Ledger, usage_in
from synthesis.judge.journal.lines import CallLine, Line, ReplyLine, VerdictLine, now
from synthesis.judge.journal.shared.connection import JournalConnection, SharedPlace, require_driver
from synthesis.judge.journal.shared.exchange import (
    ExchangeReply,
    ExchangeRequest,
    PendingLine,
    Registration,
    StoredLine,
    exchange,
    read_lines,
    rows_of,
)
from synthesis.judge.journal.shared.joining import JoinedRun, find_ledger, shown
from synthesis.judge.journal.shared.sync import JournalSync

if TYPE_CHECKING:
    from psycopg import Connection

T = TypeVar("T")


class SharedJournal(Journal):
    """A run in a database, joined by this process. A thread waits for the database, so the event loop never does."""

    _who: Registration
    _sync: JournalSync

    def __init__(self, folder: Path, place: SharedPlace) -> None:
        require_driver()
        refuse_foreign_folder(folder, SHARED_COPY)
        super().__init__(folder, shown(place, folder.name))
        self._place = place
        self._connection = JournalConnection(place)
        self._thread = ThreadPoolExecutor(1, "journal")

    async def open(self, opening: Opening) -> None:
        """Join the run; from now on the other processes know this one."""
        joined = await self._in_thread(self._connection.first, partial(self._enter, opening))
        self.ledger, self._who = joined.reader.ledger, joined.who
        await self._use(self._copy)
        self._sync = JournalSync(joined.reader, joined.seen, self._place.lease, self._send)

    def enlist(self, work: Sequence[Work], listener: Listener) -> None:
        """Offer the samples that this process would judge."""
        self._sync.enlist(work, listener)

    async def take(self) -> Work | None:
        """The next sample, under a lease."""
        return await self._sync.take()

    def halt(self) -> None:
        """The rest stays for the other processes."""
        self._sync.halt()

    async def store(self, line: Line, work: Work | None = None) -> Line | None:
        """Returns when the database has committed."""
        stored = self._sync.submit(PendingLine(line, work.token if work else None, _without_lease(line)))
        try:
            return await asyncio.shield(stored)
        except asyncio.CancelledError:
            # The line may be committed although the call is never sent; without this note it would count as lost money.
            if isinstance(line, CallLine):
                await self._withdraw(await stored)
            raise

    async def commit(self) -> None:
        """`store` has already committed everything."""

    async def end(self) -> None:
        """Leave the run: held samples are released at once, and the others' lines are read."""
        await self._sync.end()
        for row in await self._use(self._leave):
            self._sync.apply(row)

    def close(self) -> None:
        """Stop the thread and close the connection."""
        self._connection.give_up()
        self._thread.shutdown()
        self._connection.close()

    def _enter(self, opening: Opening, connection: "Connection[Any]") -> JoinedRun:
        joined = JoinedRun(connection, self._place, self.folder.name)
        joined.join(opening)
        return joined

    async def _send(self, request: ExchangeRequest) -> ExchangeReply:
        return await self._use(partial(exchange, who=self._who, request=request))

    def _copy(self, connection: "Connection[Any]") -> list[StoredLine]:
        """Copy the journal as it is now beside the files derived from it."""
        rows = list(rows_of(read_lines(connection, self._who.run, 0, None)))
        replace_file(self.folder / SHARED_COPY, b"".join(row.raw + b"\n" for row in rows))
        return rows

    def _leave(self, connection: "Connection[Any]") -> list[StoredLine]:
        connection.execute("DELETE FROM synthesis_judge.worker WHERE id = %s", [self._who.worker])
        return [row for row in self._copy(connection) if row.number > self._sync.seen]

    async def _withdraw(self, begun: Line | None) -> None:
        if isinstance(begun, CallLine):
            await self.store(ReplyLine(begun.n, now(), (), "not sent: the run was stopped"))

    async def _use(self, work: "Callable[[Connection[Any]], T]") -> T:
        return await self._in_thread(self._connection.use, work, self._place.lease)

    async def _in_thread(self, work: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)


def read_shared_ledger(place: SharedPlace, name: str) -> Ledger:
    """What a run in a database adds up to."""
    ledger = find_shared_ledger(place, name)
    if ledger is None:
        hint = "`synthesis judge run --journal URL --output-dir NAME` makes one."
        raise RunFolderError(f"there is no judged run '{name}' here", place=Place(place.shown), hint=hint)
    return ledger


def find_shared_ledger(place: SharedPlace, name: str) -> Ledger | None:
    """What a run in a database adds up to; None where it does not exist."""
    require_driver()
    link = JournalConnection(place)
    try:
        return link.first(lambda connection: find_ledger(connection, place, name))
    finally:
        link.close()


def _without_lease(line: Line) -> Line | None:
    """What to store when the lease was lost: the verdict is dropped, but its reply has been paid for."""
    if isinstance(line, VerdictLine) and line.n is not None:
        return ReplyLine(line.n, line.at, usage_in(line), "came too late: another process had taken over the sample")
    return None
