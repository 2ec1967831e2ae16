"""The loop of the process beside the server, on a real pipe."""

import multiprocessing
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from synthesis.server.http import ApiError
from synthesis.server.jobs import JobFolder, Upload, UploadTask, run_jobs


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_job_whose_folder_a_server_took_away_ends_the_loop_in_silence(tmp_path: Path) -> None:
    ours, theirs = multiprocessing.Pipe()
    ours.send((JobFolder(tmp_path / "removed", Upload), UploadTask()))
    run_jobs(theirs)
    assert not ours.poll()


def test_a_job_that_has_lost_its_state_is_an_error(tmp_path: Path) -> None:
    ours, theirs = multiprocessing.Pipe()
    ours.send((JobFolder(tmp_path, Upload), UploadTask()))
    with pytest.raises(ApiError):
        run_jobs(theirs)
