"""The bundled packs prove themselves, say enough, and are as broad as promised."""

from collections import Counter

import pytest

from synthesis.checks import signals
from synthesis.rules.authoring import costs, example_failures, lint, unproven
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


@pytest.mark.parametrize("language", RULES.languages)
def test_every_example_does_what_its_rule_says(language: str) -> None:
    own = [rule for rule in RULES.rules if rule.language == language]
    assert list(map(str, example_failures(RULES, SIGNALS, own))) == []


@pytest.mark.parametrize("language", RULES.languages)
def test_every_line_of_every_rule_has_an_example(language: str) -> None:
    own = [rule for rule in RULES.rules if rule.language == language]
    assert list(map(str, unproven(RULES, SIGNALS, own))) == []


def test_as_many_rules_as_promised() -> None:
    counts = Counter((rule.language, rule.signal) for rule in RULES.rules if rule.severity == "fail")
    promised = {(language, signal): least for language in RULES.languages for signal, least in PROMISED.items()}
    assert {pair: counts[pair] for pair, least in promised.items() if counts[pair] < least} == {}


def test_pivot_indicators_come_in_four_groups() -> None:
    groups = {(rule.language, rule.group) for rule in RULES.rules if rule.signal == "pivot.indicator"}
    assert groups == {(language, group) for language in RULES.languages for group in PIVOT_GROUPS}


def test_the_linter_has_nothing_to_say() -> None:
    assert [str(message) for message in lint(RULES, {})] == []


@pytest.mark.slow
def test_no_pattern_costs_more_than_half_of_what_is_allowed() -> None:
    assert [str(message) for message in lint(RULES, costs(RULES))] == []


def test_the_hash_changes_with_a_rule_and_with_nothing_else() -> None:
    again = load_rules(SIGNALS)
    fewer = load_rules(SIGNALS, disabled=[RULES.rules[0].id])
    assert again.hash == RULES.hash != fewer.hash
