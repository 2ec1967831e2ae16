"""Reviews beside an event loop: functions that are waited for, and a loop that is never held up."""

import asyncio
import threading
import time
from typing import Any

import pytest
from guard_samples import DIRECTIVE, GERMAN, GOOD, PROMISE, USER, scripted

from synthesis import Guard
from synthesis.errors import OptionError


async def _written(*_: Any) -> str:
    await asyncio.sleep(0.01)
    return GOOD


def test_a_coroutine_may_write_again_and_fall_back() -> None:
    again = Guard(on_fail="regenerate", regenerate=_written)
    outcome = asyncio.run(again.review_async(USER, DIRECTIVE))
    assert (outcome.reply, outcome.action) == (GOOD, "regenerated")
    replaced = asyncio.run(Guard(on_fail="fallback", fallback=_written).review_async(USER, DIRECTIVE))
    assert (replaced.reply, replaced.action) == (GOOD, "replaced")
    plain = asyncio.run(Guard(on_fail="regenerate", regenerate=scripted(GOOD)[0]).review_async(USER, DIRECTIVE))
    assert plain.action == "regenerated"


def test_a_coroutine_without_an_event_loop_is_refused() -> None:
    with pytest.raises(OptionError, match="coroutine"):
        Guard(on_fail="regenerate", regenerate=_written).review(USER, DIRECTIVE)


def test_many_reviews_at_once_agree_with_one_after_the_other() -> None:
    replies = [GOOD, DIRECTIVE, PROMISE, GERMAN] * 5
    guard = Guard()

    async def all_at_once() -> list[str]:
        return [found.action for found in await asyncio.gather(*(guard.review_async(USER, one) for one in replies))]

    assert asyncio.run(all_at_once()) == [guard.review(USER, one).action for one in replies]


def test_a_review_does_not_hold_up_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    guard, waiting = Guard(), threading.Event()
    real = guard.look_at

    def slow(*given: Any) -> Any:
        assert waiting.wait(10), "the loop was held up"
        return real(*given)

    monkeypatch.setattr(guard, "look_at", slow)

    async def both() -> str:
        review = asyncio.ensure_future(guard.review_async(USER, GOOD))
        await asyncio.sleep(0)
        waiting.set()
        return (await review).action

    began = time.monotonic()
    assert asyncio.run(both()) == "passed"
    assert time.monotonic() - began < 10
