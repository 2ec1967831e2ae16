"""The linter names what a speaker could not review, where it is, and what to do."""

from pathlib import Path

import pytest

from synthesis.checks import signals
from synthesis.rules.authoring import LONGEST_PATTERN, costs, greatest_costs, lint
from synthesis.rules.ruleset import RuleSet, load_rules

LONG = f"zonk ({'|'.join(f'word{n}' for n in range(40))})"
RULE = """
  - id: agency.negative.{name}
    group: mine
    {what}
    why: It is only a test.
    instead: Say something else here.
    match: [Just zonk it., Now zonk it!]
    miss: [Zonk is a word., It zonks.]
"""
RULES = {
    "good": "pattern: zonk (it|him) (it|him)( it)?",
    "escaped": r"pattern: zonk (\(|\)|\(it\||[(|)])",
    "plain": "pattern: zonk (it|him|it)",
    "nested": "pattern: zonk (it|(?:him|it)|her)",
    "spelling": "pattern: zonk (don't|won't|DON’T) go",
    "list": "pattern: zonk (<third_person>|<negator>|<third_person>)",
    "groups": "pattern: (zonk it|zonk (a|b)|zonk (a|b))",
    "condition": "pattern: zonk\n    except: {after: [so (sad|bad|sad)]}",
    "sentence": "sentence: {has: [zonk (sad|bad|sad)]}\n    label: zonks",
    "long": f"pattern: {LONG}",
    "dear": "pattern: zonk a.{0,150}b.{0,150}c",
}
REPEATED = {
    "plain": "it",
    "nested": "it",
    "spelling": "don't",
    "list": "<third_person>",
    "groups": "zonk (a|b)",
    "condition": "sad",
    "sentence": "sad",
}


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> RuleSet:
    folder = tmp_path_factory.mktemp("pack")
    shared = f"lists: {{moods: [sad, glad|sad]}}\nguards: {{gone: {{before: ['{LONG}']}}}}\nrules:"
    rules = (RULE.format(name=name, what=what) for name, what in RULES.items())
    (folder / "pack.yaml").write_text("language: en\nname: mine\nversion: '1'\nlicence: MIT\n", encoding="utf-8")
    (folder / "mine.yaml").write_text(shared + "".join(rules), encoding="utf-8")
    return load_rules(signals(), [folder])


@pytest.fixture(scope="module")
def steps(rules: RuleSet) -> dict[str, dict[str, int]]:
    return costs(rules, below=load_rules(signals()))


@pytest.fixture(scope="module")
def messages(rules: RuleSet, steps: dict[str, dict[str, int]]) -> list[str]:
    return [str(message) for message in lint(rules, steps)]


def on(messages: list[str], place: str) -> list[str]:
    return [message for message in messages if f"{place}: " in message]


def test_what_is_fine_has_no_message(messages: list[str]) -> None:
    assert on(messages, "agency.negative.good") + on(messages, "agency.negative.escaped") == []


@pytest.mark.parametrize(("name", "word"), REPEATED.items())
def test_a_repeated_alternative_is_named(messages: list[str], name: str, word: str) -> None:
    (message,) = on(messages, f"agency.negative.{name}")
    assert f"'{word}' appears 2 times among the alternatives" in message
    assert message.endswith("keep one")


def test_a_pattern_that_is_too_long_to_review_is_named_with_its_place(messages: list[str]) -> None:
    (message,) = on(messages, "agency.negative.long")
    assert Path(message.split(":")[0]).name == "mine.yaml"
    assert message.split(":")[1].isdigit()
    assert f"has {len(LONG)} characters, more than {LONGEST_PATTERN}: split it" in message


def test_lists_and_guards_are_named_by_language_and_name(messages: list[str]) -> None:
    assert "'sad' appears 2 times" in on(messages, "en: list <moods>")[0]
    assert "characters" in on(messages, "en: guard gone")[0]


def test_a_pattern_above_half_of_the_bound_is_named_with_its_cost(messages: list[str]) -> None:
    (message,) = on(messages, "agency.negative.dear")
    assert "a pattern can take 68,711 steps" in message
    assert "more than half of the 100,000 that are allowed: use fewer or shorter gaps" in message


def test_the_greatest_cost_of_each_language_is_told(steps: dict[str, dict[str, int]]) -> None:
    told = {cost.language: str(cost) for cost in greatest_costs(steps)}
    assert "of 100,000 steps at one place, by 'zonk a.{0,150}b.{0,150}c'" in told["en"]
