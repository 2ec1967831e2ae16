"""Replies that are sent piece by piece: what is held back, where a stream stops, and where it must not."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from guard_samples import CRISIS, DIRECTIVE, GOOD, HELP, PROMISE, USER
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesis import Guard
from synthesis.guard import LOOK_AHEAD, GuardedStream

FALLBACK = "Let me put that differently."


def fed(stream: GuardedStream, text: str, size: int = 5) -> str:
    """What a stream passes on of a text, its end included."""
    pieces = [stream.feed(text[start : start + size]) for start in range(0, len(text), size)]
    return "".join([*pieces, stream.flush()])


@pytest.fixture(scope="module")
def stopping() -> Guard:
    return Guard(on_fail="fallback", fallback=FALLBACK)


@pytest.fixture(scope="module")
def for_crises() -> Guard:
    return Guard(crisis_fallback=HELP)


def test_the_sentence_that_is_being_written_is_held_back(stopping: Guard) -> None:
    stream = stopping.stream(USER)
    assert stream.feed("That sounds really hard") == ""
    assert stream.feed(". ") == ""
    assert stream.feed("What happened then") == "That sounds really hard."
    assert stream.feed("?") == ""
    assert stream.flush() == " What happened then?"
    assert (stream.sent, stream.stopped) == ("That sounds really hard. What happened then?", False)


@pytest.mark.parametrize("size", [1, 5, 500])
def test_a_failing_sentence_is_never_sent_and_the_fallback_ends_the_stream(stopping: Guard, size: int) -> None:
    stream = stopping.stream(USER)
    assert fed(stream, PROMISE, size) == f"I hear you. {FALLBACK}"
    assert (stream.stopped, stream.stopped_by, stream.fallback) == (True, "unverifiable_reassurance", FALLBACK)
    assert stream.sent == f"I hear you. {FALLBACK}"


def test_a_failing_last_sentence_is_replaced_at_the_end(stopping: Guard) -> None:
    stream = stopping.stream(USER)
    assert stream.feed("I hear you. You'll definitely be fine.") == "I hear you."
    assert stream.flush() == f" {FALLBACK}"
    assert stream.flush() == ""


@pytest.mark.parametrize(
    ("user", "reply", "check"),
    [
        (USER, "You'll definitely be fine.", "unverifiable_reassurance"),
        (USER, "I'm a licensed therapist and I have seen this many times.", "identity_claim"),
        (USER, "You don't need anyone else, you have me.", "engagement_pressure"),
        (USER, "Take 40 mg of fluoxetine every morning.", "clinical_scope"),
        (USER, "You are a genius, and the world has never seen a mind like yours.", "flattery"),
        (USER, "You should kill yourself.", "crisis_response"),
        ("Are you a real person?", "Yes, I'm a real human being.", "disclosure"),
    ],
)
def test_every_check_that_a_part_decides_stops_a_stream(user: str, reply: str, check: str) -> None:
    stream = Guard([check], on_fail="fallback", fallback=FALLBACK).stream(user)
    assert fed(stream, f"{reply} And that is all there is to say about it.") == FALLBACK
    assert stream.stopped_by == check
    assert stream.close().failed_checks == [check]


@pytest.mark.parametrize(
    ("user", "reply", "check"),
    [
        (USER, DIRECTIVE, "agency_language"),
        (USER, "Anyway, pottery is popular. Have you seen the new course on Fridays?", "topic_pivot"),
        ("Are you a real person?", "What a question. Let us get back to your essay.", "disclosure"),
        (
            "I have to go now, bye.",
            "Please don't go yet. I was just about to tell you something.",
            "engagement_pressure",
        ),
    ],
)
def test_what_only_the_whole_reply_tells_is_reported_at_the_end(user: str, reply: str, check: str) -> None:
    stream = Guard([check], on_fail="fallback", fallback=FALLBACK).stream(user)
    assert fed(stream, reply) == reply
    assert not stream.stopped
    assert stream.close().failed_checks == [check]


def test_a_sentence_that_is_still_open_stops_no_stream(stopping: Guard) -> None:
    pieces = ["That is good news. You will be happy", " to hear that the line is free tonight. ", "What do you think?"]
    assert fed(stopping.stream(USER), "".join(pieces), 20) == "".join(pieces)


def test_earlier_messages_decide_what_a_sentence_is(stopping: Guard) -> None:
    claim = "I'm a licensed therapist and I have seen this many times. Tell me more about it."
    part = [
        {"role": "user", "content": "Let's role-play: you are my therapist."},
        {"role": "assistant", "content": "Welcome. What brings you here?"},
        {"role": "user", "content": USER},
    ]
    assert fed(Guard(["identity_claim"], on_fail="fallback", fallback=FALLBACK).stream(part), claim) == claim
    assert fed(Guard(["identity_claim"], on_fail="fallback", fallback=FALLBACK).stream(part[2:]), claim) == FALLBACK


@pytest.mark.parametrize("size", [1, 7, 500])
def test_in_a_crisis_a_stream_is_never_cut_short(stopping: Guard, size: int) -> None:
    stream = stopping.stream(CRISIS)
    assert stream.in_crisis
    assert fed(stream, PROMISE, size) == PROMISE


def test_a_reply_for_crises_ends_a_stream_that_does_harm(for_crises: Guard) -> None:
    stream = for_crises.stream(CRISIS)
    text = "I hear you. You don't need anyone else, you have me. Stay here and forget the phone."
    assert fed(stream, text) == f"I hear you. {HELP}"
    assert stream.stopped_by in {"crisis_response", "engagement_pressure"}


def test_a_reply_for_crises_follows_one_that_names_no_help(for_crises: Guard) -> None:
    stream = for_crises.stream(CRISIS)
    assert fed(stream, "I hear you. What is it like?") == f"I hear you. What is it like?\n\n{HELP}"
    assert stream.stopped_by == "crisis_response"
    answered = for_crises.stream(CRISIS)
    assert fed(answered, HELP) == HELP
    assert not answered.stopped


def test_a_guard_that_only_flags_holds_nothing_back() -> None:
    stream = Guard().stream(USER)
    assert stream.feed(PROMISE) == PROMISE
    assert stream.flush() == ""
    verdict = stream.close()
    assert verdict.failed
    assert verdict.reply == PROMISE


def test_a_stopped_stream_stays_stopped_and_its_verdict_is_on_what_was_written(stopping: Guard) -> None:
    stream = stopping.stream(USER)
    assert stream.feed(PROMISE) == f"I hear you. {FALLBACK}"
    assert (stream.feed("More."), stream.flush()) == ("", "")
    assert stream.close().reply == PROMISE


def test_a_stream_without_a_fallback_just_ends() -> None:
    stream = Guard(on_fail="regenerate", regenerate=lambda *_: GOOD).stream(USER)
    assert fed(stream, PROMISE) == "I hear you. "
    assert stream.stopped


def test_the_fallback_may_be_a_function_or_be_set_on_the_stream(stopping: Guard) -> None:
    stream = Guard(on_fail="fallback", fallback=lambda user: f"About “{user}”").stream(USER)
    assert fed(stream, PROMISE) == f"I hear you. About “{USER}”"
    own = stopping.stream(USER)
    own.fallback = "One moment."
    assert fed(own, PROMISE) == "I hear you. One moment."


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
        "I'm a human being",
        "You are a genius",
        "That is a great point",
        "You don't need anyone else",
        "Please don't go",
        "Take 40 mg of it",
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
        "Take care, and come back any time.",
        "Are you safe right now?",
        "I am an AI, after all.",
    ]
)


@given(st.lists(st.tuples(openings | more, turns), min_size=1, max_size=4), st.integers(1, 9), more)
@settings(max_examples=300, deadline=None)
def test_no_later_text_can_undo_what_stopped_a_stream(
    stopping: Guard, sentences: list[tuple[str, str]], size: int, later: str
) -> None:
    text = "".join(part for pair in sentences for part in pair)
    stream = stopping.stream(USER)
    for start in range(0, len(text), size):
        stream.feed(text[start : start + size])
    if stream.stopped_by:
        for whole in (text, text + later, stream.close().reply + later):
            assert stream.stopped_by in stopping.look_at(USER, whole).failed_checks, (stream.sent, whole)


@given(st.text(alphabet='abc .!?\n"“”()', max_size=80), st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_nothing_of_a_reply_that_passes_is_lost(stopping: Guard, text: str, size: int) -> None:
    assert fed(stopping.stream(USER), text, size) == text


def test_no_more_than_a_sentence_is_held_back(stopping: Guard) -> None:
    text = "That sounds hard. " * 40
    stream = stopping.stream(USER)
    for place in range(len(text)):
        stream.feed(text[place])
        assert len(text[: place + 1]) - len(stream.sent) <= 2 * len("That sounds hard. ") + LOOK_AHEAD


def pass_on(guard: Guard, user: Any, text: str) -> str:
    async def pieces() -> AsyncIterator[str]:
        for start in range(0, len(text), 5):
            yield text[start : start + 5]

    async def passed_on() -> str:
        return "".join([piece async for piece in guard.stream(user).pass_on(pieces())])

    return asyncio.run(passed_on())


@pytest.mark.parametrize("text", [PROMISE, GOOD, "I hear you. You'll definitely be fine."])
def test_an_async_stream_passes_on_the_same(stopping: Guard, text: str) -> None:
    talk = [{"role": "user", "content": USER}]
    assert pass_on(stopping, talk, text) == fed(stopping.stream(USER), text)


def test_beside_an_event_loop_the_fallback_may_be_a_coroutine() -> None:
    async def write(user: Any) -> str:
        await asyncio.sleep(0)
        return FALLBACK

    assert pass_on(Guard(on_fail="fallback", fallback=write), USER, PROMISE) == f"I hear you. {FALLBACK}"
