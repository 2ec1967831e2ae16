"""Synchronises a process with the shared journal: one exchange at a time, carrying everything that is ready."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from synthesis.judge.journal.base import Listener, Work
from synthesis.judge.journal.ledger import Ledger, apply_line
from synthesis.judge.journal.lines import CallLine, ErrorLine, Line, VerdictLine
from synthesis.judge.journal.shared.exchange import Answer, Entry, Key, Order, Row

Batch = list[tuple[Entry, asyncio.Future[Line | None]]]
LONGEST_POLL = 0.2  # seconds between looks for a sample that another process may give back
RENEWALS = 3  # times that a lease is renewed before it would run out


class Clerk:
    """Keeps `ledger` in step with the run, from line number `seen` on."""

    def __init__(
        self, ledger: Ledger, seen: int, shown: str, lease: float, send: Callable[[Order], Awaitable[Answer]]
    ) -> None:
        self.seen = seen
        self._ledger = ledger
        self._shown = shown
        self._renewal = lease / RENEWALS
        self._send = send
        self._wake = asyncio.Event()
        self._failure: Exception | None = None
        self._is_halted = False
        self._has_ended = False
        self._orders = 0
        self._entries: Batch = []
        self._takers: deque[asyncio.Future[Work | None]] = deque()
        self._spare: deque[Work] = deque()
        self._unjudged: dict[Key, Work] = {}
        self._held: set[int] = set()
        self._listener: Listener = lambda _: None
        self._task = asyncio.create_task(self._serve())

    def enlist(self, work: Sequence[Work], listener: Listener) -> None:
        """Samples that are judged elsewhere meanwhile fall out of the list."""
        self._unjudged = {(item.iteration, item.sample.hash): item for item in work}
        self._listener = listener

    async def take(self) -> Work | None:
        """The next sample; waits while others hold what is left, for they may die."""
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
        """Others may wait for what is held here, and must not be waited for in turn."""
        self._is_halted = True
        self._send_home()

    def hand_in(self, entry: Entry) -> "asyncio.Future[Line | None]":
        """A line to be stored; the future holds what was, once it is."""
        self._check()
        stored: asyncio.Future[Line | None] = asyncio.get_running_loop().create_future()
        self._entries.append((entry, stored))
        self._wake.set()
        return stored

    async def end(self) -> None:
        """Return when all that was handed in is stored."""
        self.halt()
        self._has_ended = True
        self._wake.set()
        await self._task
        self._check()

    def take_in(self, row: Row, known: Line | None = None) -> Line:
        """A line that was stored, by whomever."""
        if known is None:
            line = apply_line(self._ledger, row.raw, row.number, self._shown)
        else:
            self._ledger.apply(line := known)
        self.seen = row.number
        if isinstance(line, VerdictLine | ErrorLine):
            self._unjudged.pop((line.i, line.h), None)
        return line

    async def _serve(self) -> None:
        """Send whatever is there, until the end or until the database is given up."""
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
        self._orders += 1
        entries = tuple(entry for entry, _ in batch)
        wanted = 0 if self._is_halted else self._wanted(batch)
        order = Order(self._orders, self.seen, entries, wanted, self._unjudged, frozenset(self._held))
        try:
            answer = await self._send(order)
            self._learn(answer, order.number)
        except Exception as error:
            _refuse([stored for _, stored in batch], error)
            raise
        self._reply(batch, answer)
        self._hand_out(answer, wanted)

    def _wanted(self, batch: Batch) -> int:
        """Who hands in an outcome asks for the next sample at once; it is fetched along."""
        outcomes = sum(isinstance(entry.line, VerdictLine | ErrorLine) for entry, _ in batch)
        return len(self._takers) + outcomes - len(self._spare)

    def _learn(self, answer: Answer, number: int) -> None:
        """Take in all new lines in their order, and tell of those that are not our own."""
        news = []
        for row in answer.rows:
            own = answer.stored[row.entry] if row.is_own and row.exchange == number else None
            line = self.take_in(row, own)
            if not row.is_own:
                news.append(line)
        if news:
            self._listener(news)

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
        waiting = self._takers = deque(taker for taker in self._takers if not taker.done())
        while self._spare and waiting:
            waiting.popleft().set_result(self._spare.popleft())
        if not answer.held_elsewhere and len(answer.granted) < wanted:
            self._send_home()

    def _send_home(self) -> None:
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
