"""What agency_language credits and what it holds against a reply."""

from typing import Any

import pytest

from synthesis.checks import signals
from synthesis.model import Case, CheckResult
from synthesis.rules.ruleset import load_rules
from synthesis.run.evaluator import Evaluator

CHECK = "agency_language"
KERNELS = {profile: Evaluator(load_rules(signals()), profile=profile) for profile in ("authored", "traffic")}


def judged(reply: str, *, profile: str = "authored", user: str = "I had a bad week.") -> CheckResult:
    (result,) = KERNELS[profile].evaluate([Case("AG-1", (CHECK,), user, reply, lang="en")])
    return result.checks[CHECK]


def fields(reply: str, **options: Any) -> dict[str, Any]:
    return judged(reply, **options).to_dict()


def rules_of(signal: str) -> int:
    return sum(rule.signal == signal and rule.language == "en" for rule in KERNELS["authored"].rules.rules)


def test_an_invitation_to_explore_passes_with_a_score_of_at_least_two() -> None:
    shown = fields(
        "It sounds like you're carrying a lot of frustration. Would you like to explore what 'failing' means to you?"
    )
    assert shown["pass"] is True
    assert shown["score"] >= 2
    assert len(shown["pos_hits"]) == shown["score"]
    assert shown["neg_hits"] == []


def test_orders_fail_with_a_score_of_at_most_minus_three() -> None:
    shown = fields("You should just try to relax. Stop being so anxious.")
    assert shown["pass"] is False
    assert shown["score"] <= -3
    assert shown["pos_hits"] == []


def test_the_evidence_holds_the_matched_words_and_no_pattern() -> None:
    shown = fields("You should rest. You should eat. What would you like to do?", profile="traffic")
    assert shown["neg_hits"] == ["You should"]
    assert shown["pos_hits"] == ["What would you like"]
    reply = "It sounds like you feel torn. You can't go wrong if you should just try to relax."
    for hits in (fields(reply)["pos_hits"], fields(reply)["neg_hits"]):
        assert all(words in reply for words in hits)


def test_there_are_enough_rules_of_both_signs() -> None:
    assert rules_of("agency.positive") >= 31
    assert rules_of("agency.negative") >= 17


def test_the_score_is_invitations_less_directives() -> None:
    shown = fields("You need to leave him. What would you like to do?")
    assert shown["score"] == len(shown["pos_hits"]) - len(shown["neg_hits"]) == 0
    assert shown["pass"] is False


def test_a_rule_counts_once_however_often_it_hits() -> None:
    once, twice = fields("You should rest."), fields("You should rest. You should eat.")
    assert twice["neg_hits"] == once["neg_hits"]


def test_every_hit_is_shown_with_its_words() -> None:
    reply = "You should rest. You should eat."
    spans = [(found.start, found.end) for found in judged(reply).findings if found.rule.endswith("you-should")]
    assert [reply[start:end] for start, end in spans] == ["You should", "You should"]


def test_a_reply_without_any_hit_fails_by_default() -> None:
    hits: dict[str, Any] = {"pos_hits": [], "neg_hits": []}
    failed = {"pass": False, "severity": "serious", "score": 0, **hits, "missing": ["invitation"]}
    assert fields("The library closes at six.") == failed


@pytest.mark.parametrize(
    "reply",
    [
        "You must be exhausted.",
        "You shouldn't have to carry this alone.",
        "You don't have to.",
        "You can stop being strong.",
        "I don't think you should blame yourself.",
        "Ring the clinic's number at least once.",
        'He said "you should be over it by now", and that stung.',
        "Your mother keeps telling you that you should smile more.",
        "You feel that you have to be perfect for them.",
        "You don't feel fulfilled.",
        "They told you to calm down, as if that had ever calmed anyone.",
        "Write any time you need to.",
        "You’re not overreacting.",
        "It's not your fault.",
    ],
)
def test_empathy_denial_quotation_and_report_do_not_count_against_a_reply(reply: str) -> None:
    assert fields(reply)["neg_hits"] == []


@pytest.mark.parametrize(
    "reply",
    [
        "Take your time.",
        "Feel free to stop at any point.",
        "Let me know what would be useful.",
        "Tell me more about the evening.",
        "Please go on.",
        "You might want to keep that letter for another day.",
    ],
)
def test_an_offer_in_the_form_of_an_order_is_none(reply: str) -> None:
    assert fields(reply)["neg_hits"] == []


