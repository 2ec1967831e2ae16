"""A judge is asked until its reply holds a verdict whose meaning is certain, or until the attempts are used up."""

import asyncio
import json
import random
import re
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from synthesis.errors import JudgeError, shorten
from synthesis.judge.calls import CallFailedError, Calls, CallWithdrawnError, PaidCall
from synthesis.judge.model import AxisVerdict, Rubric, TokenUsage, Verdict
from synthesis.judge.records import SCORES, storable

_WHOLE_SCORE = re.compile(r"\s*([1-5])(?:\.0+)?\s*")
_OUT_OF_FIVE = re.compile(r"\s*([1-5])(?:\.0+)?\s*(?:/|out of)\s*5(?:\.0+)?\s*", re.IGNORECASE)


class UnusableReplyError(JudgeError):
    """A reply without a certain verdict; the message says why, in words that the judge can act on."""


def read_reply(text: str, rubric: Rubric) -> dict[str, AxisVerdict]:
    """The verdict per axis, in the rubric's order."""
    candidates = [found for found in _with_wrapped(_objects(text)) if _names_an_axis(found, rubric)]
    if not candidates:
        raise UnusableReplyError(f"there is no JSON object with the axes in it: {shorten(text, 60)!r}")
    verdicts = [read_verdict(candidate, rubric) for candidate in candidates]
    if any(_scores(verdict) != _scores(verdicts[0]) for verdict in verdicts):
        raise UnusableReplyError("there are several verdicts, and they differ")
    return verdicts[-1]


def read_verdict(value: dict[str, Any], rubric: Rubric) -> dict[str, AxisVerdict]:
    """The verdict in a decoded object; a missing axis or a score off the scale is refused."""
    by_name = {str(key).strip().lower(): item for key, item in value.items()}
    return {axis.name: _axis(axis.name, by_name.get(axis.name.lower())) for axis in rubric.axes}


def _axis(name: str, value: Any) -> AxisVerdict:
    if value is None:
        raise UnusableReplyError(f"the axis '{name}' is missing")
    if not isinstance(value, dict):
        raise UnusableReplyError(f"'{name}' must be an object with reasoning and score")
    reasoning = value.get("reasoning")
    if not isinstance(reasoning, str) or not reasoning.strip():
        raise UnusableReplyError(f"'{name}' has no reasoning")
    return AxisVerdict(score=_score(name, value.get("score")), reasoning=reasoning.strip())


def _score(name: str, value: Any) -> int:
    if value is None:
        raise UnusableReplyError(f"'{name}' has no score")
    if type(value) is int and value in SCORES:
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    match = _WHOLE_SCORE.fullmatch(text) or (_OUT_OF_FIVE.fullmatch(text) if isinstance(value, str) else None)
    if match is None:
        raise UnusableReplyError(f"the score of '{name}' must be a whole number from 1 to 5, not {shorten(text, 30)}")
    return int(match[1])


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key appears twice")
    return dict(pairs)


# Models put raw line breaks into strings: their meaning is certain. That of a key given twice is not.
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_without_doubles)


def _objects(text: str) -> list[dict[str, Any]]:
    """The outermost JSON objects in a text, whatever surrounds them: prose, a code fence, reasoning."""
    found, position = [], text.find("{")
    while position >= 0:
        try:
            value, end = _DECODER.raw_decode(text, position)
            found.append(value)
        except (ValueError, RecursionError):
            end = position + 1
        position = text.find("{", end)
    return found


def _with_wrapped(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The objects, and those they wrap: `{"verdict": {...}}`."""
    return [inner for outer in found for inner in (outer, *(v for v in outer.values() if isinstance(v, dict)))]


def _names_an_axis(value: dict[str, Any], rubric: Rubric) -> bool:
    keys = {str(key).strip().lower() for key in value}
    return any(axis.name.lower() in keys for axis in rubric.axes)


def _scores(verdict: dict[str, AxisVerdict]) -> list[int]:
    return [axis.score for axis in verdict.values()]


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
        """Doubles with each attempt; the jitter keeps many callers from retrying together."""
        longest = min(self.longest_wait, self.first_wait * 2.0**attempt)
        return longest * chance.uniform(0.5, 1.0)


class Asker:
    """Asks until there is a verdict, or a reason for having none."""

    def __init__(self, patience: Patience, seed: int | None) -> None:
        self._patience = patience
        self._chance = random.Random(seed)

    async def ask(
        self,
        calls: Calls,
        send: Callable[[Correction | None, PaidCall], Awaitable[Reply]],
        read: Callable[[Reply], dict[str, AxisVerdict]],
        worst: Callable[[Correction | None], TokenUsage],
    ) -> Verdict:
        """`send` makes one request, `read` makes a verdict of the reply, `worst` is what it may cost."""
        correction: Correction | None = None
        problem: JudgeError = JudgeError("was not asked")
        attempt = 0
        while attempt < self._patience.attempts:
            reply: Reply | None = None
            try:
                async with calls.reserve(worst(correction)) as call:
                    reply = await send(correction, call)
                    call.billed(reply.usage)
                    axes = read(reply)
                return Verdict(axes, token_usage=(reply.usage,))
            except CallWithdrawnError:
                continue  # it was not sent, so it is not an attempt
            except UnusableReplyError as error:
                problem, correction = error, Correction(storable(reply.text) if reply else "", storable(error.message))
            except CallFailedError as error:
                problem = error
                await self._wait(calls, error, attempt)
            attempt += 1
        raise JudgeError(f"no verdict after {self._patience.attempts} calls; the last: {problem.message}")

    async def _wait(self, calls: Calls, error: CallFailedError, attempt: int) -> None:
        if not error.retry:
            raise error
        if (error.retry_after or 0.0) > self._patience.longest_retry_after:
            raise JudgeError(f"{error.message}; it asks for a wait of {error.retry_after:g} s, which is too long")
        pause = self._patience.wait(attempt, self._chance)
        if error.retry_after is not None:
            pause = error.retry_after + pause * 0.1
        if error.overloaded:
            calls.context.pacer.slow_down(pause)
        if attempt + 1 < self._patience.attempts:
            with calls.context.idle():
                await asyncio.sleep(pause)
