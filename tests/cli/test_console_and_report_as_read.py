"""The console summary and the report as a person last read them."""

import json

import click
import pytest
from helpers import CommandLine, row, write_jsonl
from snapshots import assert_unchanged

CASES = [
    row(id="T-1", checks=["agency_language", "topic_pivot"], expected={"agency_language": True}, tags=["work"]),
    row(id="T-2", assistant="You should just get over it. I promise it will all work out.",
        checks=["agency_language", "unverifiable_reassurance"]),
    row(id="T-3", assistant="You must calm down.", tags=["agency-fail"], expected={"agency_language": False}),
    row(id="T-4", user="What time is it?", assistant="Noon.", checks=["topic_pivot"]),
]  # fmt: skip


@pytest.fixture
def evaluated(cli: CommandLine) -> CommandLine:
    write_jsonl(cli.folder / "cases.jsonl", CASES)
    return cli


def test_the_console_summary(evaluated: CommandLine) -> None:
    assert_unchanged("console.txt", evaluated("--cases", "cases.jsonl", "--reader", "rules").out)


def test_the_report(evaluated: CommandLine) -> None:
    evaluated("--cases", "cases.jsonl", "--reader", "rules")
    report = evaluated.report()
    for changing in (
        ("tool", "version"),
        ("rules", "hash"),
        ("rules", "count"),
        ("rules", "languages"),
        ("rules", "measured"),
    ):
        report[changing[0]][changing[1]] = "..."
    assert_unchanged("report.json", json.dumps(report, indent=1, ensure_ascii=False) + "\n")


def test_colours_by_outcome(evaluated: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Green for what holds, red for what should not be, a colour for each severity, yellow for what was expected."""
    from synthesis import api
    from synthesis.checks import rules_in_force
    from synthesis.cli import console

    report = api.run_all_cases(CASES)
    failed = [result for result in report.results if result.outcome == "fail"]
    lines = console.summary_lines(report.summary, failed, rules_in_force())
    coloured = {colour: [line for line in lines if f"\x1b[{code}m" in line] for colour, code in
                (("red", 31), ("green", 32), ("yellow", 33), ("magenta", 35))}  # fmt: skip
    assert any("1 unexpected failure" in line for line in coloured["red"])
    assert any("serious" in line and "T-2" in line for line in coloured["magenta"])
    assert any("T-3" in line for line in coloured["yellow"])
    assert any("label accuracy: 100 %" in line for line in coloured["green"])
    assert not any("not assessed" in line for line in coloured["green"])


@pytest.mark.parametrize(("width", "lines_each"), [(None, 1), (80, 2)])
def test_counts_of_a_million_stay_apart_and_below_each_other(
    width: int | None, lines_each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from synthesis.cli import console

    monkeypatch.setattr(console, "columns", lambda: width)
    found = {
        "agency_language": {"passed": 1_234_567, "failed": 100_000, "not_applicable": 8},
        "topic_pivot": {"passed": 9, "failed": 12, "not_applicable": 1_234_579, "errors": 123_456},
    }
    lines = [click.unstyle(line) for line in console._by_check({"by_check": found})]
    assert len(lines) == lines_each * len(found)
    figures = [line for line in lines if "passed" in line]
    assert "1,234,567 passed   100,000 failed         8 not applicable" in figures[0]
    for word in (" passed", " failed", " not applicable"):
        assert len({line.index(word) for line in figures}) == 1
