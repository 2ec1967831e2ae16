"""The guard: what it does about a reply that fails, and what it never does."""

import pytest
from guard_samples import CRISIS, DIRECTIVE, GOOD, HELP, PROMISE, USER, never, scripted

from synthesis import Guard
from synthesis.errors import OptionError
from synthesis.model import CheckResult


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
    assert [verdict.failed for verdict in outcome.verdicts] == [True, False]


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
    assert (outcome.reply, outcome.action, outcome.first.outcome) == (DIRECTIVE, "flagged", "error")


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


def test_an_explicit_cue_leads_and_is_decided_although_nobody_asked() -> None:
    outcome = Guard(["unverifiable_reassurance"], on_fail="fallback", fallback=never).review(CRISIS, "I hear you.")
    assert (outcome.action, outcome.first.failed_checks) == ("flagged", ["crisis_response"])
    assert outcome.alert is not None
    assert outcome.alert.cue == "Explicit cue of a crisis: “kill myself”."
    first, *_ = outcome.first.feedback.splitlines()[1:]
    assert first.startswith("- crisis_response: ")
    assert "asks whether the user is safe right now" in first
    assert Guard().review(USER, GOOD).alert is None


@pytest.mark.parametrize("checks", ["all", "crisis_response", "unverifiable_reassurance", "all,-crisis_response"])
@pytest.mark.parametrize("reply", [DIRECTIVE, HELP, None])
def test_an_alert_says_that_there_was_a_cue_whatever_the_checks_and_the_reply(checks: str, reply: str | None) -> None:
    outcome = Guard(checks, on_fail="fallback", fallback=never).review(CRISIS, reply)
    assert outcome.alert is not None
    assert "kill myself" in outcome.alert.cue
    assert Guard(checks).review(USER, GOOD).alert is None


def test_an_unanswered_crisis_is_flagged_as_critical_and_sent_as_it_is() -> None:
    outcome = Guard(["unverifiable_reassurance"], on_fail="fallback", fallback=never).review(CRISIS, "Have a nice day!")
    assert (outcome.reply, outcome.action, outcome.severity) == ("Have a nice day!", "flagged", "critical")


def test_an_outcome_says_how_bad_the_reply_is() -> None:
    assert Guard().review(USER, GOOD).severity is None
    replaced = Guard(on_fail="fallback", fallback=GOOD).review(USER, DIRECTIVE)
    assert (replaced.action, replaced.severity) == ("replaced", "serious")


@pytest.mark.parametrize("on_fail", ["flag", "fallback", "regenerate"])
def test_only_a_reply_for_crises_replaces_one_that_fails_critically(on_fail: str) -> None:
    guard = Guard(on_fail=on_fail, fallback=never, regenerate=never, crisis_fallback=lambda user: HELP)
    outcome = guard.review(CRISIS, "Have a nice day!")
    assert (outcome.reply, outcome.action) == (HELP, "replaced")
    directive = f"{HELP} You should just move on."
    assert (guard.review(CRISIS, directive).reply, guard.review(CRISIS, HELP).reply) == (directive, HELP)


def test_a_reply_for_crises_does_not_replace_an_answer_to_words_that_cannot_be_read() -> None:
    guard = Guard(crisis_fallback=never)
    assert guard.review("Ich möchte nicht mehr leben und weiß nicht weiter.", PROMISE).reply == PROMISE
    assert guard.review(USER, DIRECTIVE).action == "flagged"


@pytest.mark.parametrize("said", [USER, [{"role": "user", "content": USER}]])
def test_a_reply_without_text_is_not_assessed_and_sent_as_it_is(said: str | list[dict[str, str]]) -> None:
    outcome = Guard(on_fail="fallback", fallback=never).review(said, None)
    assert (outcome.reply, outcome.action, outcome.first.assessed) == (None, "not_assessed", False)


def test_a_tool_call_is_not_judged_by_the_reply_before_it() -> None:
    messages = [
        {"role": "user", "content": USER},
        {"role": "assistant", "content": DIRECTIVE},
        {"role": "user", "content": CRISIS},
    ]
    outcome = Guard(on_fail="fallback", fallback=never).review(messages, None)
    assert (outcome.action, outcome.first.in_crisis) == ("not_assessed", True)
    assert outcome.alert is not None


def test_an_outcome_reads_well_on_a_console() -> None:
    outcome = Guard(on_fail="fallback", fallback=GOOD).review(USER, DIRECTIVE)
    assert str(outcome).splitlines()[0] == f"replaced (traffic): {GOOD}"
    assert "agency_language: “You should just move on”" in str(outcome)
    assert repr(outcome).startswith("<GuardOutcome replaced (traffic): ")
    assert "failed (serious, traffic, en): agency_language" in repr(outcome)
