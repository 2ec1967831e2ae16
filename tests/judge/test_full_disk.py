"""A disk that takes no more: the run stops, what is stored stays whole, and it goes on when there is room."""

import resource

import pytest
from running import config_for, judge, results_of, sample_cases, synthesis, write_set
from server import JudgeServer

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def no_bytecode(monkeypatch):
    """Python would keep a module that it compiles on a full disk cut short, and fail on it ever after."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


def limited(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("size", [6_000, 9_001, 12_345])
def test_it_stops_with_exit_code_3_and_goes_on_without_a_loss(tmp_path, size):
    cases = sample_cases(20)
    path = write_set(tmp_path / "set.json", cases)
    with JudgeServer() as server:
        args = (
            "judge",
            "run",
            path,
            "--judge-provider",
            "openai",
            "--base-url",
            server.url,
            "--root",
            "runs",
        )
        full = synthesis(*args, cwd=tmp_path, preexec_fn=limited(size))
        journal = (tmp_path / "runs" / "set" / "journal.jsonl").read_bytes()
        answered = journal.count(b'"t":"verdict"')
        assert full.returncode == 3, full.stderr
        assert "File too large" in full.stderr
        assert "Traceback" not in full.stderr
        assert journal.endswith(b"\n")
        assert answered < 20
        before = len(server.calls)
        assert synthesis(*args, cwd=tmp_path).returncode == 0
        assert len(server.calls) - before == 20 - answered
        judge(cases, config_for(server, tmp_path / "whole", output_dir="set"))
    assert results_of(tmp_path / "runs" / "set") == results_of(tmp_path / "whole" / "set")


def test_a_disk_that_takes_nothing_at_all_is_a_fatal_error(tmp_path):
    path = write_set(tmp_path / "set.json", sample_cases(2))
    done = synthesis("judge", "run", path, "--root", "runs", cwd=tmp_path, preexec_fn=limited(10))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
