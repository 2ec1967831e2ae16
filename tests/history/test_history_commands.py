"""`--save` and `synthesis history`, as a person types them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import CommandLine, row, write_jsonl

from synthesis.history import open_history

BAD = row(id="T-2", user="Ludmila left me.", assistant="You should just get over it.")


@pytest.fixture
def cases(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("SYNTHESIS_HISTORY", raising=False)
    return write_jsonl(cli.folder / "cases.jsonl", [row(), BAD])


def saved_in(out: str) -> str:
    match = re.search(r"^Saved: run ([0-9a-f]{12}) ", out, re.MULTILINE)
    assert match, out
    return match[1]


def test_nothing_is_saved_unless_asked_for(cli: CommandLine, cases: Path) -> None:
    assert cli(cases).code == 2
    assert cli("judge", "run", "--allow-untold", "1").code == 0
    assert not (cli.folder / ".synthesis").exists()


def test_a_saved_run_is_listed_and_shown(cli: CommandLine, cases: Path, place: str) -> None:
    done = cli(cases, "--save", "--history", place)
    assert done.code == 2
    run_id = saved_in(done.out)
    listed = cli("history", "list", "--history", place)
    assert listed.code == 0
    assert re.search(rf"^{run_id} .* checks +authored +2 +1 +50 % .*cases\.jsonl", listed.out, re.MULTILINE), listed.out
    shown = cli("history", "show", run_id[:10], "--history", place)
    assert shown.code == 0
    assert "unexpected failure T-2: agency_language" in shown.out
    assert "[24 characters]  agency.negative.told-to-get-over-it" in shown.out
    assert "texts     not saved" in shown.out


def test_texts_are_shown_if_they_were_saved(cli: CommandLine, cases: Path, place: str) -> None:
    run_id = saved_in(cli("eval", cases, "--save-text", "--history", place).out)
    shown = cli("history", "show", run_id, "--history", place).out
    assert "“You should just get over”  agency.negative.told-to-get-over-it" in shown


def test_a_judged_run_is_saved_and_shown(cli: CommandLine, place: str) -> None:
    done = cli("judge", "run", "--save", "--history", place)
    run_id = saved_in(done.out)
    assert saved_in(cli("judge", "run", "--save", "--history", place).out) == run_id
    shown = cli("history", "show", "latest", "--history", place).out
    assert f"Run {run_id}  judge  passages" in shown
    assert re.search(r"not passed passage-\d+ \(iteration 1\): faithfulness \d, completeness \d", shown)


def test_the_settings_can_ask_for_it(cli: CommandLine, cases: Path) -> None:
    (cli.folder / "synthesis.toml").write_text('save = true\nsave-text = true\nhistory = "runs/here.db"\n')
    below = cli.folder / "below"
    below.mkdir()
    cli(cases)
    cli("judge", "run")
    assert len(json.loads(cli("history", "list", "--json").out)) == 2
    with open_history(cli.folder / "runs" / "here.db", create=False) as history:
        assert [run.with_text for run in history.runs()] == [True, True]


def test_the_variable_says_where(cli: CommandLine, cases: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNTHESIS_HISTORY", str(cli.folder / "mine.db"))
    cli(cases)
    assert not (cli.folder / "mine.db").exists()
    cli(cases, "--save")
    assert (cli.folder / "mine.db").exists()
    assert cli("history", "list").code == 0


def test_a_history_that_is_out_of_reach_stops_the_run_before_it_begins(cli: CommandLine, cases: Path) -> None:
    done = cli(cases, "--save", "--history", "postgresql://me:secret@127.0.0.1:1/runs")
    assert done.code == 1
    assert "secret" not in done.err
    assert not (cli.folder / "out").exists()


def test_where_without_what_is_a_mistake(cli: CommandLine, cases: Path) -> None:
    done = cli(cases, "--history", "x.db")
    assert (done.code, "Add --save." in done.err) == (1, True)


def test_texts_cannot_be_saved_from_a_report_without_them(cli: CommandLine, cases: Path) -> None:
    done = cli(cases, "--save-text", "--no-text")
    assert (done.code, "--no-text" in done.err) == (1, True)


def test_a_run_with_results_in_a_file_of_their_own_is_saved_whole(cli: CommandLine, cases: Path) -> None:
    run_id = saved_in(cli(cases, "--results", "out/results.jsonl.gz", "--save").out)
    with open_history(create=False) as history:
        assert history.outcomes(run_id).total == 2


def test_an_artifact_stays_alone_on_standard_output(
    cli: CommandLine, cases: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_OUTPUT", "json")
    done = cli(cases, "--save")
    assert json.loads(done.out)["type"] == "artifact"
    assert saved_in(done.err)


def test_quiet_says_nothing(cli: CommandLine, cases: Path) -> None:
    assert cli(cases, "--save", "-q").out == ""
    assert len(json.loads(cli("history", "list", "--json").out)) == 1


def test_the_revision_of_the_code_is_noted(cli: CommandLine, cases: Path) -> None:
    def git(*args: str) -> str:
        command = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *args]
        return subprocess.run(command, cwd=cli.folder, check=True, capture_output=True, text=True).stdout.strip()

    cli(cases, "--save")
    git("init")
    cli(cases, "--save")
    git("commit", "--allow-empty", "-m", "begin")
    cli(cases, "--save")
    revisions = [run["revision"] for run in json.loads(cli("history", "list", "--json").out)]
    assert revisions == [git("rev-parse", "HEAD"), None, None]


def test_no_git_is_no_trouble(cli: CommandLine, cases: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(cli.folder))
    assert saved_in(cli(cases, "--save", "--workers", "1").out)


def test_tags_are_given_and_taken(cli: CommandLine, cases: Path, place: str) -> None:
    run_id = saved_in(cli(cases, "--save", "--history", place).out)
    assert cli("history", "tag", "latest", "v1", "blue", "--history", place).out == f"{run_id}: blue, v1\n"
    assert cli("history", "tag", run_id, "--remove", "blue", "--history", place).out == f"{run_id}: v1\n"
    assert run_id in cli("history", "list", "--tag", "v1", "--history", place).out
    assert cli("history", "list", "--tag", "blue", "--history", place).out == "No runs.\n"
    assert cli("history", "tag", run_id, "--history", place).code == 1


def test_a_run_is_exported_deleted_and_added_again(cli: CommandLine, cases: Path, place: str) -> None:
    run_id = saved_in(cli(cases, "--save", "--history", place).out)
    printed = cli("history", "export", run_id, "--history", place).out
    assert cli("history", "export", run_id, "--out", "run.json", "--history", place).code == 0
    assert Path("run.json").read_text() == printed
    assert cli("report", "convert", "run.json", "--format", "markdown").code == 0
    refused = cli("history", "delete", run_id, "--history", place)
    assert (refused.code, "Add --yes." in refused.err) == (1, True)
    assert cli("history", "delete", run_id, "--yes", "--history", place).code == 0
    assert cli("history", "show", run_id, "--history", place).code == 1
    assert saved_in(cli("history", "add", "run.json", "--history", place).out) == run_id


def test_earlier_reports_and_judged_folders_are_added(cli: CommandLine, cases: Path) -> None:
    cli(cases)
    cli("judge", "run")
    done = cli("history", "add", "out/report.json", "data/evaluation/answer-synthesis/passages", "--tag", "old")
    assert done.code == 0
    assert len(json.loads(cli("history", "list", "--tag", "old", "--json").out)) == 2
    assert cli("history", "add", "nowhere.json").code == 1


def test_old_runs_are_pruned_and_named(cli: CommandLine, cases: Path, place: str) -> None:
    run_id = saved_in(cli(cases, "--save", "--history", place).out)
    assert cli("history", "prune", "--older-than", "1h", "--history", place).out == "Deleted: 0 runs\n"
    dry = cli("history", "prune", "--older-than", "0h", "--dry-run", "--history", place).out
    assert run_id in dry
    assert "To be deleted: 1 run\n" in dry
    assert run_id in cli("history", "prune", "--older-than", "0d", "--history", place).out
    assert cli("history", "list", "--history", place).out == "No runs.\n"


@pytest.mark.parametrize("age", ["", "30", "d", "-1d", "1y", "999999d", "1.5d"])
def test_what_is_not_an_age_deletes_nothing(cli: CommandLine, cases: Path, age: str) -> None:
    cli(cases, "--save")
    done = cli("history", "prune", "--older-than", age)
    assert (done.code, "is not an age" in done.err) == (1, True)
    assert len(json.loads(cli("history", "list", "--json").out)) == 1


def test_the_longest_age_is_no_trouble(cli: CommandLine, cases: Path) -> None:
    cli(cases, "--save")
    assert cli("history", "prune", "--older-than", "99999w").out == "Deleted: 0 runs\n"


def test_looking_where_nothing_was_saved_says_how_to_begin(cli: CommandLine) -> None:
    done = cli("history", "list")
    assert done.code == 1
    assert "there is no history here" in done.err
    assert "--save" in done.err
    assert not (cli.folder / ".synthesis").exists()


def test_control_characters_do_not_reach_the_terminal(cli: CommandLine) -> None:
    evil = row(id="T-2", assistant="You should\x1b[31m just get over it.")
    write_jsonl(cli.folder / "ev\x1bil.jsonl", [evil])
    cli("ev\x1bil.jsonl", "--save-text")
    assert "\x1b" not in cli("history", "list").out + cli("history", "show", "latest").out


def test_without_the_extra_its_install_line_is_shown(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['sqlalchemy'] = None; from synthesis.cli.main import run; run(sys.argv[1:])"  # as if
    )
    for args in (["--save"], ["history", "list"], ["judge", "run", "--save"]):
        command = [sys.executable, "-c", script, *args]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "pip install 'synthesis-eval[sql]'" in done.stderr
        assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_not_saved_does_not_load_the_database_packages(tmp_path: Path) -> None:
    script = (
        "import sys; from synthesis.cli.main import call; call(['-q']);"
        "print([name for name in sys.modules if name.startswith(('sqlalchemy', 'psycopg', 'synthesis.history'))])"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
