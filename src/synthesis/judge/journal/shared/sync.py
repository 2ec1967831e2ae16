"""Synchronises a process with the shared journal: one exchange at a time, carrying everything that is ready."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from synthesis.judge.journal.base import Listener, Work
from synthesis.judge.journal.lines import CallLine, ErrorLine, Line, VerdictLine
from synthesis.judge.journal.reading import JournalReader
from synthesis.judge.journal.shared.exchange import ExchangeReply, ExchangeRequest, Key, PendingLine, StoredLine

Batch = list[tuple[PendingLine, asyncio.Future[Line | None]]]
LONGEST_POLL = 0.2  # seconds between polls for a sample that another process may release
RENEWALS = 3  # per lease: two renewals may be lost or late before it expires


class JournalSync:
    """Keeps the reader's ledger in step with the run, from line number `seen` on."""

    def __init__(
        self,
        reader: JournalReader,
        seen: int,
        lease: float,
        send: Callable[[ExchangeRequest], Awaitable[ExchangeReply]],
    ) -> None:
        self.seen = seen
        self._reader = reader
        self._renewal = lease / RENEWALS
        self._send = send
        self._wake = asyncio.Event()
        self._failure: Exception | None = None
        self._is_halted = False
        self._has_ended = False
        self._exchanges = 0
        self._entries: Batch = []
        self._takers: deque[asyncio.Future[Work | None]] = deque()
        self._spare: deque[Work] = deque()
        self._unjudged: dict[Key, Work] = {}
        self._held: set[int] = set()
        self._listener: Listener = lambda _: None
        self._task = asyncio.create_task(self._serve())

    def enlist(self, work: Sequence[Work], listener: Listener) -> None:
        """Offer samples; those that other processes judge meanwhile drop out of the list."""
        self._unjudged = {(item.iteration, item.sample.hash): item for item in work}
        self._listener = listener

    async def take(self) -> Work | None:
        """The next sample; waits while others hold the last ones, because their leases may expire."""
        self._check()
        if self._is_halted:
            return None
        if self._spare:
            return self._spare.popleft()
        taker: asyncio.Future[Work | None] = asyncio.get_running_loop().create_future()
        self._takers.append(taker)
        self._wake.set()
        return await taker

    def halt(self) -> None:
        """Stop waiting: others may wait for what is held here, and waiting for them in turn would be a deadlock."""
        self._is_halted = True
        self._release_takers()

    def submit(self, entry: PendingLine) -> "asyncio.Future[Line | None]":
        """Queue a line; the future resolves to what was stored."""
        self._check()
        stored: asyncio.Future[Line | None] = asyncio.get_running_loop().create_future()
        self._entries.append((entry, stored))
        self._wake.set()
        return stored

    async def end(self) -> None:
        """Return when everything submitted is stored."""
        self.halt()
        self._has_ended = True
        self._wake.set()
        await self._task
        self._check()

    def apply(self, row: StoredLine) -> Line:
        """Apply a stored line to the ledger."""
        line = self._reader.read(row.raw, row.number)
        self.seen = row.number
        if isinstance(line, VerdictLine | ErrorLine):
            self._unjudged.pop((line.i, line.h), None)
        return line

    async def _serve(self) -> None:
        """Exchange until the end, or until the database cannot be reached any more."""
        try:
            while not self._has_ended or self._entries:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), self._pause())
                self._wake.clear()
                await self._exchange()
        except Exception as error:
            self._failure = error
            _refuse([*(stored for _, stored in self._entries), *self._takers], error)

    def _pause(self) -> float:
        return min(LONGEST_POLL, self._renewal) if self._takers else self._renewal

    async def _exchange(self) -> None:
        batch, self._entries = self._entries, []
        self._takers = deque(taker for taker in self._takers if not taker.done())
        self._exchanges += 1
        entries = tuple(entry for entry, _ in batch)
        wanted = 0 if self._is_halted else self._wanted(batch)
        request = ExchangeRequest(
            self._exchanges, self.seen, self._reader, entries, wanted, self._unjudged, frozenset(self._held)
        )
        try:
            reply = await self._send(request)
            self._apply_news(reply)
        except Exception as error:
            _refuse([stored for _, stored in batch], error)
            raise
        self._resolve(batch, reply)
        self._grant(reply, wanted)

    def _wanted(self, batch: Batch) -> int:
        """A worker that submits an outcome asks for the next sample next; fetching it now saves a round trip."""
        outcomes = sum(isinstance(entry.line, VerdictLine | ErrorLine) for entry, _ in batch)
        return len(self._takers) + outcomes - len(self._spare)

    def _apply_news(self, reply: ExchangeReply) -> None:
        """Apply all new lines in order, and pass those of other processes to the listener."""
        news = []
        for row in reply.rows:
            line = self.apply(row)
            if not row.is_own:
                news.append(line)
        if news:
            self._listener(news)

    def _resolve(self, batch: Batch, reply: ExchangeReply) -> None:
        for position, (entry, stored) in enumerate(batch):
            line = reply.stored.get(position)
            if entry.token is not None and not isinstance(line, CallLine):
                self._held.discard(entry.token)
            if not stored.done():
                stored.set_result(line)

    def _grant(self, reply: ExchangeReply, wanted: int) -> None:
        """Hand samples to waiting workers; when no process holds any, the rest stop waiting."""
        self._held.update(work.token for work in reply.granted)
        self._spare.extend(reply.granted)
        waiting = self._takers = deque(taker for taker in self._takers if not taker.done())
        while self._spare and waiting:
            waiting.popleft().set_result(self._spare.popleft())
        if not reply.held_elsewhere and len(reply.granted) < wanted:
            self._release_takers()

    def _release_takers(self) -> None:
        for taker in self._takers:
            if not taker.done():
                taker.set_result(None)
        self._takers.clear()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure


def _refuse(waiting: Sequence[asyncio.Future[Any]], error: Exception) -> None:
    for future in waiting:
        if not future.done():
            future.set_exception(error)
