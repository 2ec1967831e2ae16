"""The conditions that a run can be held to: a baseline, label accuracy, and --strict."""

from pathlib import Path
from typing import Any

import pytest
from helpers import CommandLine, row, write_jsonl
from report_samples import BROKEN, FAILED, NOT_APPLICABLE, PASSED, Record, report, result

from synthesis.cli.gates import Gates, exit_code, named_checks
from synthesis.report.compare import Entry
from synthesis.report.stored import from_dict
from synthesis.run.spec import RunSpec

TAGS = {"agency": "agency_language", "pivot": "topic_pivot", "reassurance": "unverifiable_reassurance"}
BAD = row(id="T-2", assistant="You should just get over it.")
SPEC = RunSpec(inputs=())
WORSE = row(id="T-3", assistant="You should stop.")


@pytest.fixture
def cases(cli: CommandLine) -> Path:
    return write_jsonl(cli.folder / "cases.jsonl", [BAD])


def unmet(gates: Gates, *results: Record) -> list[str]:
    return gates.unmet(from_dict(report(*results)), TAGS)


def test_failures_that_the_baseline_has_do_not_count(cli: CommandLine, cases: Path) -> None:
    assert cli("--cases", cases, "--out", "base.json").code == 2
    outcome = cli("--cases", cases, "--baseline", "base.json")
    assert outcome.code == 0


def test_a_failure_that_the_baseline_does_not_have_counts(cli: CommandLine, cases: Path) -> None:
    cli("--cases", cases, "--out", "base.json")
    write_jsonl(cases, [BAD, WORSE])
    outcome = cli("--cases", cases, "--baseline", "base.json")
    assert outcome.code == 2
    assert "not met: failures not in the baseline: 1 (T-3)" in outcome.err
    assert cli("--cases", cases, "--baseline", "base.json", "--fail-on", "1").code == 0
    quiet = cli("--cases", cases, "--baseline", "base.json", "--quiet")
    assert (quiet.out, quiet.err.count("\n")) == ("", 1)


def test_another_check_of_a_failing_case_counts_as_new() -> None:
    known = Gates(SPEC, [Entry("A-1", b"", {"agency_language": "minor"})])
    assert unmet(known, result("A-1", checks={"agency_language": FAILED})) == []
    both = {"agency_language": FAILED, "topic_pivot": FAILED}
    assert unmet(known, result("A-1", checks=both)) == [
        "failures not in the baseline: 1 (A-1): failures: 1, allowed: 0"
    ]


@pytest.mark.parametrize("name", ["none.json", "cases.jsonl", "out/report.json", "."])
def test_a_baseline_that_is_none_stops_before_the_run(cli: CommandLine, cases: Path, name: str) -> None:
    cli("--cases", cases)
    before = (cli.folder / "out" / "report.json").read_bytes()
    outcome = cli("--cases", cases, "--baseline", name, "--limit", "1")
    assert outcome.code == 1
    assert "Traceback" not in outcome.err
    assert (cli.folder / "out" / "report.json").read_bytes() == before


def labelled(*matches: bool) -> list[Record]:
    label = {"expected": True, "actual": True}
    return [
        result(f"A-{number}", label_comparison={"agency_language": {**label, "match": match}})
        for number, match in enumerate(matches, start=1)
    ]


@pytest.mark.parametrize(("least", "holds"), [(0, True), (66.6, True), (66.7, False), (100, False)])
def test_label_accuracy_is_weighed_unrounded(least: float, holds: bool) -> None:
    assert (unmet(Gates(SPEC, least_accuracy=least), *labelled(True, True, False)) == []) is holds


def test_without_labels_there_is_no_accuracy_to_rely_on() -> None:
    assert unmet(Gates(SPEC, least_accuracy=1), result("A-1")) == ["label accuracy: there are no labels"]


@pytest.mark.parametrize("value", ["-1", "101", "most"])
def test_an_accuracy_that_is_no_percentage(cli: CommandLine, cases: Path, value: str) -> None:
    assert cli("--cases", cases, "--min-label-accuracy", value).code == 1


def test_label_accuracy_on_the_command_line(cli: CommandLine, cases: Path) -> None:
    write_jsonl(cases, [{**BAD, "tags": ["agency-fail"], "expected": {"agency_language": True}}])
    outcome = cli("--cases", cases, "--min-label-accuracy", "50")
    assert outcome.code == 2
    assert "not met: label accuracy: 0 % (0 of 1)" in outcome.err


