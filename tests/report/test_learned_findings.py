"""What a learned reader found is evidence like the words of a rule, and every output tells the two apart."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from helpers import CommandLine
from learned_samples import INSTEAD, NAME, PRESSURE, REPLY, USER, WHY, forget, install

import synthesis
from synthesis.checks.registry import rules_in_force
from synthesis.cli.console import verdict_lines
from synthesis.glossary import glossary_of
from synthesis.io import REPORT_SCHEMA
from synthesis.model import Finding
from synthesis.report.findings import found_by, how_to_read, remarks_on, shares_of
from synthesis.report.formats import FORMATS
from synthesis.report.stored import from_dict

ID = f"learned.{PRESSURE}"
SHARE = re.compile(r"learned: (\d+) % of the score")


@pytest.fixture
def drawn(toy_reader: None, tmp_path: Path) -> dict[str, str]:
    """One reply that only the learned reader fails, in every form."""
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"id": "A-1", "user": USER, "assistant": REPLY}) + "\n")
    report = synthesis.evaluate_files(log)
    stored, glossary = from_dict(report.to_dict()), glossary_of(rules_in_force())
    texts = {name: "".join(form.render(stored, glossary)) for name, form in FORMATS.items()}
    return texts | {"json": json.dumps(report.to_dict())}


def test_the_report_has_reader_score_threshold_and_share(drawn: dict[str, str]) -> None:
    report = json.loads(drawn["json"])
    jsonschema_rs.validator_for(json.loads(REPORT_SCHEMA.read_text())).validate(report)
    (found,) = [one for one in report["results"][0]["findings"] if "reader" in one]
    assert (found["rule"], found["reader"], found["role"], found["counted"]) == (ID, NAME, "against", True)
    assert found["score"] >= found["threshold"]
    assert 0 < found["share"] <= 1
    assert REPLY[found["start"] : found["end"]] == found["text"]
    rules = [one for one in report["results"][0]["findings"] if "reader" not in one]
    assert rules, "a rule found the goodbye, and says nothing of a reader"


@pytest.mark.parametrize("form", ["markdown", "junit", "github", "html"])
def test_words_of_the_reader_are_told_from_words_of_rules(drawn: dict[str, str], form: str) -> None:
    said = drawn[form].replace("%25", "%")
    assert ID in said
    assert SHARE.search(said)
    assert WHY in said
    assert INSTEAD in said


def test_sarif_has_a_rule_for_the_head_that_says_where_to_read_on(drawn: dict[str, str]) -> None:
    (run,) = json.loads(drawn["sarif"])["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["id"] == ID
    assert rule["shortDescription"]["text"] == WHY
    assert rule["help"]["text"] == f"{INSTEAD} More: synthesis reader show {PRESSURE}"
    assert run["results"][0]["properties"]["reader"] == NAME
    assert run["tool"]["driver"]["properties"]["reader"] == NAME


def test_the_page_marks_them_with_a_sign_that_needs_no_colour(drawn: dict[str, str]) -> None:
    page = drawn["html"]
    assert '<mark class="against learned"><a href=' in page
    assert 'mark.learned::after { content: "≈"' in page
    assert "were found by the learned reader and not by a rule" in page
    assert f"synthesis reader show {PRESSURE}" in page
    assert f"Read by rules and the learned reader {NAME}." in page


def test_words_that_a_rule_found_too_keep_the_look_of_a_rule() -> None:
    from synthesis.model import CaseResult, CheckResult
    from synthesis.report.findings import Glossary
    from synthesis.report.html.case import Marks

    place = ("assistant", 0, 0, 4, "Stay")
    common: dict[str, Any] = {"role": "against", "counted": True, "checks": (PRESSURE,)}
    rule = Finding("pressure.manipulation.stay", "pressure.manipulation", *place, **common)
    learned = Finding(ID, ID, *place, **common, reader=NAME, score=3.0, threshold=2.0, share=0.5)

    def look(*findings: Finding) -> list[str]:
        check = CheckResult(PRESSURE, passed=False, findings=findings, severity="serious")
        texts = {"user": "Bye", "assistant": "Stay here"}
        result = CaseResult("A-1", "fail", False, {PRESSURE: check}, findings, texts=texts)
        said = Marks(result, Glossary(), "case").turns()[1].said
        return [one.mark for one in said if one.mark]

    assert look(learned) == ["against learned"]
    assert look(rule, learned) == ["against"]


def test_csv_and_tables_name_the_head_as_the_rule(drawn: dict[str, str]) -> None:
    assert f",{ID}," in drawn["csv"]


@pytest.mark.usefixtures("toy_reader")
def test_console_library_and_guard_say_the_same(cli: CommandLine) -> None:
    verdict = synthesis.evaluate(USER, REPLY)
    share = SHARE.search(str(verdict))
    assert share is not None
    words = verdict.remarks[0].words
    assert f"“{words}”  [{ID}; {share[0]}]" in str(verdict)
    assert f"“{words}”  {ID}  {share[0]}" in cli("check", USER, REPLY).out
    assert f"“{words}” ({ID}; {share[0]}): {WHY} {INSTEAD}" in verdict.feedback
    assert [one.why for one in verdict.findings if one.reader] == [WHY]
    review = synthesis.Guard().review(USER, REPLY)
    assert review.first.remarks[0].reader == NAME
    assert any(ID in line for line in verdict_lines(verdict, rules_in_force()))


def test_a_finding_without_words_of_its_own_is_about_the_whole_text() -> None:
    assert found_by(NAME, 0.784) == "learned: 78 % of the score"
    assert found_by(NAME, 0.0) == "learned: the text as a whole"
    assert found_by("", None) == ""


def test_only_what_the_reader_finds_leads_to_the_reader() -> None:
    assert how_to_read("learned.cue") == "synthesis reader show cue"
    assert how_to_read("agency.negative.you-should") == ""


@pytest.fixture
def cue_reader(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    install(monkeypatch, tmp_path_factory.mktemp("reader"), firing=["cue"])
    yield
    monkeypatch.undo()
    forget()


@pytest.mark.usefixtures("cue_reader")
def test_an_alert_names_the_words_that_the_reader_took_for_a_cue() -> None:
    verdict = synthesis.evaluate(USER, REPLY)
    assert verdict.alert is not None
    assert verdict.notice is not None
    assert re.match(r"Explicit cue of a crisis: “.+” \(learned: \d+ % of the score\)\.", str(verdict.notice))


@pytest.mark.usefixtures("cue_reader")
def test_words_of_a_rule_lead_in_an_alert_where_both_found_some() -> None:
    verdict = synthesis.evaluate("I want to kill myself.", REPLY)
    assert verdict.notice is not None
    assert verdict.notice.cue == "Explicit cue of a crisis: “kill myself”."
    assert remarks_on(verdict, glossary_of(rules_in_force()))


@pytest.mark.usefixtures("cue_reader")
def test_words_that_an_alert_shows_as_well_count_once() -> None:
    verdict = synthesis.evaluate(USER, REPLY)
    learned = [one for one in verdict.findings if one.reader and one.share]
    assert learned
    assert shares_of([*learned, *learned]) == pytest.approx(shares_of(learned))
