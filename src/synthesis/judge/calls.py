"""Every paid call goes through here: room in the budget, a place in the queue, a note in the journal."""

import asyncio
from types import TracebackType

from synthesis.errors import JudgeError
from synthesis.judge.journal.base import Journal, Work
from synthesis.judge.journal.lines import LostLine, ReplyLine, now
from synthesis.judge.limits import Budget, NoFurtherCallError, Pacer
from synthesis.judge.model import TokenUsage


class CallFailedError(JudgeError):
    """One call got no reply. `answered`: it was refused or never sent, so it cost nothing."""

    def __init__(
        self,
        message: str,
        *,
        answered: bool,
        retry: bool = True,
        retry_after: float | None = None,
        overloaded: bool = False,
    ) -> None:
        super().__init__(message)
        self.answered = answered
        self.retry = retry
        self.retry_after = retry_after
        self.overloaded = overloaded


class RunStopError(JudgeError):
    """No further call can succeed: the key is refused, the model unknown, the account empty."""


class CallContext:
    """What all calls of a run share: journal, budget and pace."""

    def __init__(self, journal: Journal, budget: Budget, pacer: Pacer) -> None:
        self.journal = journal
        self.budget = budget
        self.pacer = pacer
        self.closed = False

    async def admit(self, worst: TokenUsage) -> float:
        """Wait for room and a place; returns what was reserved. After `closed` is set no call is admitted."""
        reserved = await self.budget.reserve(worst)
        try:
            await self.pacer.enter()
        except BaseException:
            self.budget.settle(reserved, ())
            raise
        if self.closed:
            self.dismiss(reserved)
            raise NoFurtherCallError("the run was stopped")
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
        return PaidCall(self, worst)


class PaidCall:
    """One request. Records how it ended, except for a verdict, which has a line of its own."""

    def __init__(self, calls: Calls, worst: TokenUsage) -> None:
        self._calls = calls
        self._context = calls.context
        self._worst = worst
        self._usage: tuple[TokenUsage, ...] = ()
        self._metered = True
        self._number = 0
        self._reserved = 0.0

    def billed(self, usage: TokenUsage) -> None:
        """Record what a reply cost; some servers do not count tokens."""
        self._usage = (usage,)
        self._metered = usage.input_tokens > 0

    async def __aenter__(self) -> "PaidCall":
        # A call that was withdrawn waits for room again; `reserve` ends the loop when there is none left.
        while not await self._has_begun():
            pass
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        lost = isinstance(error, asyncio.CancelledError) or (isinstance(error, CallFailedError) and not error.answered)
        self._context.pacer.leave(answered=error is None)
        if lost or not self._metered:
            self._context.budget.write_off(self._reserved)
        else:
            self._context.budget.settle(self._reserved, self._usage)
        await self._note(error, lost)

    async def _has_begun(self) -> bool:
        """Other processes may have used up the cap meanwhile; then the call is withdrawn before it is sent."""
        self._reserved = await self._context.admit(self._worst)
        try:
            self._number = await self._context.journal.begin(self._calls.work, self._worst)
            if not self._context.budget.is_overdrawn():
                return True
            await self._context.journal.note(
                ReplyLine(self._number, now(), (), "not sent: there was no room under the cap")
            )
        except BaseException:
            self._context.dismiss(self._reserved)
            raise
        self._context.dismiss(self._reserved)
        return False

    async def _note(self, error: BaseException | None, lost: bool) -> None:
        if error is None:
            self._calls.last = self._number
        elif lost:
            await self._context.journal.note(
                LostLine(self._number, now(), str(error) or "abandoned when the run was stopped")
            )
        else:
            await self._context.journal.note(ReplyLine(self._number, now(), self._usage, str(error)))
