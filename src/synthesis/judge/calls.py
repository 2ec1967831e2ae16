"""Every paid call goes through here: room in the budget, a place in the queue, a note in the journal."""

import asyncio
import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from synthesis.errors import JudgeError
from synthesis.judge.journal.file import Journal
from synthesis.judge.journal.ledger import Work
from synthesis.judge.journal.lines import LostLine, ReplyLine, now
from synthesis.judge.limits import Budget, NoFurtherCallError, Pacer
from synthesis.judge.model import TokenUsage
from synthesis.judge.records import storable


class CallFailedError(JudgeError):
    """One call got no reply. `answered`: it was refused or never sent, so it cost nothing.

    `rejected`: the endpoint may not understand the schema that was sent along. `garbled`: what came is no reply.
    """

    def __init__(
        self,
        message: str,
        *,
        answered: bool,
        retry: bool = True,
        retry_after: float | None = None,
        overloaded: bool = False,
        rejected: bool = False,
        garbled: bool = False,
    ) -> None:
        super().__init__(message)
        self.answered = answered
        self.retry = retry
        self.retry_after = retry_after
        self.overloaded = overloaded
        self.rejected = rejected
        self.garbled = garbled


class RunStopError(JudgeError):
    """No further call can succeed: the key is refused, the model unknown, the account empty."""


class CallContext:
    """What all calls of a run share: journal, budget and pace."""

    def __init__(self, journal: Journal, budget: Budget, pacer: Pacer) -> None:
        self.journal = journal
        self.budget = budget
        self.pacer = pacer
        self.closed = False
        self.under_way = 0
        self._idle: set[asyncio.Task[Any]] = set()

    def close(self) -> None:
        """Send no further call. Who waits to send one need not wait any longer."""
        self.closed = True
        for task in self._idle:
            task.cancel()

    @contextlib.contextmanager
    def idle(self) -> Iterator[None]:
        """Around a wait without a call under way: `close` ends it, because nothing paid for is lost."""
        self.require_open()
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("calls are made in a task")
        self._idle.add(task)
        try:
            yield
        finally:
            self._idle.discard(task)

    def require_open(self) -> None:
        """Raise where no further call may be sent."""
        if self.closed:
            raise NoFurtherCallError("the run was stopped")

    async def admit(self, worst: TokenUsage) -> float:
        """Wait for room and a place; returns what was reserved."""
        with self.idle():
            reserved = await self.budget.reserve(worst)
            try:
                await self.pacer.enter()
            except BaseException:
                self.budget.settle(reserved, ())
                raise
        return reserved

    def dismiss(self, reserved: float) -> None:
        """Free the room and place of a call that is not sent."""
        self.pacer.leave(answered=False)
        self.budget.settle(reserved, ())


class Calls:
    """The calls for one sample; `last` is the number of the one that was answered with a verdict."""

    def __init__(self, context: CallContext, work: Work) -> None:
        self.context = context
        self.work = work
        self.iteration = work.iteration
        self.last: int | None = None

    def begin(self, worst: TokenUsage) -> "PaidCall":
        """`async with calls.begin(worst) as call:` around one request."""
        return PaidCall(self, worst, at_once=True)

    def reserve(self, worst: TokenUsage) -> "PaidCall":
        """The same for a client that awaits `call.begin()` itself, just before the request leaves the machine."""
        return PaidCall(self, worst, at_once=False)


class PaidCall:
    """One call: recorded in the journal before it is sent, and again when it has ended without a verdict."""

    def __init__(self, calls: Calls, worst: TokenUsage, *, at_once: bool) -> None:
        self._calls = calls
        self._context = calls.context
        self._worst = worst
        self._at_once = at_once
        self._number: int | None = None
        self._reserved = 0.0
        self._usage: tuple[TokenUsage, ...] = ()
        self._metered = True
        self.refusal: Exception | None = None

    @property
    def has_begun(self) -> bool:
        """It is recorded, so its request has left or is about to."""
        return self._number is not None

    def billed(self, usage: TokenUsage) -> None:
        """Record what a reply cost; some servers do not count tokens."""
        self._usage = (usage,)
        self._metered = usage.input_tokens > 0

    async def begin(self) -> None:
        """Record the call, unless that is done. Where it must not be sent this raises, and `refusal` says why."""
        if self._number is not None:
            return
        try:
            self._context.require_open()
            self._number = self._context.journal.begin(self._calls.work, self._worst)
        except Exception as error:
            self.refusal = error
            raise
        self._context.under_way += 1

    async def __aenter__(self) -> "PaidCall":
        self._reserved = await self._context.admit(self._worst)
        if self._at_once:
            try:
                await self.begin()
            except BaseException:
                self._context.dismiss(self._reserved)
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._number is None:
            self._context.dismiss(self._reserved)
            return
        self._context.under_way -= 1
        lost = isinstance(error, asyncio.CancelledError) or (isinstance(error, CallFailedError) and not error.answered)
        self._context.pacer.leave(answered=error is None)
        if lost or not self._metered:
            self._context.budget.write_off(self._reserved)
        else:
            self._context.budget.settle(self._reserved, self._usage)
        self._note(self._number, error, lost)

    def _note(self, number: int, error: BaseException | None, lost: bool) -> None:
        if error is None:
            self._calls.last = number
        elif lost:
            reason = storable(str(error)) or "abandoned when the run was stopped"
            self._context.journal.store(LostLine(number, now(), reason))
        else:
            self._context.journal.store(ReplyLine(number, now(), self._usage, storable(str(error))))
