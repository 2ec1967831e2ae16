"""A judge is asked until its reply holds a verdict whose meaning is certain, or until asking again would be waste.

A call that got no reply costs little and is tried again with growing pauses. A reply is paid for: one that was cut
off is asked for once more with a higher limit, one that cannot be used once more with what was wrong.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable

import msgspec

from synthesis.errors import JudgeError, shorten
from synthesis.judge.calls import CallFailedError, Calls, PaidCall
from synthesis.judge.model import TokenUsage, Verdict
from synthesis.judge.records import storable
from synthesis.judge.replies import UnusableReplyError

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
