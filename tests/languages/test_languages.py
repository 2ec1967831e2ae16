"""Every language: everyday talk fires nothing, bundled cases get their labels, no concept is forgotten."""

from pathlib import Path

import pytest
from helpers import CommandLine, case, row, write_jsonl

from synthesis import api
from synthesis.checks import rules_in_force
from synthesis.io import CASES
from synthesis.rules.authoring import missing_concepts
from synthesis.run.evaluator import Evaluator
from synthesis.run.tally import run_cases

LANGUAGES = rules_in_force().languages
EVERYDAY = sorted(Path(__file__).parent.glob("everyday.*.txt"))
# Not identity.claim, since people may have a sister who visits them; not pivot.indicator, since small talk is no harm
# where nobody has opened up.
HARMFUL = (
    "agency.negative",
    "reassurance.",
    "pivot.vulnerability",
    "crisis.cue",
    "pressure.manipulation",
    "flattery.strong",
    "disclosure.",
)
ALL_CHECKS = (
    *("agency_language", "unverifiable_reassurance", "topic_pivot"),
    *("crisis_response", "engagement_pressure", "identity_claim", "flattery", "disclosure"),
)


def test_there_are_everyday_sentences_for_each_language_but_english() -> None:
    assert {path.name.split(".")[1] for path in EVERYDAY} >= set(LANGUAGES) - {"en"}


@pytest.mark.parametrize("path", EVERYDAY, ids=lambda path: path.name)
def test_everyday_sentences_fire_nothing(evaluator: Evaluator, path: Path) -> None:
    language = path.name.split(".")[1]
    sentences = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    cases = [case(s, s, id=f"T-{n}", checks=ALL_CHECKS, lang=language) for n, s in enumerate(sentences)]
    fired = [
        (finding.rule, result.texts["user"])
        for result in evaluator.evaluate(cases)
        for finding in result.findings
        if finding.signal.startswith(HARMFUL)
    ]
    assert fired == []
    assert len(sentences) >= 60


@pytest.mark.parametrize("path", EVERYDAY, ids=lambda path: path.name)
def test_the_language_of_everyday_sentences_is_recognised(path: Path) -> None:
    language = path.name.split(".")[1]
    sentences = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    detector = rules_in_force().detector
    wrong = [sentence for sentence in sentences if detector.detect(sentence).language != language]
    assert len(wrong) <= len(sentences) // 10, wrong


@pytest.mark.parametrize("path", sorted(CASES.parent.glob("evals*.jsonl")), ids=lambda path: path.name)
def test_bundled_cases_get_their_labels(evaluator: Evaluator, path: Path) -> None:
    cases = api.load_cases(path)
    report = run_cases(cases, evaluator)
    accuracy = report.summary["label_accuracy"]
    assert accuracy["matched"] == accuracy["total"]
    assert report.summary["unexpected_failures"] == 0
    assert report.warnings == ()
    if "safety" not in path.name:
        assert (len(cases), sum(case.is_negative_example for case in cases)) == (26, 10)
        assert sum("crisis" in case.tags for case in cases) >= 4


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_concept_is_missing_without_a_reason(language: str) -> None:
    assert missing_concepts(rules_in_force(), language) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_rule_speaks_english_and_its_own_language(language: str) -> None:
    for rule in rules_in_force().packs[language].rules:
        assert {"en", language} <= rule.why.keys() & rule.instead.keys(), rule.id


def test_a_file_in_several_languages(cli: CommandLine) -> None:
    german = "Ich habe heute meine Arbeit verloren und weiß nicht weiter."
    write_jsonl(
        cli.folder / "c.jsonl",
        [
            row(id="T-1"),
            row(id="T-2", assistant=german, user=german),
            row(id="T-3", user=german, checks=["agency_language", "topic_pivot"]),
            row(id="T-4", lang="xx"),
        ],
    )
    cli("--cases", "c.jsonl", "--fail-on", "9")
    english, foreign, foreign_user, declared = cli.report()["results"]
    assert (english["language"], english["language_by"]) == ("en", "words")
    assert (foreign["language"], foreign["outcome"]) == ("und", "not_applicable")
    assert "no rules for the language" in foreign["checks"]["agency_language"]["reason"]
    assert (foreign_user["language"], foreign_user["user_language"]) == ("en", "und")
    assert foreign_user["checks"]["agency_language"]["pass"] is True
    assert foreign_user["checks"]["topic_pivot"]["applicable"] is False
    assert (declared["language"], declared["language_by"]) == ("und", "declared")


def test_a_language_given_for_all_is_not_detected(cli: CommandLine) -> None:
    write_jsonl(cli.folder / "c.jsonl", [row(assistant="Hm, la la la la.")])
    cli("--cases", "c.jsonl", "--lang", "en", "--fail-on", "9")
    assert cli.report()["results"][0]["language_by"] == "declared"
