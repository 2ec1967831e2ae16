"""Prepared packs are kept: by what is in them, and the used ones longest."""

import os
import subprocess
import sys
import unicodedata
import weakref
import zlib
from pathlib import Path

import pytest

from synthesis.checks import signals
from synthesis.io import PACKS
from synthesis.rules import cache, ruleset
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
    monkeypatch.setattr(ruleset, "PACKS", below)
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


def test_rule_sets_with_the_same_packs_share_what_was_prepared(kept: Path, tmp_path: Path) -> None:
    one, other = load_rules(signals()), load_rules(signals(), disabled=["agency.negative.cheer-up"])
    assert other.patterns("en") is one.patterns("en")
    assert other.image("en") is one.image("en")
    assert len(one.rules) == len(other.rules) + 1
    more = load_rules(signals(), [own_pack(tmp_path / "here")])
    assert set(more.patterns("en")) > set(one.patterns("en"))


def test_what_no_rule_set_uses_is_not_kept_in_memory(kept: Path) -> None:
    rules = load_rules(signals())
    pack = weakref.ref(rules.packs["en"])
    prepared = weakref.ref(rules._patterns._prepared("en"))
    del rules
    assert (pack(), prepared()) == (None, None)


def test_another_rule_is_prepared(kept: Path, tmp_path: Path) -> None:
    load_rules(signals(), [own_pack(tmp_path / "here")]).patterns("en")
    before = prepared(kept)
    load_rules(signals(), [own_pack(tmp_path / "there", RULE.replace("chin up", "chins up"))]).patterns("en")
    assert len(prepared(kept)) == len(before) + 1


def test_what_is_used_is_kept_and_the_oldest_goes(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (kept / "of-another-version.msgpack").touch()
    for path in kept.iterdir():
        os.utime(path, (1, 1))
    load_rules(signals()).patterns("en")
    used = {path.name for path in kept.iterdir() if path.stat().st_mtime > 1}
    assert used
    monkeypatch.setattr(cache, "MOST_KEPT", len(used) + 4)  # two packs, patterns and an index
    load_rules(signals(), [own_pack(tmp_path / "own")]).patterns("en")
    assert used <= {path.name for path in kept.iterdir()}
    assert len(list(kept.glob("*.msgpack"))) == len(used) + 4


def test_what_the_package_brings_is_not_prepared_again_wherever_it_lies(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ship(kept, tmp_path / "shipped", monkeypatch)
    monkeypatch.setenv("SYNTHESIS_CACHE", str(tmp_path / "other"))
    monkeypatch.setattr(ruleset, "PACKS", own_pack(tmp_path / "installed", RULE.replace("chin", "cheer")))
    monkeypatch.setattr(ruleset, "prepare", lambda *_: pytest.fail("a pattern was prepared again"))
    rules = load_rules(signals())
    assert rules.patterns("en")
    unpacked = {path.name: path.read_bytes() for path in (tmp_path / "other").iterdir()}  # for the next start
    assert unpacked
    assert unpacked.items() <= {path.name: path.read_bytes() for path in kept.iterdir()}.items()
    assert {rule.file for rule in rules.rules} == {str(tmp_path / "installed" / "en" / "rules.yaml")}


def test_what_the_package_brings_does_not_serve_another_pack(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ship(kept, tmp_path / "shipped", monkeypatch)
    monkeypatch.setenv("SYNTHESIS_CACHE", str(tmp_path / "other"))
    monkeypatch.setattr(ruleset, "PACKS", own_pack(tmp_path / "changed"))
    assert "chin up" in load_rules(signals()).patterns("en")
    assert prepared(tmp_path / "other")


def test_a_damaged_file_of_the_package_is_prepared_again(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ship(kept, tmp_path / "shipped", monkeypatch)
    for path in (tmp_path / "shipped").iterdir():
        path.write_bytes(path.read_bytes()[:-3])
    monkeypatch.setenv("SYNTHESIS_CACHE", str(tmp_path / "other"))
    assert "cheer up" in load_rules(signals()).patterns("en")
    assert prepared(tmp_path / "other")


def ship(kept: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put what is kept where a built package has it."""
    folder.mkdir()
    for path in kept.glob("*.msgpack"):
        (folder / f"{path.stem}.zz").write_bytes(zlib.compress(path.read_bytes()))
    monkeypatch.setattr(cache, "SHIPPED", folder)


def test_the_bundled_packs_use_letters_that_every_version_of_python_knows() -> None:
    # The key of what was prepared for them does not name the version. Run by the oldest that is supported, this holds
    # for all: what a character is, once it is one, stays.
    texts = {path: path.read_text(encoding="utf-8") for path in PACKS.glob("*/*.yaml")}
    unknown = {char for text in texts.values() for char in set(text) if unicodedata.category(char) == "Cn"}
    assert texts
    assert not unknown


def test_what_is_written_does_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    folder = own_pack(tmp_path / "own") / "en"
    (folder / "pack.yaml").write_text(f"{PACK}abbreviations: dr mr mrs ms prof st vs\n", encoding="utf-8")
    code = """
import sys
from pathlib import Path
from synthesis.checks import signals
from synthesis.rules.cache import cached_pack, pack_key
from synthesis.rules.loader import load_pack
folder = Path(sys.argv[1])
cached_pack(folder, pack_key(folder, ""), signals(), lambda: load_pack(folder, signals()))
"""
    for seed in "123":
        own = {"PYTHONHASHSEED": seed, "SYNTHESIS_CACHE": str(tmp_path / seed)}
        subprocess.run([sys.executable, "-c", code, str(folder)], env={**os.environ, **own}, check=True)
    written = [path.read_bytes() for path in tmp_path.glob("*/*.pack.msgpack")]
    assert len(written) == 3
    assert len(set(written)) == 1


@pytest.mark.slow
def test_what_is_prepared_does_not_depend_on_the_order_of_sets(tmp_path: Path) -> None:
    prepare = [sys.executable, "-m", "synthesis.checks.prepare", "ja"]
    for seed in ("1", "2"):
        own = {"PYTHONHASHSEED": seed, "SYNTHESIS_CACHE": str(tmp_path / seed)}
        subprocess.run(prepare, env={**os.environ, **own}, check=True)
    one, other = ({path.name: path.read_bytes() for path in (tmp_path / seed).iterdir()} for seed in ("1", "2"))
    assert one == other
