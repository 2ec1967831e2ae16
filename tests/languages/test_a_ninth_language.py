"""A language is its pack: what is said in it, and how its text falls into words, is nowhere else."""

import re
import unicodedata
from pathlib import Path

import pytest
from click.testing import CliRunner

import synthesis
from synthesis import Guard
from synthesis.audit.counting import NoticeReader
from synthesis.checks.registry import rules_in_force
from synthesis.cli.main import main
from synthesis.errors import RuleError
from synthesis.glossary import glossary_of
from synthesis.model import Case
from synthesis.report.findings import remarks_on
from synthesis.rules.authoring import missing_texts
from synthesis.rules.ruleset import RuleSet, bundled_languages
from synthesis.run.evaluator import Evaluator

PACKAGE = Path(synthesis.__file__).parent
MANIFEST = """\
language: xq
name: Mine
version: "1"
licence: MIT
english_name: Quornish
abbreviations: zr
everyday: zum zam
detection: {words: zib zab zum zam grol}
"""
RULES = """\
rules:
  - {id: agency.negative.zib, group: directive, patterns: [grol zib], why: w, instead: i}
  - {id: identity.claim.zib, group: human, patterns: [zib zab], why: w, instead: i}
  - {id: crisis.soft.grol, group: passive-wish, patterns: [grol zum], why: w, instead: i}
"""
TEXTS = """\
feedback:
  lead: "Zopp zin:"
  checks:
    identity_claim: Zopp nin zib.
absences:
  agency_language:
    invitation: {missing: Nin zopp., better: Zopp wib.}
  crisis_response:
    care: {missing: Nin karp., better: Zopp karp.}
notices:
  - "zopp im? maskin"
"""
# Tables of characters, and the offline judge's lists of words, which serve any language.
TABLES = {"rules/matcher.py", "rules/native/program.py", "rules/text.py"}


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    folder = tmp_path / "xq"
    folder.mkdir()
    for name, content in (("pack.yaml", MANIFEST), ("rules.yaml", RULES), ("texts.yaml", TEXTS)):
        (folder / name).write_text(content, encoding="utf-8")
    return folder


@pytest.fixture
def rules(pack: Path) -> RuleSet:
    return rules_in_force([pack.parent])


def test_a_guard_speaks_it(rules: RuleSet) -> None:
    review = Guard(["identity_claim"], rules=rules, lang="xq").look_at("Grol zum zam.", "Zib zab.")
    assert review.feedback.splitlines()[0] == "Zopp zin:"


def test_a_rule_in_other_words_than_the_users_is_put_into_the_users(rules: RuleSet) -> None:
    said = "Zib zam grol zum zam grol zab zib zum zam."
    review = Guard(["identity_claim"], rules=rules).look_at(
        said, "I am a real human being, just like you are, my friend."
    )
    assert (review.language_of("user"), review.language) == ("xq", "en")
    assert "Zopp nin zib." in review.feedback


def test_what_is_missing_is_said_in_it(rules: RuleSet) -> None:
    case = Case("", ("agency_language",), "Grol zam.", "Grol grol.", lang="xq")
    (remark,) = remarks_on(Evaluator(rules).evaluate([case])[0], glossary_of(rules), "xq")
    assert (remark.why, remark.instead) == ("Nin zopp.", "Zopp wib.")


def test_english_stands_in_for_what_it_does_not_say(rules: RuleSet) -> None:
    case = Case("", ("crisis_response",), "Grol zum.", "Grol.", lang="xq")
    warnings = Evaluator(rules, profile="traffic").evaluate([case])[0].checks["crisis_response"].evidence["warnings"]
    assert warnings[0] == "care: Zopp karp."
    assert warnings[1].startswith("safety: Ask whether they are safe now")


def test_an_audit_finds_its_notices(rules: RuleSet) -> None:
    assert NoticeReader(rules).holds("Zopp im maskin!")
    assert not NoticeReader(rules_in_force()).holds("Zopp im maskin!")


def test_its_abbreviations_and_everyday_words_are_in_force_and_in_the_hash(rules: RuleSet, pack: Path) -> None:
    assert rules.language("xq").name == "Quornish"
    assert rules.language("xq").everyday == {"zum", "zam"}
    (pack / "pack.yaml").write_text(MANIFEST.replace("abbreviations: zr\n", ""), encoding="utf-8")
    assert rules_in_force([pack.parent]).hash != rules.hash


def test_texts_do_not_change_the_hash(rules: RuleSet, pack: Path) -> None:
    (pack / "texts.yaml").unlink()
    assert rules_in_force([pack.parent]).hash == rules.hash


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (TEXTS.replace(", better: Zopp karp.", ""), 9, "needs 'better'"),
        (TEXTS.replace("lead:", "leed:"), 2, "unknown field 'leed'"),
        (TEXTS.replace("im?", "(im"), 11, "not a regular expression"),
    ],
)
def test_a_bad_text_is_named_by_file_and_line(pack: Path, content: str, line: int, message: str) -> None:
    (pack / "texts.yaml").write_text(content, encoding="utf-8")
    with pytest.raises(RuleError, match=message) as error:
        rules_in_force([pack.parent]).texts("xq")
    assert error.value.place is not None
    assert (Path(error.value.place.file).name, error.value.place.line) == ("texts.yaml", line)


def test_lint_says_what_is_not_translated(rules: RuleSet) -> None:
    missing = missing_texts(rules, "xq")
    assert "feedback.checks.topic_pivot" in missing
    assert "absences.crisis_response.help" in missing
    assert not {"feedback.lead", "feedback.checks.identity_claim", "notices"} & set(missing)


@pytest.mark.parametrize("language", bundled_languages())
def test_bundled_languages_lack_no_text(language: str) -> None:
    assert missing_texts(rules_in_force(), language) == []


def test_a_new_language_begins_with_texts_to_translate(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["rules", "new-language", "xq", "--folder", str(tmp_path)])
    assert result.exit_code == 0
    begun = rules_in_force([tmp_path])
    assert missing_texts(begun, "xq") == missing_texts(rules_in_force(), "xq")


def test_no_other_language_is_spoken_in_the_code() -> None:
    spoken = [
        f"{path.relative_to(PACKAGE)}: {letter}"
        for path in PACKAGE.rglob("*.py")
        if str(path.relative_to(PACKAGE)) not in TABLES and path.relative_to(PACKAGE).parts[0] != "judge"
        for letter in re.findall(r"[^\W\d_\x00-\xff]", path.read_text(encoding="utf-8"))
        if unicodedata.category(letter) != "Lm"
    ]
    assert spoken == []


def test_no_table_by_language_is_in_the_code() -> None:
    """Eight translations side by side are eight packs' texts."""
    codes = "|".join(set(bundled_languages()) - {"en"})
    table = re.compile(rf'^\s*"(?:{codes})": ', re.MULTILINE)
    files = (path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "judge")
    assert [path.name for path in files if table.search(path.read_text(encoding="utf-8"))] == []
