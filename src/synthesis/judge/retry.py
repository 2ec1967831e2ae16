"""The retry loop around a judge that may refuse, break off, time out or talk nonsense."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import msgspec

from synthesis.errors import JudgeError
from synthesis.judge.calls import CallFailedError, Calls
from synthesis.judge.model import AxisVerdict, TokenUsage, Verdict
from synthesis.judge.replies import UnusableReplyError


class Reply(msgspec.Struct, frozen=True):
    """What came back from one call."""

    text: str
    usage: TokenUsage
    cut_off: bool = False


class Correction(msgspec.Struct, frozen=True):
    """An unusable reply and what was wrong with it, to be shown to the judge."""

    reply: str
    problem: str


class Patience(msgspec.Struct, frozen=True):
    """How long to try: attempts per sample, and seconds of waiting between them."""

    attempts: int = 5
    first_wait: float = 0.5
    longest_wait: float = 30.0
    longest_retry_after: float = 300.0

    def wait(self, attempt: int, chance: random.Random) -> float:
        """Doubles with each attempt; the jitter keeps many callers from coming back together."""
        longest = min(self.longest_wait, self.first_wait * 2.0**attempt)
        return longest * chance.uniform(0.5, 1.0)


class Asker:
    """Asks until there is a verdict, or a reason why there is none."""

    def __init__(self, patience: Patience, seed: int | None) -> None:
        self._patience = patience
        self._chance = random.Random(seed)

    async def ask(
        self,
        calls: Calls,
        send: Callable[[Correction | None], Awaitable[Reply]],
        read: Callable[[Reply], dict[str, AxisVerdict]],
        worst: Callable[[Correction | None], TokenUsage],
    ) -> Verdict:
        """`send` makes one request, `read` makes a verdict of the reply, `worst` is what it may cost."""
        correction: Correction | None = None
        problem: JudgeError = JudgeError("was not asked")
        for attempt in range(self._patience.attempts):
            reply: Reply | None = None
            try:
                async with calls.begin(worst(correction)) as call:
                    reply = await send(correction)
                    call.billed(reply.usage)
                    axes = read(reply)
                return Verdict(axes, token_usage=(reply.usage,))
            except UnusableReplyError as error:
                problem, correction = error, Correction(reply.text if reply else "", error.message)
            except CallFailedError as error:
                problem = error
                await self._wait(calls, error, attempt)
        raise JudgeError(f"no verdict after {self._patience.attempts} calls; the last: {problem.message}")

    async def _wait(self, calls: Calls, error: CallFailedError, attempt: int) -> None:
        if not error.retry:
            raise error
        if (error.retry_after or 0.0) > self._patience.longest_retry_after:
            raise JudgeError(f"{error.message}; it asks to wait {error.retry_after:g} s, which is too long")
        pause = self._patience.wait(attempt, self._chance)
        if error.retry_after is not None:
            pause = error.retry_after + pause * 0.1
        if error.overloaded:
            calls.desk.pacer.slow_down(pause)
        if attempt + 1 < self._patience.attempts:
            await asyncio.sleep(pause)
