"""`--no-report`: the same run, the same exit code, and no report file."""

import json
import os

import pytest
from helpers import CommandLine, row, write_jsonl

from synthesis.history import open_history

COLD = "You should get over it. Anyway, let us talk about sports."


@pytest.fixture
def cases(cli: CommandLine) -> str:
    rows = [row(), row(id="T-2", assistant=COLD, checks=["agency_language", "topic_pivot"])]
    return str(write_jsonl(cli.folder / "cases.jsonl", rows))


def files(cli: CommandLine) -> set[str]:
    return {str(path.relative_to(cli.folder)) for path in cli.folder.rglob("*") if path.is_file()} - {"cases.jsonl"}


def test_nothing_is_written_and_the_summary_and_exit_code_stay(cli: CommandLine, cases: str) -> None:
    with_report = cli("eval", cases)
    (cli.folder / "out" / "report.json").unlink()
    (cli.folder / "out").rmdir()
    without = cli("eval", cases, "--no-report")
    assert without.code == with_report.code == 2
    assert without.out == with_report.out.replace("out/report.json", "none (--no-report)")
    assert os.listdir(cli.folder) == ["cases.jsonl"]


def test_documents_go_where_the_report_would_be(cli: CommandLine, cases: str) -> None:
    assert cli("eval", cases, "--no-report", "--format", "html", "--format", "junit=here.xml").code == 2
    assert files(cli) == {"out/report.html", "here.xml"}


def test_results_and_tables_are_written_without_a_report(cli: CommandLine, cases: str) -> None:
    assert cli("eval", cases, "--no-report", "--results", "r.jsonl").code == 2
    assert files(cli) == {"r.jsonl"}
    assert [json.loads(line)["id"] for line in (cli.folder / "r.jsonl").read_text().splitlines()] == ["T-1", "T-2"]
    assert cli("eval", cases, "--no-report", "--out-table", "verdicts").code == 2
    assert (cli.folder / "verdicts" / "_SUCCESS").exists()
    assert not (cli.folder / "out").exists()


def test_the_run_is_saved_as_with_a_report(cli: CommandLine, cases: str) -> None:
    assert cli("eval", cases, "--no-report", "--save-text", "--history", "h.db").code == 2
    assert cli("eval", cases, "--save-text", "--history", "h.db").code == 2
    with open_history(cli.folder / "h.db") as history:
        one, other = history.runs()
        assert one.figures == other.figures
        assert list(history.report(one.id).results()) == list(history.report(other.id).results())


def test_the_last_report_can_be_the_baseline(cli: CommandLine, cases: str) -> None:
    assert cli("eval", cases).code == 2
    before = (cli.folder / "out" / "report.json").read_bytes()
    assert cli("eval", cases, "--no-report", "--baseline", "out/report.json").code == 0
    assert (cli.folder / "out" / "report.json").read_bytes() == before


def test_the_artifact_names_no_path(cli: CommandLine, cases: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_OUTPUT", "json")
    assert json.loads(cli("eval", cases, "--no-report").out)["path"] is None


def test_out_and_no_report_contradict_each_other(cli: CommandLine, cases: str) -> None:
    done = cli("eval", cases, "--no-report", "--out", "r.json")
    assert done.code == 1
    assert "--no-report writes no report, and --out names one" in done.err
    assert not files(cli)