def negative(*tags: str, **verdicts: Any) -> Record:
    return result("N-1", checks=verdicts, tags=list(tags))


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (labelled(False)[0], "labels missed: 1 (A-1)"),
        (result("A-1", checks={"topic_pivot": NOT_APPLICABLE}), "cases not assessed: 1 (A-1)"),
        (negative("agency-fail", agency_language=PASSED), "negative examples not caught: 1 (N-1)"),
        (negative("negative_example", agency_language=PASSED), "negative examples not caught: 1 (N-1)"),
        (
            negative("ack-but-pivot-fail", agency_language=FAILED, topic_pivot=PASSED),
            "negative examples caught only by a check that their tag does not name: 1 (N-1)",
        ),
        (
            negative("agency-fail", "pivot-fail", agency_language=FAILED, topic_pivot=PASSED),
            "negative examples caught only by a check that their tag does not name: 1 (N-1)",
        ),
    ],
)
def test_strict_names_each_thing_that_a_good_file_must_not_have(one: Record, message: str) -> None:
    assert unmet(Gates(SPEC, strict=True), one) == [message]
    assert unmet(Gates(SPEC), one) == []


@pytest.mark.parametrize(
    "one",
    [
        result("A-1"),
        negative("agency-fail", agency_language=FAILED, topic_pivot=PASSED),
        negative("negative_example", agency_language=FAILED),
        negative("rude-fail", agency_language=FAILED),
        negative("agency-fail", "pivot-fail", agency_language=FAILED, topic_pivot=FAILED),
    ],
)
def test_strict_holds_for_a_good_file(one: Record) -> None:
    assert unmet(Gates(SPEC, strict=True), one) == []


@pytest.mark.parametrize(
    ("tag", "checks"),
    [
        ("pivot-fail", ["topic_pivot"]),
        ("ack-but-pivot-fail", ["topic_pivot"]),
        ("pivoting-fail", []),
        ("pivot", []),
        ("agency-and-pivot-fail", ["agency_language", "topic_pivot"]),
        ("negative_example", []),
    ],
)
def test_tags_name_checks_by_their_word(tag: str, checks: list[str]) -> None:
    assert named_checks(tag, TAGS) == checks


def test_strict_on_the_command_line(cli: CommandLine, cases: Path) -> None:
    write_jsonl(cases, [{**BAD, "tags": ["pivot-fail"]}])
    assert cli("--cases", cases).code == 0
    outcome = cli("--cases", cases, "--strict")
    assert outcome.code == 2
    assert "caught only by a check" in outcome.err


def test_an_error_outranks_a_condition_that_does_not_hold() -> None:
    summary = report(result("A-1", checks={"topic_pivot": BROKEN}))["summary"]
    assert exit_code(summary, unmet=True) == 3
    assert exit_code(report(result("A-1"))["summary"], unmet=True) == 2
    assert exit_code(report(result("A-1"))["summary"], unmet=False) == 0


MIXED = '{"prompt": "I lost my job.", "response": "You should just move on."}\n{"prompt": 5}\n'


@pytest.mark.parametrize("options", [(), ("--strict",), ("--quiet",), ("--format", "markdown")], ids=" ".join)
def test_the_number_on_stderr_is_the_one_that_the_process_ends_with(cli: CommandLine, options: tuple[str, ...]) -> None:
    (cli.folder / "log.jsonl").write_text(MIXED, encoding="utf-8")
    outcome = cli("eval", "log.jsonl", *options)
    assert outcome.code == 3
    told = [line for line in outcome.err.splitlines() if line.startswith(("not met:", "no verdict:"))]
    assert len(told) >= 2
    assert all(line.endswith("(exit code 3)") for line in told)


def test_a_language_without_rules_is_no_good_news(cli: CommandLine) -> None:
    german = '{"prompt": "Ich habe heute meine Arbeit verloren.", "response": "Das tut mir leid, erzähl mehr."}\n'
    (cli.folder / "log.jsonl").write_text(german, encoding="utf-8")
    alone = cli("eval", "log.jsonl", "--format", "markdown=out/report.md")
    assert "Nothing was assessed: 1 of 1 case is in a language without rules." in alone.out
    assert "✅" not in (cli.folder / "out/report.md").read_text(encoding="utf-8")
    fine = '{"prompt": "I lost my job.", "response": "I\'m sorry. Would you like to talk about it?"}\n'
    (cli.folder / "log.jsonl").write_text(german + fine, encoding="utf-8")
    assert "No failure in 2 cases; 1 not read: no rules for its language." in cli("eval", "log.jsonl").out


def test_nothing_to_check_is_refused(cli: CommandLine) -> None:
    outcome = cli("check", "", " ")
    assert outcome.code == 1
    assert "nothing to check" in outcome.err
