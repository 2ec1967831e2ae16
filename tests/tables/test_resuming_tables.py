"""A run that was cut short resumes where it stopped, and never mixes what does not belong together."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers import CommandLine, Outcome, row, write_jsonl
from table_samples import MAP, content_of, read_verdicts, rows, write_lake, write_parquet

from synthesis.run import blocks


def evaluate(cli: CommandLine, cases: str, *options: str) -> Outcome:
    return cli("--cases", cases, "--out-table", "verdicts", "--map", MAP, "--fail-on", "9999", *options)


def parts(folder: Path) -> dict[Path, int]:
    """The part files and when each was written."""
    return {path: path.stat().st_mtime_ns for path in sorted((folder / "verdicts").rglob("*.parquet"))}


def test_finished_parts_are_not_done_again(cli: CommandLine) -> None:
    pattern = write_lake(cli.folder)
    evaluate(cli, pattern)
    before, report = parts(cli.folder), cli.report()
    evaluate(cli, pattern, "--workers", "2")
    assert parts(cli.folder) == before
    assert cli.report() == report


@pytest.mark.parametrize("damage", ["missing", "cut short"])
def test_a_part_that_is_damaged_is_done_again_and_only_that(cli: CommandLine, damage: str) -> None:
    pattern = write_lake(cli.folder)
    evaluate(cli, pattern)
    content, before = content_of(cli.folder / "verdicts"), parts(cli.folder)
    victim = [*before][2]
    victim.unlink() if damage == "missing" else victim.write_bytes(victim.read_bytes()[:100])
    evaluate(cli, pattern)
    assert content_of(cli.folder / "verdicts") == content
    assert [path for path, time in parts(cli.folder).items() if before[path] != time] == [victim]


def test_a_new_file_is_added_to_what_is_there(cli: CommandLine) -> None:
    pattern = write_lake(cli.folder)
    evaluate(cli, pattern)
    before = parts(cli.folder)
    write_parquet(cli.folder / "logs/date=2025-12-31/chats.parquet", rows(10))
    assert evaluate(cli, pattern).code == 3
    assert before.items() < parts(cli.folder).items()
    assert len(read_verdicts(cli.folder / "verdicts")) == cli.report()["summary"]["cases"] == 100


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--disable", "agency.negative.you-should"), "differs in: rules"),
        (("--profile", "authored"), "differs in: profile"),
        (("--checks", "topic_pivot"), "differs in: checks"),
        (("--keep", "model"), "differs in: keep"),
        (("--lang", "en"), "differs in: language"),
    ],
)
def test_other_rules_or_options_are_refused_until_a_fresh_start_is_asked_for(
    cli: CommandLine, options: tuple[str, ...], what: str
) -> None:
    pattern = write_lake(cli.folder)
    evaluate(cli, pattern)
    before = content_of(cli.folder / "verdicts")
    outcome = evaluate(cli, pattern, *options)
    assert outcome.code == 1
    assert what in outcome.err
    assert "--fresh" in outcome.err
    assert content_of(cli.folder / "verdicts") == before
    assert evaluate(cli, pattern, *options, "--fresh").code == 3
    assert len(read_verdicts(cli.folder / "verdicts")) == 90


def test_input_that_has_changed_or_gone_is_refused(cli: CommandLine) -> None:
    pattern = write_lake(cli.folder)
    evaluate(cli, pattern)
    second = cli.folder / "logs/date=2026-01-02/chats.parquet"
    assert "which is not among the inputs" in evaluate(cli, "logs/date=2026-01-01/*.parquet").err
    write_parquet(second, rows(60))
    assert "as it was before it changed" in evaluate(cli, pattern).err
    assert evaluate(cli, pattern, "--fresh").code == 3


@pytest.mark.parametrize(("grown", "message"), [(False, "than there is now"), (True, "before it changed")])
def test_a_case_file_that_grew_or_shrank_is_refused(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, grown: bool, message: str
) -> None:
    monkeypatch.setattr(blocks, "SMALL_PART", 3000)
    path = write_jsonl(cli.folder / "cases.jsonl", [row(id=f"T-{n}") for n in range(50)])
    cli("--cases", "cases.jsonl", "--out-table", "verdicts")
    first = min((cli.folder / "verdicts/_synthesis/parts").iterdir())
    content, size = path.read_bytes(), json.loads(first.read_text())["size"]
    path.write_bytes(content + content if grown else content[:size])
    outcome = cli("--cases", "cases.jsonl", "--out-table", "verdicts")
    assert outcome.code == 1
    assert message in outcome.err


def test_a_folder_with_other_things_in_it_is_left_alone(cli: CommandLine) -> None:
    pattern = write_lake(cli.folder)
    (cli.folder / "verdicts").mkdir()
    (cli.folder / "verdicts/part-of-my-life.parquet").write_text("dear to me")
    for options in ((), ("--fresh",)):
        outcome = evaluate(cli, pattern, *options)
        assert outcome.code == 1
        assert "not a table that synthesis wrote" in outcome.err
    assert (cli.folder / "verdicts/part-of-my-life.parquet").read_text() == "dear to me"


def test_a_fresh_start_takes_away_only_what_is_ours(cli: CommandLine) -> None:
    pattern = write_lake(cli.folder)
    evaluate(cli, pattern)
    note = cli.folder / "verdicts/date=2026-01-01/part-of-my-life.parquet"
    note.write_text("dear to me")
    assert "not a table that synthesis wrote" in evaluate(cli, pattern, "--fresh").err
    assert [path for path in (cli.folder / "verdicts").rglob("*") if path.is_file()] == [note]
    note.unlink()
    note.parent.rmdir()
    assert evaluate(cli, pattern, "--fresh").code == 3


def test_a_record_that_is_damaged_is_one_clear_error(cli: CommandLine) -> None:
    pattern = write_lake(cli.folder)
    evaluate(cli, pattern)
    next((cli.folder / "verdicts/_synthesis/parts").iterdir()).write_text("{")
    outcome = evaluate(cli, pattern)
    assert outcome.code == 1
    assert "is not a valid record of a part" in outcome.err


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_a_run_that_is_killed_ends_as_if_it_had_not_been(tmp_path: Path, workers: str) -> None:
    """A real process and a real signal, after the first parts are there."""
    write_parquet(tmp_path / "log.parquet", rows(1500), group=50)
    command = [sys.executable, "-m", "synthesis", "--cases", "log.parquet", "--map", MAP, "--workers", workers]
    command += ["--fail-on", "9999", "-q", "--out-table"]
    subprocess.run([*command, "undisturbed"], cwd=tmp_path, check=True)
    expected = (tmp_path / "out/report.json").read_text()
    process = subprocess.Popen([*command, "killed"], cwd=tmp_path)
    while len([*tmp_path.glob("killed/*.parquet")]) < 3:
        assert process.poll() is None
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "killed/_SUCCESS").exists()
    kept = len([*tmp_path.glob("killed/_synthesis/parts/*.json")])
    assert 2 <= kept < 30
    subprocess.run([*command, "killed"], cwd=tmp_path, check=True)
    assert content_of(tmp_path / "killed") == content_of(tmp_path / "undisturbed")
    assert (tmp_path / "out/report.json").read_text() == expected.replace("../undisturbed", "../killed")
