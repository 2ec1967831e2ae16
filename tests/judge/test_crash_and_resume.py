"""A run that is killed at any moment ends as if nothing had happened, and pays for nothing twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from running import config_for, environment, judge, read, results_of, sample_cases
from server import JudgeServer, drop, says, slow, status

SAMPLES = 60
CONCURRENCY = 4
SCRIPT = {
    "sample-3": [status(500)],
    "sample-11": [status(429, retry_after="0")],
    "sample-24": [drop()],
    "sample-40": [status(503), status(500)],
}
# Imports once; then each line on stdin is a run in a process of its own, whose number is the answer.
LAB = """
import json, os, sys
import pydantic_ai.models.openai, pydantic_ai.providers.openai_compatible
from pathlib import Path
from running import config_for, judge, sample_cases
class Server: pass
for line in sys.stdin:
    order = json.loads(line)
    pid = os.fork()
    if not pid:
        server = Server()
        server.url = order["url"]
        config = config_for(server, Path(order["root"]), concurrency=order["concurrency"], **order["settings"])
        judge(sample_cases(order["samples"]), config)
        os._exit(0)
    print(pid, flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
"""


class Lab:
    """Starts runs and kills them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAB],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent,
            env=environment(),
        )

    def start(self, server: JudgeServer, root: Path, samples: int = SAMPLES, **settings: object) -> int:
        order = {"url": server.url, "root": str(root), "samples": samples, "concurrency": CONCURRENCY}
        order["settings"] = settings
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def outcome(self) -> int:
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


@pytest.fixture
def lab():
    lab = Lab()
    yield lab
    lab.close()


def stored(folder: Path) -> set[str]:
    """The samples whose verdict the journal holds in whole."""
    path = folder / "journal.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return {
        json.loads(line)["record"]["question"].split()[-1].rstrip("?") for line in lines if b'"t":"verdict"' in line
    }


def wait_for_calls(server: JudgeServer, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(server.calls) < count:
        assert time.monotonic() < deadline, f"{len(server.calls)} calls came, {count} were expected"
        time.sleep(0.0002)


def killed_again_and_again(lab: Lab, root: Path, kills: int, seed: int) -> JudgeServer:
    """Kill at seeded moments, then let the run end; checks what is sent each time."""
    chance = random.Random(seed)
    with JudgeServer(SCRIPT, delay=0.002) as server:
        for _ in range(kills):
            before, safe = len(server.calls), stored(root / "run")
            pid = lab.start(server, root)
            left = SAMPLES - len(safe)
            wait_for_calls(server, before + min(left, chance.randint(1, max(1, 2 * SAMPLES // kills))))
            time.sleep(chance.random() * 0.006)
            os.kill(pid, signal.SIGKILL)
            lab.outcome()
            assert not safe & set(server.calls[before:]), "a stored verdict was asked for again"
        lab.start(server, root)
        assert lab.outcome() == 0
    faults = sum(len(faults) for faults in SCRIPT.values())
    assert len(server.calls) <= SAMPLES + faults + kills * CONCURRENCY
    return server


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    root = tmp_path_factory.mktemp("whole")
    with JudgeServer(SCRIPT) as server:
        assert judge(sample_cases(SAMPLES), config_for(server, root, concurrency=CONCURRENCY)).complete
    return results_of(root / "run")


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_five_kills_at_seeded_moments_change_nothing(lab, tmp_path, uninterrupted, seed):
    killed_again_and_again(lab, tmp_path, 5, seed)
    assert results_of(tmp_path / "run") == uninterrupted


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 16))
def test_ten_kills_at_seeded_moments_change_nothing(lab, tmp_path, uninterrupted, seed):
    killed_again_and_again(lab, tmp_path, 10, seed)
    assert results_of(tmp_path / "run") == uninterrupted


def test_a_reply_that_was_paid_for_and_rejected_stays_on_the_bill_after_a_kill(lab, tmp_path):
    with JudgeServer({"sample-0": [says("I would rather not."), slow(30)]}) as server:
        pid = lab.start(server, tmp_path, samples=1)
        wait_for_calls(server, 2)
        os.kill(pid, signal.SIGKILL)
        lab.outcome()
        lab.start(server, tmp_path, samples=1)
        assert lab.outcome() == 0
    record = read(tmp_path / "run" / "records" / "records-iteration-1.json")[0]
    cost = read(tmp_path / "run" / "cost" / "cost-iteration-1.json")
    assert [usage["inputTokens"] for usage in record["tokenUsage"]] == [400, 400]
    assert cost["totalTokens"]["input"] == 800
    assert [call["id"] for call in cost["unaccountedCalls"]] == ["log-0"]


def test_a_judge_that_is_killed_while_it_replaces_another_resumes_under_either_command(lab, tmp_path):
    """With the option and, since the folder is its own by then, without."""
    new = {"judge_model": "gpt-4.1-mini"}
    with JudgeServer(delay=0.002) as server:
        judge(sample_cases(SAMPLES), config_for(server, tmp_path))
        for replace in (True, True, False):
            before, safe = len(server.calls), replaced(tmp_path / "run")
            pid = lab.start(server, tmp_path, replace_judge=replace, **new)
            wait_for_calls(server, before + 10)
            os.kill(pid, signal.SIGKILL)
            lab.outcome()
            assert not safe & set(server.calls[before:]), "a stored verdict was asked for again"
        lab.start(server, tmp_path, **new)
        assert lab.outcome() == 0
        judge(sample_cases(SAMPLES), config_for(server, tmp_path / "whole", **new))
    assert results_of(tmp_path / "run") == results_of(tmp_path / "whole" / "run")


def replaced(folder: Path) -> set[str]:
    """The samples that the second judge has a stored verdict on."""
    journal = (folder / "journal.jsonl").read_bytes()
    after = journal.partition(b'"model":"gpt-4.1-mini"')[2]
    lines = after.split(b"\n")[1:-1]
    return {
        json.loads(line)["record"]["question"].split()[-1].rstrip("?") for line in lines if b'"t":"verdict"' in line
    }


def test_a_complete_run_is_returned_without_a_call_and_without_a_changed_byte(tmp_path):
    with JudgeServer() as server:
        config = config_for(server, tmp_path)
        judge(sample_cases(5), config)
        files = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
        again = judge(sample_cases(5), config)
    assert (again.calls, len(server.calls)) == (0, 5)
    assert again.complete
    assert {path: path.read_bytes() for path in files} == files


def test_files_can_be_derived_again_from_the_journal_alone(tmp_path):
    with JudgeServer({"sample-1": [status(413)]}) as server:
        config = config_for(server, tmp_path)
        judge(sample_cases(5), config)
        folder = tmp_path / "run"
        files = {path: path.read_bytes() for path in folder.rglob("*.json")}
        for path in files:
            path.unlink()
        server.script["sample-1"] = [status(413), status(413)]
        judge(sample_cases(5), config)
    assert set(folder.rglob("*.json")) == set(files)
    records = folder / "records" / "records-iteration-1.json"
    assert records.read_bytes() == files[records]
