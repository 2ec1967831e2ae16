"""Every paid call goes through here: room in the budget, a place in the queue, a note in the journal."""

import asyncio
from types import TracebackType

from synthesis.errors import JudgeError
from synthesis.judge.cost import Budget, NoFurtherCallError
from synthesis.judge.journal import Journal
from synthesis.judge.ledger import Sample
from synthesis.judge.lines import CallLine, LostLine, ReplyLine, now
from synthesis.judge.model import TokenUsage
from synthesis.judge.pacing import Pacer


class CallFailedError(JudgeError):
    """One call brought no reply. `answered`: it was refused or never got out, so it cost nothing."""

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


class Desk:
    """What all calls of a run share."""

    def __init__(self, journal: Journal, budget: Budget, pacer: Pacer) -> None:
        self.journal = journal
        self.budget = budget
        self.pacer = pacer
        self.closed = False

    async def admit(self, worst: TokenUsage) -> float:
        """Wait for room and a place; returns what was reserved. A closed desk admits nobody."""
        reserved = await self.budget.reserve(worst)
        try:
            await self.pacer.enter()
        except BaseException:
            self.budget.settle(reserved, ())
            raise
        if self.closed:
            self.pacer.leave(answered=False)
            self.budget.settle(reserved, ())
            raise NoFurtherCallError("the run was stopped")
        return reserved


class Calls:
    """The calls for one sample; `last` is the number of the one that was answered with a verdict."""

    def __init__(self, desk: Desk, sample: Sample, iteration: int) -> None:
        self.desk = desk
        self.sample = sample
        self.iteration = iteration
        self.last: int | None = None

    def begin(self, worst: TokenUsage) -> "PaidCall":
        """`async with calls.begin(worst) as call:` around one request."""
        return PaidCall(self, worst)


class PaidCall:
    """One request. Leaves a note of how it ended, except for a verdict, whose own line says it."""

    def __init__(self, calls: Calls, worst: TokenUsage) -> None:
        self._calls = calls
        self._desk = calls.desk
        self._worst = worst
        self._usage: tuple[TokenUsage, ...] = ()
        self._metered = True
        self._number = 0
        self._reserved = 0.0

    def billed(self, usage: TokenUsage) -> None:
        """A reply has come, and this is what it cost; servers that do not count tell nothing."""
        self._usage = (usage,)
        self._metered = usage.input_tokens > 0

    async def __aenter__(self) -> "PaidCall":
        self._reserved = await self._desk.admit(self._worst)
        self._number = self._desk.journal.ledger.next_call
        sample = self._calls.sample
        worst = (self._worst.input_tokens, self._worst.output_tokens)
        self._desk.journal.append(
            CallLine(self._number, self._calls.iteration, sample.hash, sample.fingerprint, now(), worst)
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        lost = isinstance(error, asyncio.CancelledError) or (isinstance(error, CallFailedError) and not error.answered)
        self._desk.pacer.leave(answered=error is None)
        if lost or not self._metered:
            self._desk.budget.write_off(self._reserved)
        else:
            self._desk.budget.settle(self._reserved, self._usage)
        self._note(error, lost)

    def _note(self, error: BaseException | None, lost: bool) -> None:
        if error is None:
            self._calls.last = self._number
        elif lost:
            self._desk.journal.append(LostLine(self._number, now(), str(error) or "given up at a stop"))
        else:
            self._desk.journal.append(ReplyLine(self._number, now(), self._usage, str(error)))
