"""Whole conversations before a guard: the last reply is judged, what was said before decides what may be done."""

from typing import Any

import pytest
from guard_samples import CRISIS, DIRECTIVE, GOOD, PROMISE, USER, never

from synthesis import Guard
from synthesis.errors import OptionError
from synthesis.model import Turn

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
    assert [outcome.first.checks[name].outcome for name in guard.checks] == ["pass", "fail"]


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
