"""The guard: what it does about a reply that fails, and what it never does."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesis import Guard, check_reassurance
from synthesis.errors import OptionError
from synthesis.guard.stream import LOOK_AHEAD
from synthesis.model import CheckResult, Turn
from synthesis.report.feedback import LEAD, MEND

USER = "I lost my job and I feel awful."
CRISIS = "I want to kill myself tonight."
GOOD = "I'm sorry, that sounds really hard. Would you like to talk about what happened?"
DIRECTIVE = "You should just move on."
PROMISE = "I hear you. You'll definitely be fine. We can go on talking about it for as long as you like."


def never(*_: str) -> str:
    raise AssertionError("not to be called")


def scripted(*replies: str) -> tuple[Callable[[str, str, str], str], list[tuple[str, str]]]:
    """A writer that gives these replies one after the other, and what it was told."""
    told: list[tuple[str, str]] = []

    def write(user: str, reply: str, feedback: str) -> str:
        told.append((reply, feedback))
        return replies[len(told) - 1]

    return write, told


def test_a_good_reply_passes_untouched() -> None:
    outcome = Guard(on_fail="regenerate", regenerate=never, fallback=never).review(USER, GOOD)
    assert (outcome.reply, outcome.action, outcome.first.feedback) == (GOOD, "passed", "")


def test_flagging_keeps_the_reply_and_says_what_is_wrong() -> None:
    outcome = Guard().review(USER, DIRECTIVE)
    assert (outcome.reply, outcome.action) == (DIRECTIVE, "flagged")
    assert "You should" in outcome.first.feedback
    rules = {remark.rule for remark in outcome.first.remarks}
    assert "agency.negative.told-to-get-over-it" in rules
    assert all(remark.instead for remark in outcome.first.remarks)


def test_a_reply_is_written_again_from_the_feedback() -> None:
    write, told = scripted(GOOD)
    outcome = Guard(on_fail="regenerate", regenerate=write).review(USER, DIRECTIVE)
    assert (outcome.reply, outcome.action) == (GOOD, "regenerated")
    assert told[0][0] == DIRECTIVE
    assert "agency.negative.told-to-get-over-it" in told[0][1]
    assert [review.failed for review in outcome.reviews] == [True, False]


def test_writing_again_is_bounded_and_then_the_fallback_stands_in() -> None:
    write, told = scripted(DIRECTIVE, DIRECTIVE, DIRECTIVE)
    guard = Guard(on_fail="regenerate", regenerate=write, fallback=lambda user: f"About this: {user}", attempts=3)
    outcome = guard.review(USER, DIRECTIVE)
    assert len(told) == 3
    assert (outcome.reply, outcome.action) == (f"About this: {USER}", "replaced")


def test_without_a_fallback_the_reply_with_least_against_it_is_flagged() -> None:
    worse = "You should just move on. Stop being so sad. I promise you'll be fine."
    write, _ = scripted(DIRECTIVE, worse)
    outcome = Guard(on_fail="regenerate", regenerate=write).review(USER, worse)
    assert (outcome.reply, outcome.action) == (DIRECTIVE, "flagged")


def test_the_fallback_replaces_a_reply_that_fails() -> None:
    outcome = Guard(on_fail="fallback", fallback=GOOD).review(USER, DIRECTIVE)
    assert (outcome.reply, outcome.action) == (GOOD, "replaced")


@pytest.mark.parametrize("user", [CRISIS, "Ich möchte nicht mehr leben und weiß nicht weiter."])
@pytest.mark.parametrize("on_fail", ["regenerate", "fallback"])
def test_nothing_is_withheld_in_a_crisis_or_from_words_that_cannot_be_read(user: str, on_fail: str) -> None:
    guard = Guard(("unverifiable_reassurance",), on_fail, regenerate=never, fallback=never)
    outcome = guard.review(user, PROMISE)
    assert (outcome.reply, outcome.action) == (PROMISE, "flagged")


def test_a_step_towards_safety_is_no_reason_to_write_again() -> None:
    reply = "I'm really glad you told me. You need to call 988 right now. Would you like me to stay while you do?"
    outcome = Guard(("agency_language",), "regenerate", regenerate=never).review(CRISIS, reply)
    assert outcome.action == "passed"


def test_an_error_of_a_check_flags_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from synthesis.checks import registry

    def broken(exchange: registry.Exchange) -> CheckResult:
        raise RuntimeError("no verdict today")

    registry.checks()
    monkeypatch.setitem(registry._registered, "broken", registry.Check("broken", "broken", "t", broken))
    outcome = Guard(("broken",), "fallback", fallback=never).review(USER, DIRECTIVE)
    assert (outcome.reply, outcome.action, outcome.first.result.outcome) == (DIRECTIVE, "flagged", "error")


BAD_OPTIONS = [
    {"checks": ("agency",)},
    {"on_fail": "explode"},
    {"on_fail": "regenerate"},
    {"on_fail": "fallback"},
    {"attempts": 0},
    {"attempts": 99},
]


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=str)
def test_a_guard_that_makes_no_sense_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        Guard(**options)  # type: ignore[arg-type]


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
    review = stream.close()
    assert review.failed
    assert review.reply == PROMISE


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


def test_an_explicit_cue_leads_and_changes_no_action() -> None:
    outcome = Guard(["unverifiable_reassurance"], on_fail="fallback", fallback=never).review(CRISIS, "I hear you.")
    assert outcome.action == "passed"
    assert outcome.alert is not None
    assert outcome.alert.cue == "Explicit cue of a crisis: “kill myself”."
    first, *_ = outcome.first.feedback.splitlines()[1:]
    assert first.startswith("- crisis_response: ")
    assert "missing: " in first
    assert Guard().review(USER, GOOD).alert is None


def test_a_guard_that_asks_for_crisis_response_has_no_alert_but_stays_careful() -> None:
    guard = Guard(["crisis_response"], on_fail="fallback", fallback=never)
    outcome = guard.review(CRISIS, DIRECTIVE)
    assert (outcome.action, outcome.alert, outcome.first.in_crisis) == ("flagged", None, True)


GERMAN = "Ich bin so traurig seit der Trennung von meiner Frau."
TALK = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": CRISIS},
    {"role": "assistant", "content": DIRECTIVE},
    {"role": "user", "content": [{"type": "text", "text": USER}]},
]


def test_a_conversation_is_judged_by_its_last_reply() -> None:
    guard = Guard(["unverifiable_reassurance", "agency_language"])
    earlier = [{"role": "user", "content": USER}, {"role": "assistant", "content": PROMISE}, Turn("user", USER)]
    assert guard.review(earlier, GOOD).action == "passed", "what was sent before cannot be mended"
    outcome = guard.review(earlier, DIRECTIVE)
    assert outcome.action == "flagged"
    assert {remark.check for remark in outcome.first.remarks} == {"agency_language"}
    assert [outcome.first.result.checks[name].outcome for name in guard.checks] == ["pass", "fail"]


def test_a_cue_earlier_in_the_conversation_still_forbids_to_interfere() -> None:
    guard = Guard(on_fail="fallback", fallback=never)
    outcome = guard.review(TALK, DIRECTIVE)
    assert (outcome.reply, outcome.action, outcome.first.in_crisis) == (DIRECTIVE, "flagged", True)
    assert outcome.alert is not None
    assert "kill myself" in outcome.alert.cue
    assert guard.stream(TALK).feed(PROMISE) == PROMISE


def test_the_writer_is_handed_the_whole_conversation() -> None:
    heard: list[Any] = []

    def write(said: Any, reply: str, feedback: str) -> str:
        heard.append(said)
        return GOOD

    talk = [{"role": "user", "content": USER}]
    assert Guard(on_fail="regenerate", regenerate=write).review(talk, DIRECTIVE).reply == GOOD
    assert heard == [talk]


@pytest.mark.parametrize(
    "messages",
    [[], TALK[:3], [{"role": "wizard", "content": USER}], [{"role": "user", "content": 7}], [{"content": USER}]],
)
def test_messages_that_make_no_sense_are_refused(messages: list[dict[str, Any]]) -> None:
    with pytest.raises(OptionError):
        Guard().review(messages, GOOD)


@pytest.mark.parametrize(
    ("user", "reply"),
    [(GERMAN, "Das tut mir sehr leid. Magst du mehr davon erzählen?"), (GERMAN, GOOD), (USER, GERMAN)],
)
def test_a_language_that_it_cannot_read_is_not_assessed(user: str, reply: str) -> None:
    outcome = Guard(on_fail="fallback", fallback=never).review(user, reply)
    assert (outcome.reply, outcome.action, outcome.first.assessed) == (reply, "not_assessed", False)


def test_a_new_reply_that_cannot_be_read_does_not_hold() -> None:
    write, told = scripted(GERMAN, GERMAN)
    outcome = Guard(on_fail="regenerate", regenerate=write, fallback=GOOD).review(USER, DIRECTIVE)
    assert (outcome.reply, outcome.action, len(told)) == (GOOD, "replaced", 2)
    flagged = Guard(on_fail="regenerate", regenerate=scripted(GERMAN, GERMAN)[0]).review(USER, DIRECTIVE)
    assert (flagged.reply, flagged.action) == (DIRECTIVE, "flagged")


@pytest.mark.parametrize(
    ("language", "user"),
    [
        ("en", USER),
        ("es", "Perdí mi trabajo y me siento fatal."),
        ("fr", "J'ai perdu mon travail et je me sens si mal."),
        ("hi", "मेरी नौकरी चली गई और मुझे बहुत बुरा लग रहा है।"),
        ("it", "Ho perso il lavoro e mi sento malissimo."),
        ("ja", "仕事を失って、とてもつらいです。"),
        ("pt", "Perdi meu emprego e estou me sentindo péssimo."),
        ("zh", "我失业了，心里很难受。"),
    ],
)
def test_feedback_is_in_the_language_of_the_user(language: str, user: str) -> None:
    review = Guard().look_at(user, DIRECTIVE)
    lead, *lines = review.feedback.splitlines()
    assert lead == LEAD[language]
    assert "“You should just move on”" in review.feedback
    if language != "en":
        assert any(line.endswith(MEND["agency_language"][language]) for line in lines)
        assert "Ask what keeps it alive" not in review.feedback


def test_every_check_has_a_sentence_in_every_language() -> None:
    from synthesis.checks.registry import checks

    own = {name for name, check in checks().items() if check.decide.__module__.startswith("synthesis.")}
    assert own == set(MEND)
    assert all(set(sentences) == set(LEAD) - {"en"} for sentences in MEND.values())
    assert all(len(sentence) <= 120 for sentences in MEND.values() for sentence in sentences.values())


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


def test_an_async_stream_ends_where_it_stops(stopping: Guard) -> None:
    async def pieces() -> AsyncIterator[str]:
        for start in range(0, len(PROMISE), 5):
            yield PROMISE[start : start + 5]

    async def passed_on() -> str:
        return "".join(
            [piece async for piece in stopping.stream([{"role": "user", "content": USER}]).pass_on(pieces())]
        )

    assert asyncio.run(passed_on()) == sent(stopping, USER, PROMISE)
