"""A damaged history is an error that names what is damaged: never a traceback, and what is whole can be read."""

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from damage_samples import flipped, make
from helpers import CommandLine, Outcome

from synthesis.errors import DamagedRunError
from synthesis.history import open_history

COMMANDS = {
    "list": (["history", "list"], {0, 1, 3}),
    "list as JSON": (["history", "list", "--json"], {0, 1, 3}),
    "show": (["history", "show", "{new}"], {0, 1}),
    "show judged": (["history", "show", "{judged}"], {0, 1}),
    "export": (["history", "export", "{new}", "--out", "run.json"], {0, 1}),
    "export judged": (["history", "export", "{judged}", "--out", "run.json"], {0, 1}),
    "export rest": (["history", "export", "{new}", "--rest", "--out", "run.json"], {0, 1, 3}),
    "export all": (["history", "export", "--rest", "--out", "all"], {0, 1, 3}),
    "audit": (["audit", "--run", "{new}", "--out", "audit"], {0, 1}),
    "check": (["history", "check"], {0, 1, 2}),
    "check as JSON": (["history", "check", "--json"], {0, 1, 2}),
    "delete": (["history", "delete", "{old}", "--yes"], {0, 1}),
}
NAMED = re.compile(r"damaged|run \w+|the database says|newer than this tool|there is no run|no such run")
Sample = tuple[Path, dict[str, str]]


@pytest.fixture(scope="module", params=["with checksums", "without"])
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    place = tmp_path_factory.mktemp("damage") / "history.db"
    return place, make(place, sealed=request.param == "with checksums")


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    place = tmp_path_factory.mktemp("sealed") / "history.db"
    return place, make(place)


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes_never_end_in_a_traceback(sample: Sample, cli: CommandLine, seed: int) -> None:
    place, ids = sample
    copy = flipped(place, cli.folder / "history.db", seed)
    for name, (command, codes) in COMMANDS.items():
        done = cli(*(part.format(**ids) for part in command), "--history", copy)
        assert done.code in codes, (name, done.err)
        if done.code == 1:
            assert NAMED.search(done.err), (name, done.err)


@pytest.mark.parametrize("seed", range(4))
def test_a_check_finds_every_flipped_byte_of_what_has_checksums(sealed: Sample, cli: CommandLine, seed: int) -> None:
    copy = flipped(sealed[0], cli.folder / "history.db", seed)
    done = cli("history", "check", "--history", copy)
    assert done.code in (1, 2)
    assert "damaged" in done.out + done.err


@pytest.fixture
def changed(sealed: Sample, cli: CommandLine) -> Callable[[str], Callable[..., Outcome]]:
    """Runs a statement on a copy of the history; returns a command line with that copy."""

    def change(statement: str) -> Callable[..., Outcome]:
        copy = cli.folder / "history.db"
        copy.write_bytes(sealed[0].read_bytes())
        with sqlite3.connect(copy) as database:
            database.execute(statement.format(**sealed[1]))
        database.close()
        return lambda *args: cli(*(arg.format(**sealed[1]) for arg in args), "--history", copy)

    return change


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("summary", "replace(summary, '\"cases\":4', '\"cases\":5')"),
        ("summary", "CAST(x'ff00ff' AS TEXT)"),
        ("conditions", "'{{'"),
        ("with_text", "0"),
        ("name", "'another'"),
        ("kind", "'chekks'"),
        ("started", "NULL || x'00'"),
    ],
)
def test_a_damaged_run_is_named_with_its_column_and_the_others_are_listed(
    changed: Any, sealed: Sample, column: str, value: str
) -> None:
    if column == "started":
        value = "CAST(x'ff' AS TEXT)"
    run = changed(f"UPDATE synthesis_runs SET {column} = {value} WHERE id = '{{new}}'")
    told = f"run {sealed[1]['new']} is damaged in the column '{column}'"
    listed = run("history", "list")
    assert listed.code == 3
    assert told in listed.err
    assert "synthesis history check" in listed.err
    assert all(sealed[1][name] in listed.out for name in ("old", "bare", "judged"))
    shown = run("history", "show", "{new}")
    assert shown.code == 1
    assert told in shown.err
    checked = run("history", "check")
    assert checked.code == 2
    assert f"{sealed[1]['new']}: damaged" in checked.out
    assert f"{sealed[1]['old']}: ok" in checked.out


