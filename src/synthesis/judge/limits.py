"""What every call waits for: room under the cost cap, and a place among the calls under way."""

import asyncio
import math
from collections import deque

from synthesis.errors import JudgeError
from synthesis.judge.journal.lines import Price
from synthesis.judge.model import TokenUsage


class NoFurtherCallError(JudgeError):
    """No further call may be sent: the cap is reached or the run was stopped. The sample stays pending."""


class Budget:
    """Room under a cap. Before a call its worst case is reserved; afterwards its real cost is booked."""

    def __init__(self, cap: float | None, price: Price | None, spent: float) -> None:
        """`spent` counts unanswered calls at their worst case."""
        self._cap = math.inf if cap is None else cap
        self._price = price
        self.spent = spent
        self._reserved = 0.0
        self._settled = asyncio.Event()

    def known_spending(self) -> float | None:
        """What the run has cost so far; None where the price is not known."""
        return None if self._price is None else self.spent

    async def reserve(self, worst: TokenUsage) -> float:
        """Take room for the worst case; wait while calls under way may still free some."""
        if self._cap == math.inf:
            return 0.0
        amount = self._cost(worst)
        while self.spent + self._reserved + amount > self._cap:
            if self._reserved == 0.0:
                raise NoFurtherCallError(
                    f"the cap of {self._cap:g} USD is reached: {self.spent:.6f} USD are spent, "
                    f"and the next call could cost up to {amount:.6f} USD"
                )
            self._settled.clear()
            await self._settled.wait()
        self._reserved += amount
        return amount

    def settle(self, reserved: float, usage: tuple[TokenUsage, ...]) -> None:
        """Book what a call cost and give back the rest of its room."""
        self._release(reserved, sum(self._cost(used) for used in usage))

    def write_off(self, reserved: float) -> None:
        """A call of unknown cost counts as its worst case."""
        self._release(reserved, reserved)

    def _release(self, reserved: float, spent: float) -> None:
        # `reserve` gives up only at exactly 0: a rounding rest would make it wait for a call that does not exist.
        self._reserved = max(0.0, self._reserved - reserved) if self._reserved - reserved > 1e-15 else 0.0
        self.spent += spent
        self._settled.set()

    def _cost(self, usage: TokenUsage) -> float:
        return self._price.of(usage.input_tokens, usage.output_tokens) if self._price else 0.0


class Pacer:
    """Halves the number of calls at each wave of refusals, honours `Retry-After`, and recovers one call at a time."""

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
        """The server refused: no call is sent before the pause is over, and fewer at a time after it."""
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
                self._wake()  # the place went to a call that was cancelled meanwhile
            raise

    def _wake(self) -> None:
        free = int(self.allowed) - self._under_way
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1
