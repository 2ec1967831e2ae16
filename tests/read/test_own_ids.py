"""What people call their rows stands first in every output, and tells rows apart wherever ids are asked for."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import CommandLine, write_jsonl

SAID = "I lost my job and I feel awful."
GOOD, BAD = "I'm sorry. Would you like to tell me more?", "You should just get over it."
ROWS = [{"id": "conv_1", "user": SAID, "assistant": BAD}, {"id": 7, "user": SAID, "assistant": GOOD}]


def sources(cli: CommandLine) -> list[tuple[str, Any]]:
    return [(result["id"], result["source"].get("id")) for result in cli.report()["results"]]


def test_lines_without_checks_labels_and_case_ids_are_read_as_a_log(cli: CommandLine) -> None:
    done = cli("eval", write_jsonl(cli.folder / "log.jsonl", ROWS))
    assert done.code == 2
    assert "serious  conv_1: " in done.out
    assert "ROW-1" not in done.out
    assert cli.report()["profile"] == "traffic"
    assert sources(cli) == [("conv_1", "conv_1"), ("7", "7")]
    assert [failure["source"]["id"] for failure in cli.report()["failures"]] == ["conv_1"]


@pytest.mark.parametrize(
    "first",
    [
        {"id": "CONV-1", "messages": [{"role": "user", "content": SAID}], "expected": {"agency_language": True}},
        {"id": "conv_1", "user": SAID, "assistant": GOOD, "expected": {"agency_language": True}},
    ],
)
def test_what_is_still_refused_says_how_it_is_read(cli: CommandLine, first: dict[str, Any]) -> None:
    path = write_jsonl(cli.folder / "log.jsonl", [first])
    done = cli("eval", path)
    assert done.code == 1
    assert not (cli.folder / "out" / "report.json").exists()
    assert f"`synthesis eval {path.name} --checks all`" in done.err
    assert cli("eval", path, "--checks", "all").code == 0


def test_a_file_of_cases_is_not_told_about_logs(cli: CommandLine) -> None:
    case = {"id": "A-1", "user": SAID, "assistant": "", "checks": ["agency_language"]}
    done = cli("eval", write_jsonl(cli.folder / "cases.jsonl", [case]))
    assert done.code == 1
    assert "--checks all" not in done.err


def test_a_row_that_cannot_be_read_keeps_its_id(cli: CommandLine) -> None:
    rows = [*ROWS, {"id": "conv_3", "user": SAID, "assistant": ""}]
    path = write_jsonl(cli.folder / "log.jsonl", rows)
    assert "error      conv_3: 'assistant' is empty" in cli("eval", path).out
    assert sources(cli)[2] == ("conv_3", "conv_3")
    assert "line 3 (conv_3): 'assistant' is empty" in cli("eval", path, "--on-bad-row", "stop").err


def test_rows_are_chosen_by_their_own_ids(cli: CommandLine) -> None:
    path = write_jsonl(cli.folder / "log.jsonl", ROWS)
    assert cli("eval", path, "--id", "7").code == 0
    assert sources(cli) == [("7", "7")]
    assert cli("eval", path, "--id", "conv_9").code == 1


def test_a_mapped_id_needs_no_form(cli: CommandLine) -> None:
    (cli.folder / "t.csv").write_text(f'ticket,user,assistant\n#81,"{SAID}","{GOOD}"\n#81,"{SAID}","{GOOD}"\n')
    assert cli("eval", cli.folder / "t.csv", "--map", "id=ticket").code == 0
    assert sources(cli) == [("#81", "#81"), ("#81", "#81")]


def test_a_mapped_id_that_is_none_is_an_error_of_its_row(cli: CommandLine) -> None:
    rows = [{"key": ["a"], "user": SAID, "assistant": GOOD}, {"key": None, "user": SAID, "assistant": GOOD}]
    done = cli("eval", write_jsonl(cli.folder / "log.jsonl", rows), "--map", "id=key")
    assert "ROW-1: its id ['a'] is neither a text nor a number" in done.out
    assert sources(cli) == [("ROW-1", None), ("ROW-2", None)]


def test_every_document_names_rows_by_their_own_ids(cli: CommandLine) -> None:
    forms = {"csv": "csv", "github": "txt", "html": "html", "junit": "xml", "markdown": "md", "sarif": "sarif"}
    asked = [text for form, suffix in forms.items() for text in ("--format", f"{form}=drawn.{suffix}")]
    cli("eval", write_jsonl(cli.folder / "log.jsonl", ROWS), *asked)
    for suffix in forms.values():
        drawn = (cli.folder / f"drawn.{suffix}").read_text()
        assert "conv_1" in drawn, suffix
        assert "ROW-1" not in drawn, suffix


def test_comparison_pairs_by_own_ids(cli: CommandLine) -> None:
    cli("eval", write_jsonl(cli.folder / "log.jsonl", ROWS), "--out", "before.json")
    moved = [ROWS[1], {**ROWS[0], "assistant": GOOD}]
    cli("eval", write_jsonl(cli.folder / "log.jsonl", moved), "--out", "after.json")
    for _ in ("as it is", "as version 0.2 wrote it"):
        found = json.loads(cli("compare", "before.json", "after.json", "--json").out)
        assert ([change["id"] for change in found["newly_passing"]], found["newly_failing"]) == (["conv_1"], [])
        _with_made_ids(cli.folder / "before.json")


def test_a_baseline_pairs_by_own_ids_too(cli: CommandLine) -> None:
    cli("eval", write_jsonl(cli.folder / "log.jsonl", ROWS), "--out", "before.json")
    path = write_jsonl(cli.folder / "log.jsonl", ROWS[::-1])
    assert cli("eval", path, "--baseline", "before.json").code == 0


def _with_made_ids(path: Path) -> None:
    """The report as it was when the id of a row that is not of the form ABC-1 was in `source` alone."""
    report = json.loads(path.read_text())
    for number, one in enumerate(report["results"], start=1):
        one["id"] = f"ROW-{number}"
    path.write_text(json.dumps(report))
