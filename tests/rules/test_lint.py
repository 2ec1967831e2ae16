"""The linter names what a speaker could not review, where it is, and what to do."""

from pathlib import Path

import pytest

from synthesis.checks import signals
from synthesis.rules.authoring import LONGEST_LINE, costs, dearest, greatest_costs, lint, rules_on_top, unproven
from synthesis.rules.ruleset import RuleSet, load_rules

LONG = f"zonk ({'|'.join(f'word{n}' for n in range(60))})"
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
    "list": "pattern: zonk (<third_person>|<you_ever>|<third_person>)",
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
    assert f"a line has {len(LONG)} characters, more than {LONGEST_LINE}: split it" in message


def test_lists_and_guards_are_named_by_language_and_name(messages: list[str]) -> None:
    unused, repeated = on(messages, "en: list <moods>")
    assert "nothing uses it" in unused
    assert "'sad' appears 2 times" in repeated
    assert "characters" in on(messages, "en: guard gone")[0]


def test_a_pattern_above_half_of_the_bound_is_named_with_its_cost(messages: list[str]) -> None:
    (message,) = on(messages, "agency.negative.dear")
    assert "a pattern can take 68,711 steps" in message
    assert "more than half of the 100,000 that are allowed: use fewer or shorter gaps" in message


def test_the_greatest_cost_of_each_language_is_told(steps: dict[str, dict[str, int]]) -> None:
    told = {cost.language: str(cost) for cost in greatest_costs(steps)}
    assert "of 100,000 steps at one place, by 'zonk a.{0,150}b.{0,150}c'" in told["en"]


def test_a_line_that_no_example_is_found_by_is_named(rules: RuleSet) -> None:
    own = rules_on_top(rules, load_rules(signals()))
    told = [str(message) for message in unproven(rules, signals(), own)]
    assert [message for message in told if "agency.negative.good" in message] != []  # no example says "zonk it it"
    assert all("no example is found by '" in message for message in told)
    (named,) = on(told, "agency.negative.sentence")
    assert "has 1: zonk (sad|bad|sad)" in named


def test_a_proof_beside_a_phrase_is_enough(tmp_path: Path) -> None:
    phrases = "phrases: {'zonk [it]': Now zonk it!, zonk him: Go and zonk him.}"
    content = RULE.format(name="proven", what=phrases).replace("    match: [Just zonk it., Now zonk it!]\n", "")
    (tmp_path / "pack.yaml").write_text("language: en\nname: mine\nversion: '1'\nlicence: MIT\n", encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(f"rules:{content}", encoding="utf-8")
    rules = load_rules(signals(), [tmp_path])
    own = rules_on_top(rules, load_rules(signals()))
    assert list(unproven(rules, signals(), own)) == []
    assert on([str(message) for message in lint(rules, {})], "agency.negative.proven") == []


def test_the_dearest_patterns_on_texts_are_told(rules: RuleSet) -> None:
    if rules.native is None:
        pytest.skip("the compiled library counts them")
    told = dearest(rules, {("en", "assistant"): ["Zonk it, a b c, and zonk it again."] * 3})
    assert 0 < sum(one.share for one in told) <= 1
    assert [one.share for one in told] == sorted((one.share for one in told), reverse=True)
    assert str(told[0]).startswith("en assistant: ")
