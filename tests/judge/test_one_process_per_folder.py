"""Two processes on one folder: the second is turned away, and nothing is lost."""

import signal
import subprocess
import time

import pytest
from running import command, environment, read, sample_cases, synthesis, write_set
from server import JudgeServer, held

pytestmark = pytest.mark.slow


def judge_args(server, cases):
    return (
        "judge",
        "run",
        cases,
        "--judge-provider",
        "openai",
        "--base-url",
        server.url,
        "--timeout",
        300,
        "--root",
        "runs",
    )


def stored(journal):
    return journal.read_bytes().count(b'"t":"verdict"') if journal.exists() else 0


def test_a_second_process_is_turned_away_and_the_first_ends_well(tmp_path):
    cases = write_set(tmp_path / "set.json", sample_cases(12))
    with JudgeServer({"sample-11": [held()]}) as server:
        first = subprocess.Popen(command(*judge_args(server, cases)), cwd=tmp_path, env=environment())
        while stored(tmp_path / "runs" / "set" / "journal.jsonl") < 11:
            time.sleep(0.01)
        second = synthesis(*judge_args(server, cases), cwd=tmp_path)
        status = synthesis("judge", "status", "set", "--root", "runs", cwd=tmp_path)
        server.gate.set()
        assert first.wait() == 0
        assert (status.returncode, "1 pending" in status.stdout) == (0, True)
        assert second.returncode == 1
        assert "another process" in second.stderr
        assert "Traceback" not in second.stderr
        assert len(server.calls) == 12
    assert len(read(tmp_path / "runs" / "set" / "records" / "records-iteration-1.json")) == 12


def test_the_lock_of_a_killed_process_holds_nobody_up(tmp_path):
    cases = write_set(tmp_path / "set.json", sample_cases(3))
    with JudgeServer({"sample-0": [held()]}) as server:
        first = subprocess.Popen(command(*judge_args(server, cases)), cwd=tmp_path, env=environment())
        while "sample-0" not in server.calls:  # the reply that is held back must be the killed process's
            time.sleep(0.01)
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert synthesis(*judge_args(server, cases), cwd=tmp_path).returncode == 0
