"""Phrases say which words a rule looks for in a form that a speaker can read; each stands for a pattern."""

from pathlib import Path

import pytest

from synthesis.checks import signals
from synthesis.errors import RuleError
from synthesis.rules.detection import Detected
from synthesis.rules.phrases import pattern_of, patterns_of
from synthesis.rules.reading import Message
from synthesis.rules.ruleset import RuleSet, load_rules
from synthesis.rules.syntax import PatternError

SLOTS = {"act", "one/own"}
MANIFEST = "language: en\nname: mine\nversion: '1'\nlicence: MIT\nwritten_in: phrases\n"
PACK = """
slots:
  act: call [her] | write | {{go|come} home}
rules:
  - id: agency.negative.mine
    group: mine
    why: It is only a test.
    instead: Say something else here.
    slots:
      soft: zonkly | zonkily
    except: {before: 'they say | {soft}'}
    phrases:
      WORDS: PROOF
    miss: [Nothing here., And nothing here.]
"""


@pytest.mark.parametrize(
    ("phrase", "pattern"),
    [
        ("you [really] should", r"you ((really) )?should"),
        ("you should [really | just]", r"you should( (really|just))?"),
        ("[so] you should", r"((so) )?you should"),
        ("you should[n't] go", r"you should(n't)? go"),
        ("a [re]think", r"a (re)?think"),
        ("well [then], go", r"well( (then))?, go"),
        ("is it [so] [now]?", r"is it( (so))?( (now))?\?"),
        ("{0-2 words} go", r"((\w{1,14}) ){0,2}go"),
        ("go {2-3 small words}", r"go( (\w{1,6})){2,3}"),
        ("{1-2: just | {act}} go", r"((just|<act>) ){1,2}go"),
        ("{a|b}c", r"[ab]c"),
        ("{own} thing", r"<one/own> thing"),
        ("go {0-20}home", r"go .{0,20}home"),
        ("走{0-8 near}家", r"走[^, ]{0,8}家"),
        ("disappoint*", r"disappoint\w{0,8}"),
        ("{2-9 letters}ed {number} {2-3 digits}", r"\w{2,9}ed \d{1,6} \d{2,3}"),
        ("café où l'a don't", r"caf[ée] où l'a don'?t"),
        (r"caf\é don\'t 1\*", r"café don't 1\*"),
        ("a_b", "a b"),
        ("what? (really)", r"what\? \(really\)"),
        ("so[[,] that] it", r"so((,)? that)? it"),
    ],
)
def test_a_phrase_stands_for_a_pattern(phrase: str, pattern: str) -> None:
    assert pattern_of(phrase, SLOTS, "one/") == pattern


def test_several_phrases_may_be_one_text() -> None:
    assert patterns_of("never | not | no [more] longer", ()) == ["never", "not", "no ((more) )?longer"]


@pytest.mark.parametrize(
    ("phrase", "message", "column"),
    [
        ("a {b | } c", "an alternative is empty", 8),
        ("a [b", "'[' has no ']' that closes it", 3),
        ("a | b", "'|' has a meaning only in brackets", 3),
        ("a {akt} b", "there is no slot 'akt'. Did you mean 'act'?", 3),
        (r"a \b", "'\\' goes before", 3),
        ("you [really]{_did | 'd}", "two spaces remain", 1),
    ],
)
def test_what_is_malformed_is_told_with_its_column(phrase: str, message: str, column: int) -> None:
    with pytest.raises(PatternError) as raised:
        pattern_of(phrase, SLOTS)
    assert message in raised.value.message
    assert raised.value.column == column


def pack(folder: Path, words: str, proof: str = "You must zonk now.") -> RuleSet:
    (folder / "pack.yaml").write_text(MANIFEST, encoding="utf-8")
    (folder / "mine.yaml").write_text(PACK.replace("WORDS", words).replace("PROOF", proof), encoding="utf-8")
    return load_rules(signals(), [folder])


def found_by(rules: RuleSet, text: str) -> list[str]:
    (reading,) = rules.read([Message(text, "assistant", language=Detected("en", "declared"))])
    return [hit.words for hit in reading.hits if hit.rule.id == "agency.negative.mine"]


def test_a_pack_in_phrases_has_them_in_slots_and_exceptions_too(tmp_path: Path) -> None:
    rules = pack(tmp_path, "zonk {act}")
    assert [found_by(rules, text) for text in ("Zonk come home.", "Now zonk call her!", "zonk calls")] == [
        ["Zonk come home"],
        ["zonk call her"],
        [],
    ]
    assert [found_by(rules, text) for text in ("They say zonk write.", "Zonkily zonk write.")] == [[], []]


def test_the_proof_beside_a_phrase_is_an_example_of_the_rule(tmp_path: Path) -> None:
    rule = next(rule for rule in pack(tmp_path, "zonk {act}", "Zonk write.").rules if rule.id == "agency.negative.mine")
    assert rule.match == ("Zonk write.",)
    assert rule.finds == ("zonk {act}",)
    assert rule.source == "zonk {act}"


def test_a_pattern_among_phrases_stands_between_slashes(tmp_path: Path) -> None:
    rules = pack(tmp_path, "/(zo){2,3}nk/", "Zozonk.")
    assert [found_by(rules, text) for text in ("Zonk.", "Zozonk.", "Zozozonk!")] == [[], ["Zozonk"], ["Zozozonk"]]


def test_a_bad_phrase_is_told_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(RuleError) as raised:
        pack(tmp_path, "zonk {akt}")
    assert "the phrase cannot be used: there is no slot 'akt'. Did you mean 'act'?" in str(raised.value)
    assert f"{tmp_path / 'mine.yaml'}:13:12" in str(raised.value)


def test_a_phrase_that_may_be_empty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="can match the empty text"):
        pack(tmp_path, "'[zonk]'")
