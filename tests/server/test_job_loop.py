"""The loop of the process beside the server, on a real pipe."""

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from synthesis.errors import OutputError
from synthesis.server.api.jobs import start_bundled
from synthesis.server.http import ApiError
from synthesis.server.jobs import JobFolder, JobQueue, JudgeTask, Upload, UploadTask, run_job, run_jobs
from synthesis.server.metrics import Metrics
from synthesis.server.security import ServerSettings
from synthesis.server.state import ServerState


class OnFullDisk(JobFolder[Upload]):
    """A folder whose state cannot be saved so many times."""

    refused = 0

    def save(self, job: Upload) -> None:
        self.refused -= 1
        if self.refused >= 0:
            raise OutputError("cannot be written: No space left on device")
        super().save(job)


class TaskOfAMissingFolder(JudgeTask, frozen=True):
    """A task whose file cannot be written."""

    file = "missing/set.json"


def waiting(path: Path, refused: int = 0) -> OnFullDisk:
    """The folder of a job that waits; its next saves are refused."""
    path.mkdir()
    folder = OnFullDisk(path, Upload)
    folder.save(UploadTask().waiting(folder.id, 2))
    (path / "upload.jsonl").write_text("{}")
    folder.refused = refused
    return folder


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


@pytest.mark.parametrize(("refused", "state"), [(1, "failed"), (2, "failed"), (9, None)])
def test_a_job_whose_end_cannot_be_saved_does_not_seem_to_run_and_the_next_one_runs(
    tmp_path: Path, refused: int, state: str | None
) -> None:
    ours, theirs = multiprocessing.Pipe()
    full, fine = waiting(tmp_path / "full", refused), waiting(tmp_path / "fine")
    for folder in (full, fine):
        ours.send((folder, UploadTask()))
    ours.send((JobFolder(tmp_path / "removed", Upload), UploadTask()))  # ends the loop
    run_jobs(theirs)
    assert (ours.recv(), ours.recv()) == (None, None)
    assert full.path.exists() == (state is not None)
    assert state is None or full.load().state == state
    assert not (full.path / "upload.jsonl").exists()
    assert fine.load().state == "failed"


def test_a_job_that_cannot_be_saved_takes_no_slot(tmp_path: Path) -> None:
    queue, folder = JobQueue(1), waiting(tmp_path / "full", refused=1)

    async def add() -> None:
        queue.add(folder, UploadTask(), 2)

    with pytest.raises(OutputError):
        asyncio.run(add())
    queue.slots.require_free()


def test_a_bundled_set_that_cannot_be_judged_leaves_no_folder(tmp_path: Path) -> None:
    server = ServerState(ServerSettings(folder=str(tmp_path)), Metrics([]))
    with pytest.raises(FileNotFoundError):
        start_bundled(server, "passages", TaskOfAMissingFolder("passages"))
    assert not list(tmp_path.glob("*/*"))


def test_cancelling_a_job_that_waits_ends_it_at_once(tmp_path: Path) -> None:
    folder = waiting(tmp_path / "job")
    assert folder.cancel().state == "cancelled"
    assert not (folder.path / "upload.jsonl").exists()
    run_job(folder, UploadTask())
    assert folder.load().state == "cancelled"


def test_a_job_that_was_cancelled_and_deleted_while_it_waited_starts_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, folder = JobQueue(1), waiting(tmp_path / "job")
    folder.cancel()
    folder.remove()
    monkeypatch.setattr(queue, "_started", lambda: pytest.fail("a process was started"))
    queue._run(folder, UploadTask())


def test_saving_progress_does_not_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    waiting(tmp_path / "job").change(cases=1)
    assert not synced
