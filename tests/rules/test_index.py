"""What is asked of all packs at every start is kept beside them: a start reads the packs it needs, and no others.

What is kept can never be out of date: its key is made of all that it depends on.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from helpers import row, write_jsonl

import synthesis
from synthesis.checks import registry, rules_in_force, signals
from synthesis.checks.table import Table, read_table
from synthesis.glossary import glossary_of
from synthesis.io import PACKS
from synthesis.rules import cache
from synthesis.rules.cache import pack_key
from synthesis.rules.ruleset import RuleSet, load_rules

DISABLED = "agency.negative.you-should"
RULES = """\
rules:
  - id: agency.negative.chin-up
    group: dismissal
    pattern: chin up
    why: Tells somebody how to hold their face.
    instead: Stay with what they said.
    match: ["Chin up!", "Well, chin up then."]
    miss: ["Her chin was up.", "Hold it up."]
"""


def own_pack(folder: Path) -> Path:
    (folder / "en").mkdir(parents=True)
    (folder / "en" / "pack.yaml").write_text("language: en\nname: Own\nversion: '1'\nlicence: MIT\n", encoding="utf-8")
    (folder / "en" / "rules.yaml").write_text(RULES, encoding="utf-8")
    return folder


# Runs something in a process of its own, and tells at the end whose packs it has decoded.
WATCHING = """
import json, sys
from synthesis.rules import cache
asked, found = [], cache._cached
cache._cached = lambda name, *rest: (asked.append(name), found(name, *rest))[1]
{code}
print(json.dumps([name.partition(".")[0] for name in asked if name.endswith(".pack")]))
"""


def decoded(code: str, folder: Path) -> set[str]:
    """The languages whose packs were decoded while the code ran, with all that is kept already there."""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", WATCHING.format(code=code)], cwd=folder, capture_output=True, text=True, check=True
        )
    languages = {pack_key(path, ""): path.name for path in PACKS.iterdir()}
    return {languages[key] for key in json.loads(done.stdout.splitlines()[-1])}


@pytest.mark.parametrize(
    ("user", "reply", "languages"),
    [
        ("I lost my job and I feel awful.", "You should just move on.", {"en"}),
        ("नौकरी चली गई और मुझे बहुत बुरा लग रहा है।", "आपको बस आगे बढ़ना चाहिए।", {"hi"}),
    ],
    ids=["en", "hi"],
)
def test_a_run_reads_the_packs_of_the_languages_it_meets(
    tmp_path: Path, user: str, reply: str, languages: set[str]
) -> None:
    write_jsonl(tmp_path / "one.jsonl", [row(user=user, assistant=reply)])
    call = "from synthesis.cli.main import call; call(['--cases', 'one.jsonl', {} '--out', 'r.json'])"
    assert decoded(call.format("'--quiet',"), tmp_path) == languages
    assert decoded(call.format(""), tmp_path) == languages  # with what it tells about the rules
    reply_alone = f"import synthesis; synthesis.evaluate({user!r}, {reply!r})"
    assert decoded(reply_alone, tmp_path) == languages


def test_nothing_is_read_to_say_what_is_in_force(tmp_path: Path) -> None:
    code = """
from synthesis.checks import rules_in_force
from synthesis.run.tally import run_conditions
rules = rules_in_force()
conditions = run_conditions(rules, "traffic")["rules"]
assert conditions["count"] > 3000 and conditions["hash"] and rules.covered and rules.detector.detect("Bonjour à tous")
"""
    assert decoded(code, tmp_path) == set()


def read_in_full(rules: RuleSet) -> RuleSet:
    """The same rules without an index: everything is asked of the packs."""
    return RuleSet([*rules.packs.values()], rules._signals, rules._patterns, rules._also)


@pytest.mark.parametrize(
    "load",
    [
        rules_in_force,
        lambda folder: rules_in_force([folder]),
        lambda folder: rules_in_force([folder], [DISABLED]),
        lambda _: rules_in_force(disabled=[DISABLED]),
        lambda folder: load_rules(signals(), [folder]),
        lambda folder: load_rules(signals(), [folder]).with_signals({"agency.negative", "crisis.cue"}),
    ],
)
def test_an_index_says_what_the_packs_say(tmp_path: Path, load: Callable[..., RuleSet]) -> None:
    folder = own_pack(tmp_path / "own")
    for rules in (load(folder) if load is not rules_in_force else load() for _ in range(2)):  # made, then kept
        whole = read_in_full(rules)
        for name in ("hash", "languages", "covered", "count", "_spoken"):
            assert getattr(rules, name) == getattr(whole, name), name
        assert (rules.detector.words, rules.detector.parts) == (whole.detector.words, whole.detector.parts)
        assert rules.detection == whole.detection


def test_a_pack_that_changes_is_not_taken_for_what_it_was(tmp_path: Path) -> None:
    folder = own_pack(tmp_path / "own")
    rules = folder / "en" / "rules.yaml"
    before = load_rules(signals(), [folder])
    text = rules.read_text(encoding="utf-8")
    rules.write_text(text.replace("chin up", "chins up"), encoding="utf-8")
    changed = load_rules(signals(), [folder])
    assert (changed.hash != before.hash, changed.count) == (True, before.count)
    rules.write_text(text.replace("why: Tells", "why: It tells"), encoding="utf-8")
    told = load_rules(signals(), [folder])
    assert told.hash == before.hash  # which explains, and decides nothing
    (own,) = [rule for rule in told.packs["en"].rules if rule.id == "agency.negative.chin-up"]
    assert own.text("why").startswith("It tells")


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of the same code, whose files can be changed."""
    folder = tmp_path_factory.mktemp("copied")
    shutil.copytree(
        Path(synthesis.__file__).parent, folder / "synthesis", ignore=shutil.ignore_patterns("__pycache__", "server")
    )
    for name in ("data", "schemas"):
        shutil.copytree(Path(__file__).parents[2] / name, folder / "synthesis" / "_bundled" / name)
    return folder


