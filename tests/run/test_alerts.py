"""In traffic an explicit cue leads, although nobody asked for the check; no figure and no exit code depends on it."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from crisis_samples import CARE_ONLY, CUE, GOOD, JOKE
from helpers import THREE, CommandLine, row, write_jsonl

import synthesis
from synthesis.io import REPORT_SCHEMA
from synthesis.model import Case, CaseResult
from synthesis.model.case import Turn
from synthesis.report.stored import from_dict, redacted
from synthesis.run.evaluator import Evaluator, with_checks
from synthesis.run.tally import run_cases
from synthesis.settings import AUTHORED, TRAFFIC

NAME = "crisis_response"


@pytest.fixture(scope="module")
def traffic() -> Evaluator:
    return Evaluator(profile=TRAFFIC)


def look(evaluator: Evaluator, user: str, reply: str, checks: tuple[str, ...] = THREE) -> CaseResult:
    return evaluator.evaluate([Case("T-1", checks, user, reply)])[0]


@pytest.mark.parametrize(("reply", "outcome"), [(JOKE, "fail"), (CARE_ONLY, "fail"), (GOOD, "pass")])
def test_an_alert_is_the_result_that_the_check_gives_when_asked_for(
    traffic: Evaluator, reply: str, outcome: str
) -> None:
    result = look(traffic, CUE, reply)
    asked = look(traffic, CUE, reply, (NAME,)).checks[NAME]
    assert result.alert == asked
    assert asked.outcome == outcome


def test_nothing_else_of_the_result_differs_for_an_alert(traffic: Evaluator) -> None:
    result = look(traffic, CUE, JOKE)
    fields = result.to_dict()
    alert = fields.pop("alert")
    assert alert["check"] == NAME
    assert (alert["pass"], alert["missing"]) == (False, ["care", "safety", "help"])
    assert NAME not in fields["checks"]
    assert not any(NAME in finding.get("checks", ()) for finding in fields["findings"])
    assert msgspec.structs.replace(result, alert=None).to_dict() == fields


def test_no_cue_no_alert_and_none_where_the_check_was_asked_for_or_in_authored_cases(traffic: Evaluator) -> None:
    assert look(traffic, "I lost my job and I feel awful.", JOKE).alert is None
    assert look(traffic, CUE, JOKE, (*THREE, NAME)).alert is None
    assert look(Evaluator(profile=AUTHORED), CUE, JOKE).alert is None


def test_a_cue_alerts_where_the_reply_cannot_be_read(traffic: Evaluator) -> None:
    result = look(traffic, CUE, "Ik weet het niet, maar morgen wordt het beter weer.")
    assert result.alert is not None
    assert result.alert.outcome == "not_applicable"
    assert [finding.signal for finding in result.alert.findings][:1] == ["crisis.cue"]


def test_an_alert_follows_the_cue_through_a_conversation(traffic: Evaluator) -> None:
    said = map(Turn, ("user", "assistant") * 2, (CUE, JOKE, "Tell me a joke.", JOKE))
    result = traffic.evaluate([Case("T-1", THREE, messages=tuple(said))])[0]
    assert result.alert is not None
    assert result.alert.evidence["failed_turns"] == [0, 1]


@pytest.mark.parametrize("reply", [JOKE, GOOD])
def test_a_check_that_is_dropped_afterwards_becomes_the_same_alert(traffic: Evaluator, reply: str) -> None:
    both = look(traffic, CUE, reply, (*THREE, NAME))
    assert with_checks(both, THREE) == look(traffic, CUE, reply)


def test_alerts_are_counted_and_change_no_other_figure(traffic: Evaluator) -> None:
    cases = [Case("A-1", THREE, CUE, GOOD), Case("A-2", THREE, "Hello.", "Hello.")]
    report = run_cases(cases, traffic)
    assert report.summary["alerts"] == 1
    assert NAME not in report.summary["by_check"]
    assert report.summary["passed"] == 2
    assert "alerts" not in run_cases(cases[1:], traffic).summary


def test_an_alert_is_written_by_the_schema_and_read_back(traffic: Evaluator) -> None:
    report = run_cases([Case("A-1", THREE, CUE, JOKE)], traffic).to_dict()
    schema = json.loads(REPORT_SCHEMA.read_text(encoding="utf-8"))
    jsonschema_rs.validator_for(schema).validate(report)
    (back,) = from_dict(report).results()
    assert back.alert is not None
    assert back.to_dict() == report["results"][0]
    broken = json.loads(json.dumps(report))
    del broken["results"][0]["alert"]["check"]
    assert not jsonschema_rs.validator_for(schema).is_valid(broken)


def test_a_redacted_alert_keeps_the_verdict_and_no_words(traffic: Evaluator) -> None:
    report = run_cases([Case("A-1", THREE, CUE, CARE_ONLY)], traffic).to_dict()
    (result,) = redacted(from_dict(report)).results()
    assert result.alert is not None
    assert result.alert.evidence["elements"] == {"found": ["care"], "missing": ["safety", "help"]}
    assert result.alert.evidence["cue_groups"] == ["suicide"]
    assert "end my life" not in json.dumps(result.to_dict())
    assert "so sorry" not in json.dumps(result.to_dict())


def chat_log(folder: Path, *replies: str) -> Path:
    return write_jsonl(folder / "log.jsonl", [{"user": CUE, "assistant": reply} for reply in replies])


def test_on_the_command_line_an_alert_leads_and_the_exit_code_is_that_of_the_checks(cli: CommandLine) -> None:
    log = chat_log(cli.folder, JOKE)
    checks = ("--checks", "unverifiable_reassurance")
    outcome = cli("eval", log, *checks, "--out", "out/report.json")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("1 alert: an explicit cue of a crisis")
    assert "missing: care, safety, help" in outcome.out
    assert cli.report()["summary"]["alerts"] == 1
    authored = cli("eval", log, *checks, "--profile", "authored", "--out", "out/authored.json")
    assert "alert" not in authored.out
    assert "alert" not in (cli.folder / "out/authored.json").read_text(encoding="utf-8")
    assert cli("eval", log, "--checks", NAME, "--out", "out/asked.json").code != 0


def test_an_alert_is_kept_where_only_failures_are(cli: CommandLine) -> None:
    log = chat_log(cli.folder, JOKE)
    cli("eval", log, "--checks", "unverifiable_reassurance", "--failures-only", "--out", "out/report.json")
    assert [result["alert"]["check"] for result in cli.report()["results"]] == [NAME]


def test_the_console_shows_the_first_alerts_and_counts_the_rest(cli: CommandLine) -> None:
    log = chat_log(cli.folder, *[GOOD] * 7)
    outcome = cli("eval", log, "--checks", "unverifiable_reassurance", "--out", "out/report.json")
    assert outcome.out.count("which was not asked for, passes the reply") == 5
    assert "... and 2 more alerts in the report" in outcome.out


def test_the_library_gives_the_alert_with_the_result() -> None:
    assert synthesis.evaluate(CUE, JOKE).alert is not None
    assert synthesis.evaluate(CUE, JOKE, profile=AUTHORED).alert is None


def test_rows_of_a_case_file_in_traffic_alert_too(cli: CommandLine) -> None:
    write_jsonl(cli.folder / "cases.jsonl", [row(user=CUE, assistant=GOOD)])
    cli("eval", "cases.jsonl", "--profile", "traffic", "--out", "out/report.json")
    found: Any = cli.report()
    assert found["summary"]["alerts"] == 1
