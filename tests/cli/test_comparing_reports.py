"""`synthesis compare`: two reports side by side, and an exit code for CI."""

import json
from pathlib import Path

import pytest
from helpers import CommandLine
from report_samples import FAILED, PASSED, Record, report, result, write

GOOD, BAD = {"agency_language": PASSED}, {"agency_language": FAILED}


def reports(cli: CommandLine, before: list[Record], after: list[Record]) -> tuple[Path, Path]:
    return write(report(*before), cli.folder / "old.json"), write(report(*after), cli.folder / "new.json")


def test_new_failures_are_listed_and_break_only_if_asked_to(cli: CommandLine) -> None:
    pair = reports(cli, [result("A-1", checks=GOOD)], [result("A-1", checks=BAD)])
    outcome = cli("compare", *pair)
    assert outcome.code == 0
    assert "newly failing: 1\n  A-1: agency_language, the texts are the same" in outcome.out
    assert "100.0 % -> 0.0 % (1 lost, 0 gained)" in outcome.out
    assert "no difference shown" in outcome.out
    assert cli("compare", *pair, "--fail-on-regression").code == 2


def test_fewer_failures_are_no_regression(cli: CommandLine) -> None:
    pair = reports(cli, [result("A-1", checks=BAD)], [result("A-1", checks=GOOD)])
    outcome = cli("compare", *pair, "--fail-on-regression")
    assert outcome.code == 0
    assert "newly passing: 1" in outcome.out


def test_a_clear_gain_is_called_better(cli: CommandLine) -> None:
    names = [f"A-{number}" for number in range(1, 21)]
    pair = reports(cli, [result(n, checks=BAD) for n in names], [result(n, checks=GOOD) for n in names])
    assert "better" in cli("compare", *pair).out


def test_the_whole_comparison_as_json(cli: CommandLine) -> None:
    pair = reports(cli, [result("A-1", checks=GOOD)], [result("A-1", checks=BAD), result("A-2")])
    found = json.loads(cli("compare", *pair, "--json").out)
    assert found["newly_failing"][0]["id"] == "A-1"
    assert found["only_after"] == ["A-2"]
    assert found["pass_rate"]["confidence"] == 0.95


def test_control_characters_do_not_reach_the_terminal(cli: CommandLine) -> None:
    pair = reports(cli, [], [result("A-1", checks=BAD) | {"id": "\x1b[2J"}])
    assert "\x1b" not in cli("compare", *pair).out


@pytest.mark.parametrize(
    "args", [["none.json", "old.json"], ["old.json", "none.json"], ["old.json", "."], ["old.json"]]
)
def test_what_cannot_be_compared(cli: CommandLine, args: list[str]) -> None:
    reports(cli, [], [])
    outcome = cli("compare", *args)
    assert outcome.code == 1
    assert "Traceback" not in outcome.err