def _copied_if_there(source: str, target: str) -> None:
    """Other processes make room in the shared cache while it is copied."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copy2(source, target)


def hash_in(copied: Path) -> str:
    code = "from synthesis.checks import rules_in_force; print(rules_in_force().hash)"
    environment = {**os.environ, "PYTHONPATH": str(copied)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_package_of_the_same_content_has_the_same_hash_wherever_it_lies(copied: Path) -> None:
    assert hash_in(copied) == rules_in_force().hash


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("rules/packs/fr/agency_language.yaml", "vous devriez", "vous pourriez"),
        ("rules/packs/fr/pack.yaml", "words: >-\n    ", "words: >-\n    zonk "),
        ("rules/common_words.yaml", "words: >-\n    ", "words: >-\n    zonk "),
        ("checks/tables/flattery.yaml", "pass: ", "pass: true or "),
        ("checks/helplines.yaml", 'number: "988"', 'number: "989"'),
    ],
)
def test_a_file_of_the_package_that_changes_changes_the_hash(copied: Path, file: str, before: str, after: str) -> None:
    path = copied / "synthesis" / file
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    try:
        assert hash_in(copied) != rules_in_force().hash
    finally:
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of what is kept, to be damaged."""
    rules_in_force()
    folder = cache._folder()
    assert folder is not None
    left_out = shutil.ignore_patterns(".*", "*.program.*", "*.patterns.*")
    shutil.copytree(folder, tmp_path / "cache", ignore=left_out, copy_function=_copied_if_there)
    monkeypatch.setenv("SYNTHESIS_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    registry._bundled.cache_clear()


@pytest.mark.parametrize("damage", [lambda _: b"", lambda content: content[:-7], lambda _: b"\x93\x01\x02\x03"])
def test_what_is_damaged_is_made_again(kept: Path, damage: Callable[[bytes], bytes]) -> None:
    before = rules_in_force().hash
    files = [path for kind in ("index", "words", "documents", "values") for path in kept.glob(f"*.{kind}.msgpack")]
    assert files
    contents = {path: path.read_bytes() for path in files}
    for path, content in contents.items():
        path.write_bytes(damage(content))
    registry._bundled.cache_clear()
    rules = rules_in_force()
    assert (rules.hash, rules.detector.detect("Buenos días a todos").language) == (before, "es")
    assert registry._bundled()
    made = [path for path in files if path.read_bytes() == contents[path]]
    assert {path.suffixes[-2] for path in made} >= {".index", ".words", ".documents"}


def test_the_words_for_a_rule_come_from_the_pack_of_its_language_alone() -> None:
    rules = load_rules(signals())
    words = glossary_of(rules)
    assert words.on_rule("it", "agency.negative.nothing-of-the-kind").why == ""
    assert list(rules.packs._loaded) == ["it"]
    (rule, *_) = rules.packs["it"].rules
    assert words.on_rule("it", rule.id).why == rule.text("why")
    assert words.on_rule("xx", rule.id).why == ""
    assert list(rules.packs._loaded) == ["it"]
    assert len(words.rules) == rules.count + len(rules.learned_rules)
    assert (("it", rule.id) in words.rules, ("", rule.id) in words.rules) == (True, False)


def as_data(table: Table) -> dict[str, object]:
    """A table without its functions, which no two have in common."""
    fields = {name: getattr(table, name) for name in table.__struct_fields__}
    return json.loads(json.dumps(fields, default=_as_data))


def _as_data(value: object) -> object:
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.asdict(value)
    return sorted(value) if isinstance(value, frozenset) else None


def test_a_table_that_was_kept_reads_as_its_file_does() -> None:
    kept, shared = registry._bundled(), registry.shared_table()
    declared = registry._bundled_signals()
    assert len(kept) == 10
    for path, root in kept.items():
        above = None if path.stem == "shared" else shared
        assert as_data(read_table(path, declared, above, root)) == as_data(read_table(path, declared, above))
