"""A history in a file is for its owner alone, and stays out of version control."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import CommandLine
from run_samples import SAID, stored

from synthesis.errors import HistoryError, OptionError, OutputError
from synthesis.history import Provenance, open_history


@pytest.fixture(autouse=True)
def open_to_all() -> Iterator[None]:
    """A user whose new files are readable by everybody."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_folder_and_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / ".synthesis"
    with open_history(folder / "history.db") as history:
        history.add_report(stored())
        while_open = modes(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert while_open["history.db"] == while_open["history.db-wal"] == while_open["history.db-shm"] == 0o600


def test_a_new_folder_keeps_itself_out_of_version_control(cli: CommandLine) -> None:
    cli("--save", "--quiet")
    assert (cli.folder / ".synthesis" / ".gitignore").read_text() == "*\n"


def test_a_folder_that_was_there_is_left_as_it_is(tmp_path: Path) -> None:
    open_history(tmp_path / "history.db").close()
    assert set(modes(tmp_path)) == {"history.db"}


def test_a_copy_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    open_history(path).close()
    path.chmod(0o644)
    open_history(path).close()
    assert modes(tmp_path) == {"history.db": 0o600}


def test_deleted_words_are_gone_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with open_history(path) as history:
        run_id = history.add_report(stored(), Provenance(with_text=True))
    assert SAID.encode() in path.read_bytes()
    with open_history(path) as history:
        history.delete(run_id)
    assert SAID.encode() not in path.read_bytes()


def test_a_file_that_is_no_history_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, however long it may be " * 100)
    path.chmod(0o644)
    with pytest.raises(HistoryError, match="not a database"):
        open_history(path)
    assert path.read_text().startswith("not a database")
    assert modes(tmp_path)["notes.txt"] == 0o644


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        open_history(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        open_history(tmp_path / "file" / "history.db")


def test_a_history_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="there is no history here"):
        open_history(tmp_path / "history.db", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url", ["mysql://root:secret@host/db", "sqlite://", "sqlite:///:memory:", "://", "a://b:c:d@e"]
)
def test_other_databases_are_refused_without_their_password(url: str) -> None:
    with pytest.raises(OptionError) as refused:
        open_history(url)
    assert "secret" not in str(refused.value)
    assert "postgresql://" in str(refused.value)


def test_a_server_that_is_not_there_is_said_without_the_password() -> None:
    with pytest.raises(HistoryError) as refused:
        open_history("postgresql://me:secret@127.0.0.1:1/runs")
    assert "secret" not in str(refused.value)
    assert "postgresql+psycopg://me:***@127.0.0.1:1/runs" in str(refused.value)


def test_a_history_is_an_sqlite_file_that_other_tools_can_read(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with open_history(path) as history:
        history.add_report(stored())
    with sqlite3.connect(path) as connection:
        query = "SELECT rule, count(*) FROM synthesis_findings GROUP BY rule ORDER BY rule"
        assert connection.execute(query).fetchall() == [
            ("agency.negative.you-should", 2),
            ("pivot.vulnerability.loss", 2),
        ]
