"""A call is on the bill from the moment its request leaves, not while it waits for a connection."""

import json
import signal
import socket
import subprocess
import time

import pytest
from running import command, config_for, environment, judge, read, sample_cases, synthesis, wait_until, write_set
from server import JudgeServer

from synthesis.judge.calls import Patience

pytestmark = pytest.mark.slow


class FullServer:
    """Listens, but its queue is full: a connection to it never comes about."""

    def __enter__(self):
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(0)
        address = self._listener.getsockname()
        self._clients = [socket.socket() for _ in range(4)]
        for client in self._clients:
            client.setblocking(False)
            client.connect_ex(address)
        self.url = f"http://127.0.0.1:{address[1]}/v1"
        return self

    def __exit__(self, *_):
        for open_socket in (*self._clients, self._listener):
            open_socket.close()


def test_a_call_that_found_no_connection_is_not_on_the_bill(tmp_path):
    patience = Patience(attempts=2, first_wait=0.01)
    with FullServer() as server:
        result = judge(sample_cases(2), config_for(server, tmp_path, timeout=1.0, patience=patience))
    iteration = result.results.iterations[0]
    assert [error["reason"] for error in iteration.errors] == [
        "no verdict after 2 calls; the last: no connection within 1 s"
    ] * 2
    assert iteration.cost["unaccountedCalls"] == []
    assert result.calls == 0


def test_nor_is_one_whose_connection_was_refused(tmp_path):
    with JudgeServer() as server:
        pass
    result = judge(sample_cases(1), config_for(server, tmp_path))
    iteration = result.results.iterations[0]
    assert "no connection" in iteration.errors[0]["reason"]
    assert iteration.cost["unaccountedCalls"] == []
    assert result.calls == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_a_process_that_ends_while_it_connects_owes_nothing(tmp_path, number):
    cases = write_set(tmp_path / "set.json", sample_cases(3))
    judged = ("judge", "run", cases, "--judge-provider", "openai", "--root", "runs", "--base-url")
    folder = tmp_path / "runs" / "set"
    with FullServer() as full:
        process = subprocess.Popen(
            command(*judged, full.url), cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL
        )
        wait_until((folder / "journal.jsonl").exists, "the run has not begun")
        time.sleep(1)
        process.send_signal(number)
        process.wait(timeout=60)
    with JudgeServer() as server:
        done = synthesis(*judged, server.url, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert read(folder / "cost" / "cost-iteration-1.json")["unaccountedCalls"] == []
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    assert sum(line["t"] == "call" for line in lines) == len(server.calls) == 3


def test_the_cap_counts_only_what_was_sent(tmp_path):
    patience = Patience(attempts=1)
    with FullServer() as server:
        judge(
            sample_cases(3),
            config_for(server, tmp_path, timeout=0.5, patience=patience, max_cost=0.0025, concurrency=1),
        )
    with JudgeServer() as server:
        result = judge(sample_cases(3), config_for(server, tmp_path, max_cost=0.0025, concurrency=1))
    assert result.complete
    assert result.results.iterations[0].cost["totalTokens"]["input"] == 400 + 401 + 402
