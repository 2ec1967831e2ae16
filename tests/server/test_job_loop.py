"""The loop of the process beside the server, on a real pipe."""

import multiprocessing
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from synthesis.server.jobs import run_jobs


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def reads_its_file(folder: Path, _: Any) -> None:
    (folder / "upload").read_bytes()


def test_a_job_whose_folder_a_server_took_away_ends_the_loop_in_silence(tmp_path: Path) -> None:
    ours, theirs = multiprocessing.Pipe()
    ours.send((str(tmp_path / "removed"), None))
    run_jobs(theirs, reads_its_file)
    assert not ours.poll()


def test_any_other_fault_is_told(tmp_path: Path) -> None:
    ours, theirs = multiprocessing.Pipe()
    ours.send((str(tmp_path), None))
    with pytest.raises(FileNotFoundError):
        run_jobs(theirs, reads_its_file)
