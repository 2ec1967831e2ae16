"""A broken pack stops with file, line, the line itself, and what to do."""

from pathlib import Path

import pytest

from synthesis.checks import signals
from synthesis.errors import OptionError, RuleError
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


def pack(folder: Path, content: str = GOOD, manifest: str = MANIFEST) -> Path:
    (folder / "pack.yaml").write_text(manifest, encoding="utf-8")
    (folder / "mine.yaml").write_text(content, encoding="utf-8")
    return folder


def test_a_pack_of_ones_own_adds_rules_and_may_use_the_lists_and_guards_below(tmp_path: Path) -> None:
    content = GOOD.replace("zonk it", "zonk <third_person>").replace("why:", "guards: [quoted]\n    why:")
    rules = load_rules(signals(), [pack(tmp_path, content)])
    mine = next(rule for rule in rules.rules if rule.id == "agency.negative.my-own")
    assert (mine.guards, mine.line) == (("quoted",), 3)
    assert len(rules.rules) == len(load_rules(signals()).rules) + 1


def test_a_rule_of_the_same_id_replaces_the_bundled_one(tmp_path: Path) -> None:
    bundled = load_rules(signals())
    first = next(rule for rule in bundled.rules if rule.signal == "agency.negative" and rule.language == "en")
    rules = load_rules(signals(), [pack(tmp_path, GOOD.replace("agency.negative.my-own", first.id))])
    replaced = next(rule for rule in rules.rules if rule.id == first.id and rule.language == "en")
    assert (replaced.patterns, len(rules.rules)) == (("zonk it",), len(bundled.rules))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "is empty"),
        ("rules: [", "is not valid YAML"),
        ("- a\n- b", "expected a mapping"),
        ("rulez: []", "unknown field 'rulez'"),
        (GOOD.replace("    why: It is only a test.\n", ""), "a rule needs 'why'"),
        (GOOD.replace("    pattern: zonk it\n", ""), "needs 'phrases', 'patterns', 'sentence' or 'list_items'"),
        (GOOD.replace("zonk it\n    why", "(zonk)+ it\n    why"), "unbounded repetition is not supported"),
        (GOOD.replace("agency.negative", "agency.nonsense"), "no check knows the signal 'agency.nonsense'"),
        (GOOD.replace("agency.negative.my-own", "My Own"), "is not a rule id"),
        (GOOD + GOOD.replace("rules:\n", ""), "appears twice"),
        (GOOD.replace("why:", "guards: [nope]\n    why:"), "no guard is called 'nope'"),
        (GOOD.replace("why:", "severity: awful\n    why:"), "'awful' is not allowed here"),
        (GOOD.replace("pattern: zonk it", "sentence: {form: question, has: [zonk]}"), "needs a 'label'"),
        (GOOD.replace("pattern: zonk it", "sentence: {form: question}\n    label: q"), "a form alone says too little"),
        (GOOD.replace("It is only a test.", "{de: nur ein Test}"), "an English text is needed"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, content: str, expected: str) -> None:
    with pytest.raises(RuleError) as raised:
        load_rules(signals(), [pack(tmp_path, content)])
    assert expected in str(raised.value)
    assert str(tmp_path / "mine.yaml") in str(raised.value)


def test_the_place_is_line_column_and_excerpt(tmp_path: Path) -> None:
    with pytest.raises(RuleError) as raised:
        load_rules(signals(), [pack(tmp_path, GOOD.replace("zonk it\n    why", "zonk* it\n    why"))])
    place = raised.value.place
    assert place is not None
    assert (place.line, place.column, place.excerpt) == (5, 18, "    pattern: zonk* it")


def test_a_manifest_must_be_complete(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="the manifest lacks 'licence'"):
        load_rules(signals(), [pack(tmp_path, manifest=MANIFEST.replace("licence: MIT\n", ""))])


@pytest.mark.parametrize("folder", ["nowhere", "."])
def test_a_folder_without_a_pack_is_refused(tmp_path: Path, folder: str) -> None:
    with pytest.raises(RuleError, match=r"not a folder of rules|contains no pack"):
        load_rules(signals(), [tmp_path / folder])


def test_not_utf8_is_refused(tmp_path: Path) -> None:
    (pack(tmp_path) / "mine.yaml").write_bytes(b"rules: \xff")
    with pytest.raises(RuleError, match="not UTF-8"):
        load_rules(signals(), [tmp_path])


def test_disabling_a_rule_that_is_not_there_is_a_mistake() -> None:
    with pytest.raises(OptionError, match="no rule is called"):
        load_rules(signals(), disabled=["agency.nope"])


@pytest.mark.parametrize("section", ["lists:\n  kin: [mother]\n", "guards:\n  kin: {quoted: true}\n"])
def test_two_files_of_a_pack_cannot_use_one_name_for_two_things(tmp_path: Path, section: str) -> None:
    (pack(tmp_path) / "another.yaml").write_text(section, encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(section + GOOD, encoding="utf-8")
    with pytest.raises(RuleError, match=r"'kin' is also among the (lists|guards) of another\.yaml") as caught:
        load_rules(signals(), [tmp_path])
    assert caught.value.place is not None
    assert caught.value.place.line == 2
