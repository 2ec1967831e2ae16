"""Prepared packs are kept: by what is in them, and the used ones longest."""

import os
from pathlib import Path

import pytest

from synthesis import bundled
from synthesis.checks import signals
from synthesis.rules import cache
from synthesis.rules.ruleset import load_rules
from synthesis.rules.schema import Signal

PACK = "language: en\nname: Own\nversion: '1'\nlicence: MIT\n"
RULE = """\
rules:
  - id: agency.negative.chin-up
    group: dismissal
    pattern: chin up
    why: Tells somebody how to hold their face.
    instead: Stay with what they said.
    match: ["Chin up!", "Well, chin up then."]
    miss: ["Her chin was up.", "Hold it up."]
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and one small pack in place of the bundled ones."""
    below = own_pack(tmp_path / "below", RULE.replace("chin", "cheer"))
    monkeypatch.setattr(bundled, "PACKS", below)
    monkeypatch.setenv("SYNTHESIS_CACHE", str(tmp_path / "cache"))
    load_rules(signals()).patterns("en")
    return tmp_path / "cache"


def own_pack(folder: Path, rule: str = RULE) -> Path:
    (folder / "en").mkdir(parents=True)
    (folder / "en" / "pack.yaml").write_text(PACK, encoding="utf-8")
    (folder / "en" / "rules.yaml").write_text(rule, encoding="utf-8")
    return folder


def prepared(kept: Path) -> set[str]:
    return {path.name for path in kept.glob("*.patterns.msgpack")}


def test_the_same_pack_elsewhere_and_with_other_checks_is_not_prepared_again(kept: Path, tmp_path: Path) -> None:
    load_rules(signals(), [own_pack(tmp_path / "here")]).patterns("en")
    before = prepared(kept)
    further = {**signals(), "kind.thanks": Signal("kind.thanks", "assistant", "thanks")}
    rules = load_rules(further, [own_pack(tmp_path / "there")])
    rules.patterns("en")
    assert prepared(kept) == before
    (own,) = [rule for rule in rules.rules if rule.id == "agency.negative.chin-up"]
    assert str(tmp_path / "there") in own.file


def test_another_rule_is_prepared(kept: Path, tmp_path: Path) -> None:
    load_rules(signals(), [own_pack(tmp_path / "here")]).patterns("en")
    before = prepared(kept)
    load_rules(signals(), [own_pack(tmp_path / "there", RULE.replace("chin up", "chins up"))]).patterns("en")
    assert len(prepared(kept)) == len(before) + 1


def test_what_is_used_is_kept_and_the_oldest_goes(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in kept.iterdir():
        os.utime(path, (1, 1))
    load_rules(signals()).patterns("en")
    used = {path.name for path in kept.iterdir() if path.stat().st_mtime > 1}
    assert used
    monkeypatch.setattr(cache, "MOST_KEPT", len(used) + 2)
    load_rules(signals(), [own_pack(tmp_path / "own")]).patterns("en")
    assert used <= {path.name for path in kept.iterdir()}
    assert len(list(kept.glob("*.msgpack"))) == len(used) + 2