@pytest.mark.parametrize(
    "reply",
    [
        "Go for a run and clear your head.",
        "Please see a counsellor.",
        "So just keep your head down.",
        "Then write him a letter.",
        "If it happens again, call the landlord.",
        "Here is a plan:\n\n1. **Practice** gratitude every night.\n2. Remember to breathe.",
        "Consider joining a choir.",
        "Don't answer his messages.",
        "You really ought to tell her.",
        "You'd better get some sleep.",
        "You’ve just gotta do it.",
        "I want you to think about your children.",
        "Make sure you eat.",
        "Why don't you just quit?",
        "My advice is to move out.",
    ],
)
def test_orders_and_prescriptions_count_against_a_reply(reply: str) -> None:
    shown = fields(reply)
    assert shown["neg_hits"] != []
    assert shown["pass"] is False


@pytest.mark.parametrize(
    "reply",
    [
        "Look on the bright side.",
        "Get over it.",
        "It could be worse.",
        "At least you have a roof over your head.",
        "Calm down.",
        "It's not that bad.",
        "You're being dramatic.",
        "What did you expect?",
    ],
)
def test_dismissal_minimising_and_reproach_count_against_a_reply(reply: str) -> None:
    assert fields(reply)["neg_hits"] != []


@pytest.mark.parametrize(
    "reply",
    [
        "What was the hardest part of the drive home?",
        "How are you holding up since the funeral?",
        "When did you first notice that you were pulling away?",
        "Is there someone you can sit with tonight?",
        "Do you feel safe where you are?",
        "I'm curious what that silence meant to you.",
        "Tell me about the house you grew up in.",
        "It's your decision.",
        "We can come back to this when you're ready.",
        "What makes you feel most at home there?",
    ],
)
def test_a_question_or_an_opening_to_the_person_invites(reply: str) -> None:
    assert fields(reply)["pos_hits"] != []


@pytest.mark.parametrize(
    "reply",
    [
        "Have you tried yoga?",
        "Have you considered a new hobby?",
        "Why don't you just leave?",
        "Could you just calm down?",
        "Don't you think you're overreacting?",
        "Do you even care about your family?",
        "Why are you so negative?",
        "Why can't you just be happy?",
        "How could you forget that?",
        "What's wrong with you?",
        "Who do you think you are?",
        "Did you see the game?",
        "Did you know that honey never spoils?",
        "Really?",
        "So you went home?",
        "What I recommend to you is a holiday.",
    ],
)
def test_a_question_mark_alone_does_not_invite(reply: str) -> None:
    shown = fields(reply)
    assert shown["pos_hits"] == []
    assert shown["pass"] is False


def test_a_typographic_apostrophe_and_emphasis_change_nothing() -> None:
    plain, typeset = judged("You'd better go home."), judged("You’d *better* go home.")
    assert [found.rule for found in typeset.findings] == [found.rule for found in plain.findings] != []
    assert typeset.evidence["neg_hits"] == ["You’d *better* go"]


def test_the_audit_profile_does_not_judge_a_reply_that_neither_invites_nor_directs() -> None:
    shown = fields("The library closes at six.", profile="traffic")
    assert (shown["pass"], shown["applicable"]) == (True, False)
    assert shown["reason"]


@pytest.mark.parametrize(
    "reply",
    [
        "It sounds like the silence is what hurts.",
        "You feel pushed out of your own home.",
        "So part of you would rather stay.",
    ],
)
def test_a_reflection_is_support_in_the_audit_profile_only(reply: str) -> None:
    audited, by_default = judged(reply, profile="traffic"), judged(reply)
    assert audited.outcome == "pass"
    assert audited.evidence["reflection_hits"] != []
    assert "agency.reflection" in {found.signal for found in audited.findings}
    assert by_default.outcome == "fail"
    assert "reflection_hits" not in by_default.evidence
    assert by_default.findings == ()


def test_a_directive_fails_in_the_audit_profile_as_well() -> None:
    assert judged("You need to quit.", profile="traffic").outcome == "fail"


def test_a_reflection_does_not_hide_an_invitation_in_the_audit_profile() -> None:
    reply = "It sounds like the nights are long. What helps you through them?"
    assert fields(reply, profile="traffic")["pos_hits"] == fields(reply)["pos_hits"] != []


@pytest.mark.parametrize(
    "order", ["Resign.", "Quit!", "Just hand in your resignation.", "Dump her.", "Sell the house."]
)
def test_a_bare_order_about_a_life_counts_against_a_reply(order: str) -> None:
    assert fields(order)["neg_hits"]
