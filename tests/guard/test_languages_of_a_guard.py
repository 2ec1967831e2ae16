"""What a guard does with words it cannot read, and the language in which it tells what to change."""

import pytest
from guard_samples import DIRECTIVE, GERMAN, GOOD, USER, never, scripted

from synthesis import Guard
from synthesis.checks.registry import checks, rules_in_force
from synthesis.rules.ruleset import bundled_languages


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
    texts = rules_in_force().texts(language)
    assert lead == texts.lead
    assert "“You should just move on”" in review.feedback
    if language != "en":
        assert any(line.endswith(texts.feedback["agency_language"]) for line in lines)
        assert "Ask what keeps the feeling going" not in review.feedback


@pytest.mark.parametrize("language", bundled_languages())
def test_every_check_has_a_sentence_in_every_language(language: str) -> None:
    own = {name for name, check in checks().items() if check.decide.__module__.startswith("synthesis.")}
    texts = rules_in_force().texts(language)
    assert set(texts.feedback) == own
    assert texts.lead
    assert all(len(sentence) <= 120 for sentence in texts.feedback.values())
