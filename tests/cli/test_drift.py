"""Conversations on the command line: the strip of turns, the figures of drift, the gate, the comparison."""

import json

import jsonschema_rs
import pytest
from conversation_samples import conversation
from helpers import CommandLine, write_jsonl

from synthesis.cli.console import MOST_TURNS, PER_LINE, strip_lines
from synthesis.io import REPORT_SCHEMA
from synthesis.model.result import CaseResult, CheckResult

GETS_WORSE, STEADY = "ppppppff", "pppppppp"


def write(cli: CommandLine, *patterns: str, name: str = "talk.jsonl") -> str:
    lines = [conversation(f"TALK-{number}", pattern) for number, pattern in enumerate(patterns, start=1)]
    return str(write_jsonl(cli.folder / name, lines))


def test_a_failed_conversation_is_shown_as_a_strip_of_turns(cli: CommandLine) -> None:
    out = cli("eval", write(cli, "ppfpfff", STEADY)).out
    assert "    agency_language  ✓✓✗✓✗ ✗✗  fails first in turn 3 of 7, 3 assessed turns in a row\n" in out
    assert out.count("✓") == 3
    assert "from the first half of a conversation to the second (2 conversations of several turns):" in out
    assert "too few to tell: 1 of 20 conversations that are needed (" in out
    assert out.count("too few to tell") == 1
    assert "  disclosure: never applied\n" in cli("eval", write(cli, STEADY), "--checks", "all").out
    assert "turns 1 to" not in out
    assert "better" not in out, "one conversation is no finding"


def test_single_exchanges_say_nothing_about_drift(cli: CommandLine) -> None:
    outcome = cli("eval", "--cases", "bundled:all", "--limit", "2")
    assert "half" not in outcome.out
    assert "drift" not in cli.report()["summary"]
    assert "timelines" not in cli.report()["results"][0]


def test_checks_that_are_never_long_enough_are_named_once(cli: CommandLine) -> None:
    out = cli("eval", write(cli, "pf", "ppp")).out
    assert "agency_language: every conversation is too short (fewer than 4 assessed turns in each half)" in out


def test_a_very_long_conversation_is_cut_and_says_so() -> None:
    turns = tuple(CheckResult("flattery", passed=False) for _ in range(MOST_TURNS + 3))
    check = CheckResult("flattery", passed=False, turns=turns)
    lines = list(strip_lines(CaseResult("T-1", "fail", False, {"flattery": check})))
    assert len(lines) == MOST_TURNS // PER_LINE + 1
    assert "fails first in turn 1 of 203" in lines[-2]
    assert lines[-1].strip() == "... and 3 more turns"


def test_the_report_holds_timelines_and_drift_as_its_schema_says(cli: CommandLine) -> None:
    cli("eval", write(cli, GETS_WORSE, "pf"), "--checks", "agency_language,crisis_response")
    report = cli.report()
    jsonschema_rs.validator_for(json.loads(REPORT_SCHEMA.read_text())).validate(report)
    timeline = report["results"][0]["timelines"]["agency_language"]
    assert timeline["outcomes"] == ["pass"] * 6 + ["fail"] * 2
    assert (timeline["first_failure"], timeline["longest_run"], timeline["difference"]) == (6, 2, 0.5)
    assert report["results"][0]["timelines"]["crisis_response"]["difference"] is None
    assert list(report["summary"]["drift"]["by_check"]) == ["agency_language"]
    assert report["summary"]["drift"]["by_check"]["agency_language"]["too_short"] == 1


def gate(cli: CommandLine, patterns: list[str], *options: str) -> tuple[int, str]:
    outcome = cli("eval", write(cli, *patterns), "--fail-on", "999", *options)
    return outcome.code, outcome.err


def test_the_gate_asks_for_the_lower_bound(cli: CommandLine) -> None:
    patterns = [GETS_WORSE] * 15 + [STEADY] * 7
    low = "--fail-on-drift", "agency_language=0.1"
    code, err = gate(cli, patterns, *low)
    assert code == 2
    assert "not met: drift of agency_language: +0.341, 95 % interval +0.2" in err
    assert gate(cli, patterns, "--fail-on-drift", "agency_language=0.3") == (
        0,
        "",
    )  # the mean is above, the bound below
    assert cli.report()["options"]["fail_on_drift"] == {"agency_language": 0.3}
    assert gate(cli, [STEADY] * 22, "--fail-on-drift", "agency_language=0") == (0, "")


def test_fewer_than_twenty_usable_conversations_are_too_few_to_tell(cli: CommandLine) -> None:
    code, err = gate(cli, [GETS_WORSE] * 19 + ["pf"] * 10, "--fail-on-drift", "agency_language=0.1")
    assert code == 3
    words = "19 conversations have 4 or more assessed turns in each half, 20 are needed"
    assert err == f"too few to tell: drift of agency_language: {words} (exit code 3)\n"
    assert gate(cli, [GETS_WORSE], "--quiet", "--fail-on-drift", "topic_pivot=0")[0] == 3


def test_the_gate_holds_for_tables_too(cli: CommandLine) -> None:
    options = "--out-table", "verdicts", "--fail-on-drift", "agency_language=0.1"
    assert gate(cli, [GETS_WORSE] * 20, *options)[0] == 2
    code, err = gate(cli, [GETS_WORSE] * 20, *options)  # resumed: nothing is evaluated again
    assert (code, "drift of agency_language: +0.500" in err) == (2, True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("agency=0.1", "Did you mean 'agency_language'?"),
        ("agency_language", "cannot read 'agency_language'"),
        ("=0.1", "cannot read '=0.1'"),
        ("agency_language=much", "'much' is not a number"),
        ("agency_language=", "'' is not a number"),
        ("agency_language=nan", "from -1 to 1, not nan"),
        ("agency_language=10", "from -1 to 1, not 10.0"),
        ("crisis_response=0.1", "crisis_response is left out of drift"),
    ],
)
def test_a_gate_that_cannot_be_is_refused_before_the_run(cli: CommandLine, given: str, message: str) -> None:
    outcome = cli("eval", write(cli, STEADY), "--fail-on-drift", given)
    assert outcome.code == 1
    assert message in outcome.err
    assert not (cli.folder / "out").exists()


def test_a_check_has_one_limit(cli: CommandLine) -> None:
    outcome = cli("eval", *("--fail-on-drift", "agency_language=0.1") * 2)
    assert (outcome.code, "names 'agency_language' twice" in outcome.err) == (1, True)


def test_two_runs_are_compared_by_their_drift(cli: CommandLine) -> None:
    old, new = [GETS_WORSE] * 20, ["ffpppppp"] * 10 + [STEADY] * 10
    cli("eval", write(cli, *old), "--out", "old.json", "--quiet")
    cli("eval", write(cli, *new, name="new.jsonl"), "--out", "new.json", "--quiet")
    out = cli("compare", "old.json", "new.json").out
    assert "drift, from the first half of a conversation to the second:" in out
    assert "  agency_language  +50.0 -> -25.0 points in 20 conversations\n" in out
    assert "change -75.0, 95 % interval -8" in out
    assert "less drift" in out
    (change,) = json.loads(cli("compare", "old.json", "new.json", "--json").out)["drift"]
    assert (change["check"], change["conversations"], change["change"]) == ("agency_language", 20, -0.75)


def test_a_comparison_without_conversations_says_nothing_about_drift(cli: CommandLine) -> None:
    cli("eval", "--cases", "bundled:all", "--limit", "2", "--quiet")
    assert "drift" not in cli("compare", "out/report.json", "out/report.json").out
