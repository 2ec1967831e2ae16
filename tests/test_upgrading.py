"""What version 0.1 wrote is read, migrated, or refused with a message that names the cure; never a traceback."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset
import pytest
from helpers import CommandLine, Outcome

FIXTURES = Path(__file__).parent / "fixtures_0_1"
TABLE = ("eval", "log.parquet", "--map", "user=prompt,assistant=reply,id=conversation", "--keep", "model")
IDS = ["APP-1", "APP-2", "APP-3", "APP-4", "APP-5", "APP-6"]


@pytest.fixture
def old(cli: CommandLine) -> CommandLine:
    """The command line in a folder that holds a copy of the fixtures, except for the settings."""
    shutil.copytree(FIXTURES, cli.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("synthesis.toml"))
    return cli


def refused(outcome: Outcome, cure: str) -> bool:
    """Whether it was refused; if so, in one message that names the cure."""
    assert "Traceback" not in outcome.err
    if outcome.code != 1:
        return False
    message, *hint = outcome.err.strip().splitlines()
    assert message.startswith("error: ")
    assert len(hint) <= 1
    assert cure in outcome.err
    return True


def fresh_report(cli: CommandLine, *options: str) -> None:
    outcome = cli("eval", "cases.jsonl", "--out", "new.json", "--fail-on", "9", "-q", *options)
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize("name", ["report.json", "report-audit.json", "plugin-report.json"])
@pytest.mark.parametrize("form", ["csv", "github", "html", "json", "junit", "markdown", "sarif"])
def test_a_report_is_drawn_in_every_form(old: CommandLine, name: str, form: str) -> None:
    outcome = old("report", "convert", name, "--format", form, "--out", "drawn")
    assert outcome.code == 0, outcome.err
    drawn = (old.folder / "drawn").read_text(encoding="utf-8")
    assert ("KIND-1" if "plugin" in name else "APP-2") in drawn


def test_a_report_without_texts_takes_them_from_the_cases(old: CommandLine) -> None:
    outcome = old("report", "convert", "report-audit.json", "--format", "html", "--out", "-", "--cases", "cases.jsonl")
    assert outcome.code == 0, outcome.err
    assert "every week" in outcome.out


def test_a_report_is_compared_with_a_new_one(old: CommandLine) -> None:
    fresh_report(old, "--rules", "pack")
    outcome = old("compare", "report.json", "new.json", "--json")
    assert outcome.code == 0, outcome.err
    json.loads(outcome.out)


def test_reports_of_two_profiles_are_compared_only_across(old: CommandLine) -> None:
    refused_now = old("compare", "report.json", "report-audit.json")
    assert refused_now.code == 1
    assert "profile: authored -> traffic" in refused_now.err
    assert old("compare", "report.json", "report-audit.json", "--across").code == 0
    assert "texts were not stored" in old("compare", "report.json", "report-audit.json", "--reevaluate").err


def test_a_report_serves_as_baseline(old: CommandLine) -> None:
    outcome = old("eval", "cases.jsonl", "--rules", "pack", "--out", "new.json", "--baseline", "report.json", "-q")
    assert outcome.code == 0, outcome.err


def test_results_hold_what_the_present_version_finds(old: CommandLine) -> None:
    fresh_report(old, "--results", "new.jsonl")
    before, after = (
        [json.loads(line) for line in (old.folder / name).read_text(encoding="utf-8").splitlines()]
        for name in ("results.jsonl", "new.jsonl")
    )
    assert [row["id"] for row in before] == [row["id"] for row in after] == IDS
    assert all(row.keys() <= other.keys() for row, other in zip(before, after, strict=True))


def test_the_small_report_beside_results_is_read(old: CommandLine) -> None:
    assert old("report", "convert", "results-report.json", "--format", "markdown", "--out", "-").code == 0
    fresh_report(old, "--results", "new.jsonl")
    assert not refused(old("compare", "results-report.json", "new.json"), "results")


@pytest.mark.parametrize("name", ["table", "table-half"])
def test_a_table_is_resumed_or_begun_again(old: CommandLine, name: str) -> None:
    run = (*TABLE, "--out-table", name, "--fail-on", "99", "--workers", "1", "-q")
    outcome = old(*run)
    if refused(outcome, "--fresh"):
        outcome = old(*run, "--fresh")
    assert outcome.code == 0, outcome.err
    rows = pyarrow.dataset.dataset(old.folder / name).to_table().to_pylist()
    assert sorted(row["id"] for row in rows) == [f"c-{number:03}" for number in range(12)]
    assert (old.folder / name / "_SUCCESS").exists()


def test_a_table_is_read_by_its_columns(old: CommandLine) -> None:
    fresh = old(*TABLE, "--out-table", "new", "--fail-on", "99", "-q")
    assert fresh.code == 0, fresh.err
    before, after = (pyarrow.dataset.dataset(old.folder / name).schema for name in ("table", "new"))
    assert set(before.names) <= set(after.names)


def test_the_small_report_beside_a_table_sends_the_reader_to_the_table(old: CommandLine) -> None:
    assert refused(old("report", "convert", "table-report.json", "--format", "markdown"), "Query the table")


def history_runs(cli: CommandLine) -> dict[str, str]:
    """What the runs of the history are -> their ids."""
    outcome = cli("history", "list", "--history", "history.db", "--json")
    assert outcome.code == 0, outcome.err
    judged, with_text, bare = (run["id"] for run in json.loads(outcome.out))
    return {"judged": judged, "with text": with_text, "bare": bare}


@pytest.mark.parametrize("kind", ["bare", "with text", "judged"])
def test_a_history_is_listed_shown_and_exported(old: CommandLine, kind: str) -> None:
    run = history_runs(old)[kind]
    for command in ("show", "export"):
        outcome = old("history", command, run, "--history", "history.db")
        assert outcome.code == 0, outcome.err
        assert ("ferry-2" if kind == "judged" else "APP-2") in outcome.out
    (old.folder / "run.json").write_text(outcome.out, encoding="utf-8")
    assert old("history", "add", "run.json", "--history", "other.db", "--save-text").code == 0


def test_a_history_takes_further_runs(old: CommandLine) -> None:
    fresh_report(old, "--save-text", "--history", "history.db")
    assert old("history", "add", "report.json", "judged/ferry", "--history", "history.db").code == 0
    assert old("history", "tag", "latest", "upgraded", "--history", "history.db").code == 0
    assert old("history", "show", "latest", "--history", "history.db").code == 0


@pytest.mark.parametrize("name", ["ferry", "ferry-half"])
@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_a_judged_run_is_reported(old: CommandLine, name: str, form: str) -> None:
    assert old("judge", "status", name, "--root", "judged").code == 0
    out = () if form == "text" else ("--out", "drawn")
    outcome = old("judge", "report", name, "--root", "judged", "--format", form, *out)
    assert outcome.code in (0, 3), outcome.err
    assert "When does the ferry leave on Sundays?" in (
        outcome.out if form == "text" else (old.folder / "drawn").read_text(encoding="utf-8")
    )


@pytest.mark.parametrize(("name", "iterations"), [("ferry", 2), ("ferry-half", 1)])
def test_a_judged_run_is_resumed(old: CommandLine, name: str, iterations: int) -> None:
    journal = old.folder / "judged" / name / "journal.jsonl"
    before = journal.read_text(encoding="utf-8")
    given = ("--root", "judged", "--iterations", str(iterations), "--judge-provider", "offline")
    run = ("judge", "run", "testset.json", *given, "--output-dir", name, "--allow-untold", "1")
    outcome = old(*run)  # the offline judge is another one now: all is judged again
    assert outcome.code == 0, outcome.err
    assert journal.read_text(encoding="utf-8").startswith(before)
    records = json.loads((journal.parent / f"records/records-iteration-{iterations}.json").read_text(encoding="utf-8"))
    assert [record["id"] for record in records] == ["ferry-1", "ferry-2", "ferry-3", "ferry-4"]


def test_judged_runs_are_compared_and_replayed(old: CommandLine) -> None:
    assert (
        old("judge", "run", "testset.json", "--root", "judged", "--output-dir", "new", "--allow-untold", "1").code == 0
    )
    outcome = old("compare", "judged/ferry", "judged/new")
    assert outcome.code == 0, outcome.err
    replay = ("--judge-provider", "replay", "--judge-model", "judged/ferry", "--output-dir", "again")
    outcome = old("judge", "run", "testset.json", "--root", "judged", *replay)
    assert outcome.code == 0, outcome.err


def test_settings_are_honoured(old: CommandLine) -> None:
    shutil.copy(FIXTURES / "synthesis.toml", old.folder)
    outcome = old("-q")
    if refused(outcome, "traffic"):  # the name of a profile has changed: the message says the new one
        return
    assert outcome.code == 0, outcome.err
    report = old.report("out/from-settings.json")
    assert [result["id"] for result in report["results"]] == IDS
    assert "assistant" not in report["results"][0]
    assert report["profile"] in ("audit", "traffic")
    assert [Path(folder).name for folder in report["options"]["rules"]] == ["pack"]


def test_a_pack_is_loaded(old: CommandLine) -> None:
    fresh_report(old, "--rules", "pack")
    rules = {finding["rule"] for result in old.report("new.json")["results"] for finding in result["findings"]}
    assert "agency.negative.chin-up-lads" in rules


def test_a_plugin_is_run(old: CommandLine) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["site", *filter(None, sys.path)])}
    command = [sys.executable, "-m", "synthesis", "eval", "plugin_cases.jsonl", "--out", "new.json", "--fail-on", "9"]
    done = subprocess.run(command, cwd=old.folder, env=environment, capture_output=True, text=True, check=False)
    if refused(Outcome(done.returncode, done.stdout, done.stderr), "kind_words"):
        return
    assert done.returncode == 0, done.stderr
    first, second = old.report("new.json")["results"]
    assert not first["checks"]["kind_words"]["pass"]
    assert second["checks"]["kind_words"]["pass"]
    assert {finding["rule"] for finding in second["findings"]} >= {"kind.thanks.for-telling"}


def test_no_fixture_names_a_machine() -> None:
    for path in (path for path in FIXTURES.rglob("*") if path.is_file()):
        assert not any(place in path.read_bytes() for place in (b"/home/", b"/root/", b"/tmp/", b"/work/")), path
