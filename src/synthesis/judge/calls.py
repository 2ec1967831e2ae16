"""Paid calls: room under the cap, a place among the calls under way, a line in the journal, and when to ask again.

A call that got no reply costs little and is tried again with growing pauses. A reply is paid for: one that was cut
off is asked for once more with a higher limit, one that cannot be used once more with what was wrong.
"""

import asyncio
import contextlib
import math
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from types import TracebackType
from typing import Any

import msgspec

from synthesis.errors import JudgeError, shorten
from synthesis.judge.journal import Journal
from synthesis.judge.ledger import LostLine, Price, ReplyLine, Work, now
from synthesis.judge.model import TokenUsage, Verdict
from synthesis.judge.records import storable
from synthesis.judge.replies import UnusableReplyError


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


# The calls themselves.


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


# Asking until a reply holds a verdict, or until asking again would be waste.


RAISED = 4  # times the output limit, after a reply was cut off
FIRST_WORDS = 60


class Reply(msgspec.Struct, frozen=True):
    """What came back from one call."""

    text: str
    usage: TokenUsage
    cut_off: bool = False


class Correction(msgspec.Struct, frozen=True):
    """An unusable reply and what was wrong with it, to be shown to the judge."""

    reply: str
    problem: str


class Request(msgspec.Struct, frozen=True):
    """How one call is made; `structured` asks for a reply of the given schema."""

    output_tokens: int
    structured: bool = True
    correction: Correction | None = None


class Terms:
    """What a run has learned about its endpoint, so that no later sample pays to learn it again."""

    def __init__(self, output_tokens: int) -> None:
        self._first_limit = output_tokens
        self.output_tokens = output_tokens
        self.structured = True
        self._is_proven = False  # a structured request was accepted

    def first_request(self) -> Request:
        return Request(self.output_tokens, self.structured)

    def accepted(self, request: Request) -> None:
        """The endpoint has answered this request."""
        self._is_proven = self._is_proven or request.structured
        self.structured = self._is_proven

    def sufficed(self, request: Request) -> None:
        self.output_tokens = max(self.output_tokens, request.output_tokens)

    def unstructured(self, request: Request) -> Request | None:
        """The request without a schema, unless one was ever accepted; then the fault is another."""
        if self._is_proven or not request.structured:
            return None
        return msgspec.structs.replace(request, structured=False)

    def raised(self, request: Request) -> Request | None:
        """The request with a higher limit; it is raised once."""
        if request.output_tokens > self._first_limit:
            return None
        return msgspec.structs.replace(request, output_tokens=self._first_limit * RAISED)


class Patience(msgspec.Struct, frozen=True):
    """How long to try: calls without a reply per sample, and seconds of waiting between them."""

    attempts: int = 5
    first_wait: float = 0.5
    longest_wait: float = 30.0
    longest_retry_after: float = 300.0

    def wait(self, attempt: int, chance: random.Random) -> float:
        """Doubles with each attempt; the jitter keeps many callers from retrying together."""
        longest = min(self.longest_wait, self.first_wait * 2.0**attempt)
        return longest * chance.uniform(0.5, 1.0)


class Asker:
    """Asks until there is a verdict, or a reason for having none."""

    def __init__(self, patience: Patience, terms: Terms, seed: int | None) -> None:
        self._patience = patience
        self._terms = terms
        self._chance = random.Random(seed)

    async def ask(
        self,
        calls: Calls,
        send: Callable[[Request, PaidCall], Awaitable[Reply]],
        read: Callable[[Reply], Verdict],
        worst: Callable[[Request], TokenUsage],
    ) -> Verdict:
        """`send` makes one call, `read` makes a verdict of the reply, `worst` is what it may cost."""
        request = self._terms.first_request()
        failures = replies = 0
        while True:
            reply: Reply | None = None
            try:
                async with calls.reserve(worst(request)) as call:
                    reply = await send(request, call)
                    call.billed(reply.usage)
                    self._terms.accepted(request)
                    verdict = read(reply)
                self._terms.sufficed(request)
                return msgspec.structs.replace(verdict, token_usage=(reply.usage,))
            except UnusableReplyError as error:
                replies += 1
                request = self._asked_again(request, reply, error, failures + replies)
            except CallFailedError as error:
                failures += 1
                request = await self._after_failure(calls, request, error, failures, failures + replies)

    def _asked_again(self, request: Request, reply: Reply | None, error: UnusableReplyError, calls: int) -> Request:
        text = reply.text if reply else ""
        if reply and reply.cut_off:
            if raised := self._terms.raised(request):
                return raised
            problem = f"it was cut off at {request.output_tokens} output tokens; --max-output-tokens allows more"
        elif request.correction is None:
            return msgspec.structs.replace(request, correction=Correction(storable(text), storable(error.message)))
        else:
            problem = error.message
        raise JudgeError(f"no verdict after {_counted(calls)}; the last reply: {problem}{_begin(text)}")

    async def _after_failure(
        self, calls: Calls, request: Request, error: CallFailedError, failures: int, made: int
    ) -> Request:
        if error.rejected and (plain := self._terms.unstructured(request)):
            return plain
        if not error.retry:
            raise error
        if (error.retry_after or 0.0) > self._patience.longest_retry_after:
            raise JudgeError(f"{error.message}; it asks for a wait of {error.retry_after:g} s, which is too long")
        pause = self._patience.wait(failures - 1, self._chance)
        if error.retry_after is not None:
            pause = error.retry_after + pause * 0.1
        if error.overloaded:
            calls.context.pacer.slow_down(pause)
        if failures >= (2 if error.garbled else self._patience.attempts):
            raise JudgeError(f"no verdict after {_counted(made)}; the last: {error.message}")
        with calls.context.idle():
            await asyncio.sleep(pause)
        return request


def _counted(calls: int) -> str:
    return "1 call" if calls == 1 else f"{calls} calls"


def _begin(text: str) -> str:
    words = shorten(text.strip(), FIRST_WORDS)
    return f". It begins: {words!r}" if words else ". It is empty"
