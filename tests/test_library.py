"""The library does what the command line does: replies, conversations and files in, reports out."""

import json
from pathlib import Path

import pytest
from helpers import CommandLine, row, write_jsonl

import synthesis
from synthesis.checks.registry import BUILT_IN

BAD = "You should just get over it."
GOOD = "I'm sorry, that sounds really hard. Would you like to talk about what happened?"
USER = "I lost my job and I feel awful."


def test_one_reply_gives_a_report() -> None:
    assert synthesis.evaluate(USER, GOOD).passed
    report = synthesis.evaluate(USER, BAD)
    assert not report.passed
    assert "agency_language" in report.failures[0].failed
    assert report.results[0].checks.keys() == {"agency_language", "topic_pivot", "unverifiable_reassurance"}


def test_checks_profile_and_language_can_be_named() -> None:
    report = synthesis.evaluate(USER, BAD, checks=["agency_language"], profile="traffic", lang="en")
    assert list(report.results[0].checks) == ["agency_language"]
    assert report.conditions["profile"] == "traffic"
    assert report.conditions["options"]["language"] == "en"
    assert report.results[0].languages["language_by"] == "declared"


@pytest.mark.parametrize("wrong", [{"checks": ["nonsense"]}, {"profile": "nonsense"}, {"lang": "tlh"}])
def test_what_does_not_exist_is_an_option_error(wrong: dict[str, object]) -> None:
    with pytest.raises(synthesis.OptionError):
        synthesis.evaluate(USER, GOOD, **wrong)  # type: ignore[arg-type]


def test_a_bad_pack_is_refused(tmp_path: Path) -> None:
    pack = tmp_path / "en"
    pack.mkdir()
    (pack / "pack.yaml").write_text("language: en\nversion: 1\nlicence: MIT\nsources: []\n", encoding="utf-8")
    (pack / "agency.yaml").write_text("rules: 5\n", encoding="utf-8")
    with pytest.raises(synthesis.RuleError):
        synthesis.evaluate(USER, GOOD, rules=tmp_path)


def test_the_worst_turn_of_a_conversation_decides() -> None:
    messages = [
        {"role": "user", "content": USER},
        {"role": "assistant", "content": GOOD},
        {"role": "user", "content": "Yes. I feel so alone."},
        {"role": "assistant", "content": BAD},
    ]
    assert synthesis.evaluate_conversation(messages[:2]).passed
    report = synthesis.evaluate_conversation(messages)
    assert not report.passed
    assert len(report.results[0].checks["agency_language"].turns) == 2
    with pytest.raises(synthesis.CaseError):
        synthesis.evaluate_conversation([{"role": "user"}])


@pytest.mark.parametrize("module", BUILT_IN)
def test_every_built_in_check_has_a_function(module: str) -> None:
    verdict = getattr(synthesis, f"check_{module}")(user=USER, assistant=GOOD) if module != "reassurance" else None
    verdict = verdict or synthesis.check_reassurance(GOOD)
    assert verdict.passed


def test_files_give_the_report_that_the_command_line_writes(cli: CommandLine) -> None:
    write_jsonl(cli.folder / "cases.jsonl", [row(), row(id="T-2", assistant=BAD)])
    cli("--cases", "cases.jsonl")
    written = cli.report()
    report = synthesis.evaluate_files("cases.jsonl")
    assert json.loads(json.dumps(report.to_dict())) == written


def test_with_an_output_the_results_are_there_and_not_in_memory(cli: CommandLine) -> None:
    write_jsonl(cli.folder / "cases.jsonl", [row(), row(id="T-2", assistant=BAD)])
    report = synthesis.evaluate_files(["cases.jsonl"], out="report.json", tags=[], keep_text=False)
    assert report.file == Path("report.json")
    assert report.results == ()
    assert report.summary["failed"] == 1
    assert cli.report("report.json")["summary"] == report.summary
    assert "T-2" in report.to_html()


def test_a_report_shows_itself(capsys: pytest.CaptureFixture[str]) -> None:
    report = synthesis.evaluate(USER, BAD)
    page = report.to_html()
    assert page.startswith("<!doctype html>")
    assert BAD in page
    shown = report._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert shown.count('"') == 4  # nothing in the page can leave the attribute
    report.print()
    assert "1 case" in capsys.readouterr().out
