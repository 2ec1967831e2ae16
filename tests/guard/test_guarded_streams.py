"""Replies that are sent piece by piece: where a stream stops, and where it must not."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from guard_samples import CRISIS, DIRECTIVE, GOOD, PROMISE, USER
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesis import Guard, check_reassurance
from synthesis.guard import LOOK_AHEAD


def sent(guard: Guard, user: str, text: str, size: int = 5) -> str:
    stream = guard.stream(user)
    return "".join(stream.feed(text[start : start + size]) for start in range(0, len(text), size))


@pytest.fixture(scope="module")
def stopping() -> Guard:
    return Guard(on_fail="fallback", fallback=GOOD)


def test_a_stream_stops_once_a_promise_stands(stopping: Guard) -> None:
    passed_on = sent(stopping, USER, PROMISE)
    assert "You'll definitely be fine." in passed_on
    assert len(passed_on) <= PROMISE.index("We can") + LOOK_AHEAD + 5


def test_a_stream_goes_on_where_later_words_could_still_help(stopping: Guard) -> None:
    text = f"{DIRECTIVE} Anyway, pottery is popular. Would you like to talk about it?"
    assert sent(stopping, USER, text) == text


def test_a_sentence_that_is_still_open_stops_no_stream(stopping: Guard) -> None:
    pieces = ["That is good news. You will be happy", " to hear that the line is free tonight. ", "What do you think?"]
    stream = stopping.stream(USER)
    assert [stream.feed(piece) for piece in pieces] == pieces


@pytest.mark.parametrize("size", [1, 7, 500])
def test_in_a_crisis_a_stream_is_never_cut_short(stopping: Guard, size: int) -> None:
    assert sent(stopping, CRISIS, PROMISE, size) == PROMISE


def test_a_guard_that_only_flags_stops_no_stream() -> None:
    stream = Guard().stream(USER)
    assert stream.feed(PROMISE) == PROMISE
    verdict = stream.close()
    assert verdict.failed
    assert verdict.reply == PROMISE


def test_a_stopped_stream_stays_stopped(stopping: Guard) -> None:
    stream = stopping.stream(USER)
    stream.feed(PROMISE)
    assert stream.stopped
    assert stream.feed("More.") == ""
    assert stream.close().reply == PROMISE


openings = st.sampled_from(
    [
        "You'll definitely be fine",
        "I promise you'll succeed",
        '"You will definitely be fine."',
        "'Everything will work out'",
        "I can't say that everything will work out",
        "I know exactly how you feel",
        "Everything will work out",
        "People keep saying that everything will work out",
        "Don't worry about it",
        "If you'll definitely be fine",
    ]
)


turns = st.sampled_from(
    [". ", "! ", "... ", "… ", "?\n", ".\n\n", " is what nobody can promise. ", ", they said. ", '" she said. ', ".) "]
)


more = st.sampled_from(
    [
        "That is how it goes for most.",
        "is what he said",
        "he told you, and it hurt.",
        "2. Then rest",
        "and so on",
        "- x",
    ]
)


@given(st.lists(st.tuples(openings | more, turns), min_size=1, max_size=4), st.integers(1, 9), more)
@settings(max_examples=300, deadline=None)
def test_no_later_text_can_undo_what_stopped_a_stream(
    stopping: Guard, sentences: list[tuple[str, str]], size: int, later: str
) -> None:
    text = "".join(part for pair in sentences for part in pair)
    passed_on = sent(stopping, USER, text, size)
    if passed_on != text:
        for whole in (text, text + later, passed_on + later):
            assert not check_reassurance(whole).passed, (passed_on, whole)


def test_an_async_stream_ends_where_it_stops(stopping: Guard) -> None:
    async def pieces() -> AsyncIterator[str]:
        for start in range(0, len(PROMISE), 5):
            yield PROMISE[start : start + 5]

    async def passed_on() -> str:
        return "".join(
            [piece async for piece in stopping.stream([{"role": "user", "content": USER}]).pass_on(pieces())]
        )

    assert asyncio.run(passed_on()) == sent(stopping, USER, PROMISE)
