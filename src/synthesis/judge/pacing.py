"""How many calls may be under way: as many as allowed, fewer while the other side says it is too much."""

import asyncio
from collections import deque


class Pacer:
    """Halves the number of calls at each wave of refusals, pauses when told to, and grows back by ones."""

    def __init__(self, concurrency: int) -> None:
        self._ceiling = concurrency
        self.allowed = float(concurrency)
        self._under_way = 0
        self._resume_at = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Wait for a place."""
        loop = asyncio.get_running_loop()
        while True:
            pause = self._resume_at - loop.time()
            if pause > 0:
                await asyncio.sleep(pause)
            elif self._under_way < int(self.allowed):
                self._under_way += 1
                return
            else:
                await self._queue(loop.create_future())

    def leave(self, *, answered: bool) -> None:
        """Free the place; a whole round of answers earns one more."""
        self._under_way -= 1
        if answered:
            self.allowed = min(self._ceiling, self.allowed + 1 / self.allowed)
        self._wake()

    def slow_down(self, pause: float) -> None:
        """The other side refused: nobody sends before the pause is over, and then fewer at a time."""
        now = asyncio.get_running_loop().time()
        if now >= self._resume_at:  # refusals of one wave count once
            self.allowed = max(1.0, self.allowed / 2)
        self._resume_at = max(self._resume_at, now + pause)

    async def _queue(self, place: asyncio.Future[None]) -> None:
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._wake()  # the place was given to one that no longer wants it
            raise

    def _wake(self) -> None:
        free = int(self.allowed) - self._under_way
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1
