"""The shared journal as a run sees it. One task speaks to the database; what is ready together shares a transaction."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from synthesis.errors import Place, RunFolderError
from synthesis.judge.files import replace_file
from synthesis.judge.journal import SHARED_COPY, refuse_foreign_folder
from synthesis.judge.journals import Journal, Listener, Opening, Work
from synthesis.judge.ledger import Ledger, usage_in
from synthesis.judge.lines import CallLine, ErrorLine, Line, ReplyLine, VerdictLine, now
from synthesis.judge.reading import apply_line
from synthesis.judge.shared.exchange import Answer, Entry, Key, Order, Registration, Row, exchange, read_lines, rows_of
from synthesis.judge.shared.joining import Entrance, find_ledger, shown
from synthesis.judge.shared.link import Link, require_driver
from synthesis.judge.shared.place import SharedPlace

if TYPE_CHECKING:
    from psycopg import Connection

T = TypeVar("T")
Batch = list[tuple[Entry, asyncio.Future[Line | None]]]
LONGEST_POLL = 0.2  # seconds between looks for a sample that another process may give back
RENEWALS = 3  # times that a lease is renewed before it would run out


class SharedJournal(Journal):
    """A run in a database, joined by this process."""

    def __init__(self, folder: Path, place: SharedPlace) -> None:
        require_driver()
        refuse_foreign_folder(folder, SHARED_COPY)
        super().__init__(folder, shown(place, folder.name))
        self._place = place
        self._link = Link(place)
        self._thread = ThreadPoolExecutor(1, "journal")
        self._who: Registration | None = None
        self._clerk: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._failure: Exception | None = None
        self._has_ended = False
        self._exchanges = 0
        self._seen = 0
        self._entries: Batch = []
        self._takers: deque[asyncio.Future[Work | None]] = deque()
        self._spare: deque[Work] = deque()
        self._unjudged: dict[Key, Work] = {}
        self._held: set[int] = set()
        self._listener: Listener = lambda _: None

    async def open(self, opening: Opening) -> None:
        """Join the run; from here on this process is known to the others."""
        entrance = await self._in_thread(self._link.first, partial(self._enter, opening))
        self.ledger, self._seen, self._who = entrance.ledger, entrance.seen, entrance.who
        await self._in_thread(self._link.use, self._copy, self._place.lease)
        self._clerk = asyncio.create_task(self._serve())

    def enlist(self, work: Sequence[Work], listener: Listener) -> None:
        """Samples that are judged elsewhere meanwhile fall out of the list."""
        self._unjudged = {(item.iteration, item.sample.hash): item for item in work}
        self._listener = listener

    async def take(self) -> Work | None:
        """Waits while others hold what is left: they may die."""
        self._check()
        if self._spare:
            return self._spare.popleft()
        taker: asyncio.Future[Work | None] = asyncio.get_running_loop().create_future()
        self._takers.append(taker)
        self._wake.set()
        return await taker

    async def store(self, line: Line, work: Work | None = None) -> Line | None:
        """Returns when the database has committed."""
        self._check()
        entry = Entry(line, work.token if work else None, _without_lease(line))
        stored: asyncio.Future[Line | None] = asyncio.get_running_loop().create_future()
        self._entries.append((entry, stored))
        self._wake.set()
        try:
            return await asyncio.shield(stored)
        except asyncio.CancelledError:
            if isinstance(line, CallLine):
                await self._withdraw(await stored)
            raise

    async def commit(self) -> None:
        """All that was stored is on the disk already."""

    async def end(self) -> None:
        """Leave the run: what this process still holds is free at once, and what the others did is known here."""
        self._has_ended = True
        self._wake.set()
        if self._clerk is not None:
            await self._clerk
        self._check()
        for row in await self._in_thread(self._link.use, self._leave, self._place.lease):
            self._take_in(row)

    def close(self) -> None:
        """Let go of thread and connection."""
        self._link.give_up()
        self._thread.shutdown()
        self._link.close()

    def _enter(self, opening: Opening, connection: "Connection[Any]") -> Entrance:
        entrance = Entrance(connection, self._place, self.folder.name)
        entrance.join(opening)
        return entrance

    def _copy(self, connection: "Connection[Any]") -> list[Row]:
        """The journal as it is now, beside the files that are derived from it."""
        rows = list(rows_of(read_lines(connection, self._registered().run, 0, None)))
        replace_file(self.folder / SHARED_COPY, b"".join(row.raw + b"\n" for row in rows))
        return rows

    def _leave(self, connection: "Connection[Any]") -> list[Row]:
        connection.execute("DELETE FROM synthesis_judge.worker WHERE id = %s", [self._registered().worker])
        return [row for row in self._copy(connection) if row.number > self._seen]

    def _registered(self) -> Registration:
        if self._who is None:
            raise LookupError("a journal is opened before it is used")
        return self._who

    async def _withdraw(self, begun: Line | None) -> None:
        if isinstance(begun, CallLine):
            await self.store(ReplyLine(begun.n, now(), (), "not sent: the run was stopped"))

    async def _serve(self) -> None:
        """Exchange whatever is there, until the end or until the database is given up."""
        try:
            while not self._has_ended or self._entries:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), self._pause())
                self._wake.clear()
                await self._exchange()
        except Exception as error:
            self._fail(error)

    def _pause(self) -> float:
        renewal = self._place.lease / RENEWALS
        return min(LONGEST_POLL, renewal) if self._takers else renewal

    async def _exchange(self) -> None:
        batch, self._entries = self._entries, []
        self._takers = deque(taker for taker in self._takers if not taker.done())
        self._exchanges += 1
        order = Order(
            self._exchanges,
            self._seen,
            tuple(entry for entry, _ in batch),
            0 if self._has_ended else self._wanted(batch),
            self._unjudged,
            frozenset(self._held),
        )
        try:
            work = partial(exchange, who=self._registered(), order=order)
            answer = await self._in_thread(self._link.use, work, self._place.lease)
            self._learn(answer, order.number)
        except Exception as error:
            _refuse([stored for _, stored in batch], error)
            raise
        self._reply(batch, answer)
        self._hand_out(answer, order.wanted)

    def _wanted(self, batch: Batch) -> int:
        """Who hands in an outcome asks for the next sample at once; it is fetched along."""
        outcomes = sum(isinstance(entry.line, VerdictLine | ErrorLine) for entry, _ in batch)
        return len(self._takers) + outcomes - len(self._spare)

    def _learn(self, answer: Answer, number: int) -> None:
        """Take in all new lines in their order, and tell of those that are not our own."""
        news = []
        for row in answer.rows:
            own = answer.stored[row.entry] if row.is_own and row.exchange == number else None
            line = self._take_in(row, own)
            if not row.is_own:
                news.append(line)
        if news:
            self._listener(news)

    def _take_in(self, row: Row, known: Line | None = None) -> Line:
        if known is None:
            line = apply_line(self.ledger, row.raw, row.number, self.shown)
        else:
            self.ledger.apply(line := known)
        self._seen = row.number
        if isinstance(line, VerdictLine | ErrorLine):
            self._unjudged.pop((line.i, line.h), None)
        return line

    def _reply(self, batch: Batch, answer: Answer) -> None:
        for position, (entry, stored) in enumerate(batch):
            line = answer.stored.get(position)
            if entry.token is not None and not isinstance(line, CallLine):
                self._held.discard(entry.token)
            if not stored.done():
                stored.set_result(line)

    def _hand_out(self, answer: Answer, wanted: int) -> None:
        """Samples go to those who wait; when nobody holds any more, the others need not wait."""
        self._held.update(work.token for work in answer.granted)
        self._spare.extend(answer.granted)
        waiting = deque(taker for taker in self._takers if not taker.done())
        while self._spare and waiting:
            waiting.popleft().set_result(self._spare.popleft())
        if self._has_ended or (not answer.held_elsewhere and len(answer.granted) < wanted):
            while waiting:
                waiting.popleft().set_result(None)
        self._takers = waiting

    def _fail(self, error: Exception) -> None:
        self._failure = error
        _refuse([*(stored for _, stored in self._entries), *self._takers], error)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

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
    """The same; None where there is no such run."""
    require_driver()
    link = Link(place)
    try:
        return link.first(lambda connection: find_ledger(connection, place, name))
    finally:
        link.close()


def _without_lease(line: Line) -> Line | None:
    """What is left to say when the sample was taken over meanwhile: the reply has been paid for."""
    if isinstance(line, VerdictLine) and line.n is not None:
        return ReplyLine(line.n, line.at, usage_in(line), "came too late: another process had taken over the sample")
    return None


def _refuse(waiting: Sequence[asyncio.Future[Any]], error: Exception) -> None:
    for future in waiting:
        if not future.done():
            future.set_exception(error)