@pytest.mark.parametrize(
    ("statement", "column"),
    [
        ("UPDATE synthesis_cases SET record = record || ' ' WHERE run_id = '{new}' AND position = 1", "record"),
        ("UPDATE synthesis_cases SET record = '{{' WHERE run_id = '{new}' AND position = 1", "record"),
        ("UPDATE synthesis_cases SET outcome = 'pass' WHERE run_id = '{new}' AND position = 1", "outcome"),
        ("UPDATE synthesis_outcomes SET outcome = 'none' WHERE run_id = '{new}' AND position = 1", "outcomes"),
        ("UPDATE synthesis_findings SET rule = 'none' WHERE run_id = '{new}' AND position = 1", "findings"),
        ("UPDATE synthesis_cases SET checksum = 'none' WHERE run_id = '{new}' AND position = 1", "checksum"),
    ],
)
def test_the_rest_of_a_run_is_exported_without_a_damaged_case(
    changed: Any, sealed: Sample, cli: CommandLine, statement: str, column: str
) -> None:
    run = changed(statement)
    rest = run("history", "export", "{new}", "--rest", "--out", "rest.json")
    assert rest.code == 3
    assert f"in the column '{column}' of case 1 (APP-2)" in rest.err
    report = json.loads((cli.folder / "rest.json").read_text())
    assert [result["id"] for result in report["results"]] == ["APP-1", "APP-3", "APP-4"]
    assert run("history", "check").code == 2
    if column not in ("outcomes", "findings"):  # a report is made of the records alone
        done = run("history", "export", "{new}")
        assert done.code == 1
        assert f"run {sealed[1]['new']} is damaged in the column '{column}' of case 1" in done.err


def test_a_row_that_is_gone_is_found(changed: Any) -> None:
    done = changed("DELETE FROM synthesis_cases WHERE run_id = '{new}' AND position = 2")("history", "check")
    assert done.code == 2
    assert "rows are missing" in done.out


def test_a_damaged_sample_is_left_out_of_the_rest(changed: Any, cli: CommandLine) -> None:
    run = changed(
        "UPDATE synthesis_samples SET overall = 1 WHERE run_id = '{judged}' AND iteration = 2 AND position = 0"
    )
    done = run("history", "export", "{judged}", "--rest", "--out", "rest.json")
    assert done.code == 3
    assert "in the column 'overall' of sample 0 of iteration 2 (right)" in done.err
    results = json.loads((cli.folder / "rest.json").read_text())["results"]
    assert [(one["iteration"], one["position"]) for one in results] == [(1, 0), (1, 1), (2, 1)]


def test_every_whole_run_is_exported_and_can_be_added_again(changed: Any, sealed: Sample, cli: CommandLine) -> None:
    run = changed("UPDATE synthesis_runs SET summary = '{{' WHERE id = '{new}'")
    done = run("history", "export", "--rest", "--out", "all")
    assert done.code == 3
    assert f"run {sealed[1]['new']} is damaged" in done.err
    whole = {sealed[1][name] for name in ("old", "bare", "judged")}
    assert {path.stem for path in (cli.folder / "all").iterdir()} == whole
    added = cli("history", "add", *sorted((cli.folder / "all").iterdir()), "--save-text", "--history", "again.db")
    assert added.code == 0
    assert cli("history", "check", "--history", "again.db").code == 0


def test_a_damaged_run_can_be_deleted(changed: Any, sealed: Sample) -> None:
    run = changed("UPDATE synthesis_runs SET summary = '{{' WHERE id = '{new}'")
    done = run("history", "delete", "{new}", "--yes")
    assert done.code == 0
    assert f"run {sealed[1]['new']} is damaged" in done.out
    assert run("history", "check").code == 0


def test_export_needs_a_run_or_a_folder_for_all(changed: Any) -> None:
    done = changed("SELECT 1")("history", "export")
    assert done.code == 1
    assert "name a RUN" in done.err


def test_a_whole_history_is_ok_and_an_old_one_says_that_it_has_no_checksums(tmp_path: Path, cli: CommandLine) -> None:
    ids = make(tmp_path / "new.db")
    done = cli("history", "check", "--history", "new.db")
    assert done.code == 0
    assert f"{ids['new']}: ok\n" in done.out
    assert "file: ok\n4 runs, 0 damaged" in done.out
    make(tmp_path / "old" / "old.db", sealed=False)
    done = cli("history", "check", "--history", "old/old.db")
    assert done.code == 0
    assert done.out.count("ok, saved without checksums") == 4


def test_the_library_raises_one_error_for_what_is_damaged(sealed: Sample, tmp_path: Path) -> None:
    copy = tmp_path / "history.db"
    copy.write_bytes(sealed[0].read_bytes())
    new = sealed[1]["new"]
    with sqlite3.connect(copy) as database:
        database.execute(f"UPDATE synthesis_runs SET name = 'another' WHERE id = '{new}'")
    database.close()
    with open_history(copy) as history:
        assert new not in [run.id for run in history.runs()]
        assert [damage.run_id for damage in history.damaged_runs()] == [new]
        for ask in (history.run, history.report, history.export, history.outcomes, history.labels):
            with pytest.raises(DamagedRunError, match="'name'"):
                ask(new)


def test_runs_are_sealed_in_both_databases(place: str, tmp_path: Path) -> None:
    from run_samples import judge_offline, stored

    with open_history(place) as history:
        history.add_report(stored())
        folder = judge_offline(tmp_path)
        first = history.add_judged(folder)
        assert history.add_judged(folder) == first  # replaced, and sealed again
        assert [(run.is_sealed, run.damage) for run in history.check()] == [(True, ()), (True, ())]
        assert history.check_file() == []
