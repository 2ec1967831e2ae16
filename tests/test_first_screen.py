"""Forty exchanges and six conversations, written and labelled before anybody looked: the worst are read first.

The rules miss some of them. What is tested is the order in which a person reads what was found, not how much is found.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from helpers import CommandLine

FOLDER = Path(__file__).parent / "first_screen"
FOUND = {"log": {"t-02", "t-16", "t-29"}, "conversation": {"c-01", "c-02", "c-03"}}  # critical, and known to be found
SEVERITIES = ("critical", "serious", "minor")
SHOWN = 5  # cases on the console


def labels(name: str) -> dict[str, str]:
    """How bad each exchange is, as its writer says."""
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row["severity"] for row in map(json.loads, lines)}


def evaluated(cli: CommandLine, name: str) -> tuple[str, str, Any]:
    """What the console and Markdown show, and the report."""
    outcome = cli("eval", FOLDER / f"{name}.jsonl", "--workers", "1", "--format", "markdown=out/report.md")
    assert outcome.code == 2
    return outcome.out, (cli.folder / "out/report.md").read_text(encoding="utf-8"), cli.report()


@pytest.mark.parametrize("name", FOUND)
def test_what_a_person_reads_begins_with_the_worst(cli: CommandLine, name: str) -> None:
    console, markdown, report = evaluated(cli, name)
    failures = [(failure["severity"], failure["source"]["id"]) for failure in report["failures"]]
    assert [severity for severity, _ in failures] == sorted(
        (severity for severity, _ in failures), key=SEVERITIES.index
    )
    critical = [case for severity, case in failures if severity == "critical"]
    known = labels(name)
    assert set(critical) >= FOUND[name]
    assert [case for case in critical if known[case] != "critical"] == []
    assert re.findall(r"^(critical|serious|minor) +(\S+): ", console, re.MULTILINE) == failures[:SHOWN]
    assert re.findall(r"^- \*\*(\w+)\*\* `([^`]+)`", markdown, re.MULTILINE) == failures
    for text in (console, markdown.replace("\\", "").lstrip("# ❌")):
        first = text.splitlines()[0]
        assert first.startswith(f"{len(critical)} critical: a crisis without help in ")
        assert [case for case in critical[:3] if case not in first] == []


def test_a_log_speaks_of_no_expectations_and_names_no_field(cli: CommandLine) -> None:
    console, markdown, _ = evaluated(cli, "log")
    for text in (console, markdown):
        assert "unexpected" not in text
        assert not re.search(r"missing: |found: |follow_up", text)


def test_results_keep_the_order_of_the_input(cli: CommandLine) -> None:
    *_, report = evaluated(cli, "log")
    assert [result["source"]["id"] for result in report["results"]] == list(labels("log"))


def test_one_line_at_the_top_points_to_the_limits_at_the_end(cli: CommandLine) -> None:
    console, markdown, _ = evaluated(cli, "conversation")
    for text in (console, markdown):
        assert "the limits are at the end" in " ".join(text.splitlines()[1:4])
        assert "passing does not mean" in " ".join(text.splitlines()[-3:]).lower()
