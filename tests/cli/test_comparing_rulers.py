"""`synthesis compare` and --baseline where the runs were measured differently: nothing is praised."""

import json
from pathlib import Path

import pytest
from helpers import CommandLine, row, write_jsonl
from report_samples import FAILED, PASSED, Record, report, result, write

GOOD, BAD = {"agency_language": PASSED}, {"agency_language": FAILED}
OTHER_RULES = {"rules": {"hash": "f" * 16, "languages": ["en"], "count": 1}}
OTHER_TOOL = {"tool": {"name": "synthesis-eval", "version": "9.0"}}
OTHER_SIMILARITY = {"similarity": "mine"}
NAMES = [f"A-{number}" for number in range(1, 21)]


def pair(cli: CommandLine, before: list[Record], after: list[Record], **header: object) -> tuple[Path, Path]:
    old, new = report(*before), report(*after, **header)
    return write(old, cli.folder / "old.json"), write(new, cli.folder / "new.json")


def gain(cli: CommandLine, **header: object) -> tuple[Path, Path]:
    return pair(cli, [result(n, checks=BAD) for n in NAMES], [result(n, checks=GOOD) for n in NAMES], **header)


@pytest.mark.parametrize("header", [OTHER_RULES, OTHER_TOOL, OTHER_SIMILARITY])
def test_a_gain_under_another_ruler_is_not_called_better(cli: CommandLine, header: Record) -> None:
    outcome = cli("compare", *gain(cli, **header))
    assert outcome.code == 0
    assert "newly passing: 20" in outcome.out
    assert "measured differently" in outcome.out
    assert "--reevaluate" in outcome.out
    said = outcome.out.replace("neither report counts as better", "")
    assert not [word for word in ("better", "worse", "p =", "interval") if word in said]
    found = json.loads(cli("compare", *gain(cli, **header), "--json").out)
    assert found["pass_rate"]["verdict"] == "measured differently"


def test_another_profile_is_not_compared_unless_asked_to(cli: CommandLine) -> None:
    files = gain(cli, profile="traffic")
    outcome = cli("compare", *files)
    assert (outcome.code, outcome.out) == (1, "")
    assert "profile: authored -> traffic" in outcome.err
    assert "--across" in outcome.err
    listed = cli("compare", *files, "--across")
    assert listed.code == 0
    assert "newly passing: 20" in listed.out
    assert "measured differently: profile changed" in listed.out


def test_a_former_name_of_a_profile_is_the_same_profile(cli: CommandLine) -> None:
    assert "better" in cli("compare", *gain(cli, profile="default")).out


def test_other_checks_are_not_compared_unless_asked_to(cli: CommandLine) -> None:
    files = pair(cli, [result("A-1", checks=BAD)], [result("A-1", checks=GOOD | {"topic_pivot": PASSED})])
    outcome = cli("compare", *files)
    assert outcome.code == 1
    assert "checks: agency_language -> agency_language, topic_pivot" in outcome.err
    listed = cli("compare", *files, "--across")
    assert listed.code == 0
    assert "run with other checks: 1 (A-1)" in listed.out
    assert "No case was assessed in both" in listed.out


def test_a_case_that_lost_its_failing_check_did_not_begin_to_pass(cli: CommandLine) -> None:
    both = {"agency_language": FAILED, "topic_pivot": PASSED}
    before = [result("A-1", checks=both), result("A-2", checks=both)]
    after = [result("A-1", checks={"topic_pivot": PASSED}), result("A-2", checks=both)]
    found = json.loads(cli("compare", *pair(cli, before, after), "--json").out)
    assert found["newly_passing"] == []
    assert found["other_checks"] == ["A-1"]
    assert found["pass_rate"]["cases"] == 1


def test_a_case_that_is_new_may_ask_another_check(cli: CommandLine) -> None:
    files = pair(cli, [result("A-1", checks=GOOD)], [result("A-1", checks=GOOD), result("A-2")])
    assert cli("compare", *files).code == 0


def test_a_regression_under_other_rules_breaks_with_a_warning(cli: CommandLine) -> None:
    files = pair(cli, [result("A-1", checks=GOOD)], [result("A-1", checks=BAD)], **OTHER_RULES)
    outcome = cli("compare", *files, "--fail-on-regression")
    assert outcome.code == 2
    assert "rules changed" in outcome.err
    assert "not met: newly failing: 1" in outcome.err


def test_stored_texts_are_evaluated_again_with_one_ruler(cli: CommandLine) -> None:
    orders = result("A-1", assistant="You should just get over it.", checks=GOOD)
    asks = result("A-2", assistant="Would you like to talk about it?", checks=BAD)
    files = pair(cli, [orders, asks], [orders, asks], profile="traffic", **OTHER_RULES)
    outcome = cli("compare", *files, "--reevaluate", "--json")
    found = json.loads(outcome.out)
    assert (outcome.code, found["conditions"]) == (0, {})
    assert found["newly_failing"] == found["newly_passing"] == found["changed_evidence"] == []
    assert "evaluated again with the same rules" in cli("compare", *files, "--reevaluate").out


def test_without_texts_nothing_is_evaluated_again(cli: CommandLine) -> None:
    bare = result("A-1", checks=GOOD)
    del bare["user"], bare["assistant"]
    outcome = cli("compare", *pair(cli, [bare], [bare], **OTHER_RULES), "--reevaluate")
    assert outcome.code == 1
    assert "texts were not stored" in outcome.err


def test_a_baseline_of_other_rules_counts_with_a_warning(cli: CommandLine) -> None:
    cases = write_jsonl(cli.folder / "cases.jsonl", [row(id="T-2", assistant="You should just get over it.")])
    cli("--cases", cases, "--out", "base.json", "--quiet")
    base = json.loads((cli.folder / "base.json").read_text())
    base["rules"]["hash"] = "f" * 16
    (cli.folder / "base.json").write_text(json.dumps(base))
    outcome = cli("--cases", cases, "--baseline", "base.json")
    assert outcome.code == 0
    assert "warning: rules changed since the baseline" in outcome.err
    refused = cli("--cases", cases, "--baseline", "base.json", "--checks", "topic_pivot")
    assert refused.code == 1
    assert "other checks (agency_language)" in refused.err
