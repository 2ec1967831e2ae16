"""The linter names what a speaker could not review, where it is, and what to do."""

from pathlib import Path

import pytest

from synthesis.checks import signals
from synthesis.rules.lint import LONGEST_PATTERN, lint
from synthesis.rules.ruleset import load_rules

MANIFEST = "language: en\nname: mine\nversion: '1'\nlicence: MIT\n"
GOOD = """
rules:
  - id: agency.negative.my-own
    group: mine
    pattern: zonk it
    why: It is only a test.
    instead: Say something else here.
    match: [Just zonk it., Now zonk it!]
    miss: [Zonk is a word., It zonks.]
"""
LONG = f"zonk ({'|'.join(f'word{n}' for n in range(40))})"


def messages(folder: Path, content: str) -> list[str]:
    (folder / "pack.yaml").write_text(MANIFEST, encoding="utf-8")
    (folder / "mine.yaml").write_text(content, encoding="utf-8")
    return [str(message) for message in lint(load_rules(signals(), [folder]))]


def with_pattern(pattern: str) -> str:
    return GOOD.replace("pattern: zonk it", f"pattern: {pattern}")


def test_a_good_pack_has_no_message(tmp_path: Path) -> None:
    assert messages(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        ("zonk (it|him|it)", "it"),
        ("zonk (it|(him|it))", "it"),
        ("zonk (don't|won't|DON’T) go", "don't"),
        ("zonk (<third_person>|<negator>|<third_person>)", "<third_person>"),
        ("(zonk it|zonk (a|b)|zonk (a|b))", "zonk (a|b)"),
    ],
)
def test_a_repeated_alternative_is_named_with_file_line_and_rule(tmp_path: Path, pattern: str, word: str) -> None:
    found = messages(tmp_path, with_pattern(pattern))
    assert len(found) == 1
    assert found[0].startswith(f"{tmp_path / 'mine.yaml'}:3: agency.negative.my-own: ")
    assert f"'{word}' appears 2 times" in found[0]
    assert found[0].endswith("keep one")


def test_the_same_word_in_two_choices_is_no_repetition(tmp_path: Path) -> None:
    assert messages(tmp_path, with_pattern("zonk (it|him) (it|him)( it)?")) == []


def test_a_pattern_that_is_too_long_to_review_is_named_with_what_to_do(tmp_path: Path) -> None:
    found = messages(tmp_path, with_pattern(LONG))
    assert len(LONG) > LONGEST_PATTERN
    assert len(found) == 1
    assert f"a pattern has {len(LONG)} characters, more than {LONGEST_PATTERN}: split it" in found[0]


@pytest.mark.parametrize("field", ["unless: {after: ['PATTERN']}", "sentence: {has: ['PATTERN']}"])
def test_conditions_and_sentences_are_read_too(tmp_path: Path, field: str) -> None:
    content = GOOD.replace("    why:", f"    {field.replace('PATTERN', 'so (sad|bad|sad)')}\n    why:")
    assert "'sad' appears 2 times" in messages(tmp_path, content)[0]


def test_lists_and_guards_are_named_by_their_language_and_name(tmp_path: Path) -> None:
    shared = "lists: {moods: [sad, glad|sad]}\nguards: {gone: {before: ['LONG']}}".replace("LONG", LONG)
    found = messages(tmp_path, shared + GOOD)
    assert [text.split(": ")[:2] for text in found] == [["en", "guard gone"], ["en", "list <moods>"]]
