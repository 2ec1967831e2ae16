"""The bundled packs prove themselves, say enough, and are as broad as promised."""

from collections import Counter

import pytest

from synthesis.checks import signals
from synthesis.rules.authoring import example_failures
from synthesis.rules.lint import costs, lint
from synthesis.rules.ruleset import load_rules

SIGNALS = signals()
RULES = load_rules(SIGNALS)
PROMISED = {
    "agency.positive": 31,
    "agency.negative": 17,
    "reassurance.mind_reading": 13,
    "reassurance.guarantee": 18,
    "pivot.vulnerability": 51,
    "pivot.acknowledgment": 29,
    "pivot.follow_up": 14,
}
PIVOT_GROUPS = {"topic-changer", "unrelated-advice", "generic-advice", "list-style"}


OF_A_SIGNAL = sorted({(rule.language, rule.signal) for rule in RULES.rules})


@pytest.mark.parametrize(("language", "signal"), OF_A_SIGNAL, ids=["-".join(pair) for pair in OF_A_SIGNAL])
def test_every_example_does_what_its_rule_says(language: str, signal: str) -> None:
    own = [rule for rule in RULES.rules if (rule.language, rule.signal) == (language, signal)]
    assert list(map(str, example_failures(RULES, SIGNALS, own))) == []


@pytest.mark.parametrize(("signal", "least"), PROMISED.items())
@pytest.mark.parametrize("language", RULES.languages)
def test_as_many_rules_as_promised(language: str, signal: str, least: int) -> None:
    counts = Counter(rule.signal for rule in RULES.rules if rule.language == language and rule.severity == "fail")
    assert counts[signal] >= least


@pytest.mark.parametrize("language", RULES.languages)
def test_pivot_indicators_come_in_four_groups(language: str) -> None:
    groups = {r.group for r in RULES.rules if r.language == language and r.signal == "pivot.indicator"}
    assert groups == PIVOT_GROUPS


def test_the_linter_has_nothing_to_say() -> None:
    assert [str(message) for message in lint(RULES, {})] == []


@pytest.mark.slow
def test_no_pattern_costs_more_than_half_of_what_is_allowed() -> None:
    assert [str(message) for message in lint(RULES, costs(RULES))] == []


def test_the_hash_changes_with_a_rule_and_with_nothing_else() -> None:
    again = load_rules(SIGNALS)
    fewer = load_rules(SIGNALS, disabled=[RULES.rules[0].id])
    assert again.hash == RULES.hash != fewer.hash
