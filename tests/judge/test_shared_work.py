"""Several processes share a run: each sample is judged once, and each process ends with all results."""

import json
import signal
from collections import Counter

import pytest
from postgres import shared_server
from run_processes import ProcessGroup, rows, single_run, stored_lines, wait_until
from server import JudgeServer, drop, held, says, status

SAMPLES = 24
SCRIPT = {
    "sample-3": [status(500)],
    "sample-7": [says("nonsense")],
    "sample-11": [status(429, retry_after="0")],
    "sample-16": [drop()],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An undisturbed run of a single process."""
    with JudgeServer(SCRIPT) as server:
        return single_run(server, tmp_path_factory.mktemp("whole"), SAMPLES)


@pytest.fixture
def journal():
    return shared_server().new_database()


@pytest.fixture
def processes(tmp_path, journal):
    processes = ProcessGroup(tmp_path, journal)
    yield processes
    processes.close()


@pytest.mark.parametrize("size", [2, 3])
def test_each_sample_is_judged_once_and_every_process_has_all_results(processes, journal, whole, size):
    first = {f"sample-{n}": [held()] for n in range(size)}  # nobody can do all the work alone
    with JudgeServer({**SCRIPT, **first}) as server:
        crowd = [processes.start(server.url, SAMPLES, concurrency=1) for _ in range(size)]
        wait_until(lambda: len(server.calls) == size, "not every process has begun")
        server.gate.set()
        ends = [member.outcome() for member in crowd]
    assert all(end["complete"] and end["calls"] >= 1 for end in ends), ends
    assert Counter(server.calls) == {f"sample-{n}": 2 if f"sample-{n}" in SCRIPT else 1 for n in range(SAMPLES)}
    assert [member.results() for member in crowd] == [whole] * size
    assert sum(end["calls"] for end in ends) == len(server.calls)
    assert len(stored_lines(journal, "verdict")) == SAMPLES
    assert rows(journal, "SELECT * FROM synthesis_judge.worker") == []


def test_processes_that_start_at_the_very_same_time_make_one_run(processes, journal, whole):
    with JudgeServer(SCRIPT) as server:
        ends = [member.outcome() for member in [processes.start(server.url, SAMPLES) for _ in range(4)]]
    assert all(end["complete"] for end in ends), ends
    assert [len(stored_lines(journal, kind)) for kind in ("run", "set", "verdict")] == [1, 1, SAMPLES]
    assert len(server.answered) == SAMPLES + 1  # one reply was no verdict


def test_several_iterations_are_shared_as_well(processes, tmp_path):
    with JudgeServer() as server:
        whole = single_run(server, tmp_path / "whole", 6, iterations=3)
        server.calls.clear()
        crowd = [processes.start(server.url, 6, iterations=3) for _ in range(2)]
        assert all(member.outcome()["complete"] for member in crowd)
        assert Counter(server.calls) == {f"sample-{n}": 3 for n in range(6)}
    assert [member.results() for member in crowd] == [whole, whole]


def test_a_killed_process_loses_its_samples_to_the_others_and_nothing_else(processes, journal, whole):
    with JudgeServer({**SCRIPT, "sample-0": [held()]}) as server:
        first = processes.start(server.url, SAMPLES, lease=2, concurrency=2)
        wait_until(lambda: len(server.calls) >= 6, "nothing is judged")
        first.send(signal.SIGKILL)
        stored = {line["record"]["question"].split()[-1].rstrip("?") for line in stored_lines(journal, "verdict")}
        before = len(server.calls)
        second = processes.start(server.url, SAMPLES, lease=2)
        assert second.outcome()["complete"]
        assert not stored & set(server.calls[before:]), "a stored verdict was asked for again"
        assert "sample-0" in server.calls[before:]
    assert second.results() == whole
    cost = json.loads((second.root / "run" / "cost" / "cost-iteration-1.json").read_text())
    assert "log-0" in [call["queryLogId"] for call in cost["unaccountedCalls"]]


def test_a_verdict_that_comes_after_the_lease_was_lost_is_paid_for_but_not_stored_twice(processes, journal):
    with JudgeServer({"sample-0": [held()]}) as server:
        slow = processes.start(server.url, 4, lease=2, concurrency=1)
        wait_until(lambda: server.calls == ["sample-0"], "the first has not begun")
        slow.send(signal.SIGSTOP)
        other = processes.start(server.url, 4, lease=2, concurrency=1)
        assert other.outcome()["complete"]
        server.gate.set()
        wait_until(lambda: server.answered.count("sample-0") == 2, "the first call was not answered")
        slow.send(signal.SIGCONT)
        assert slow.outcome()["complete"]
        assert Counter(server.calls) == {"sample-0": 2, "sample-1": 1, "sample-2": 1, "sample-3": 1}
    assert len(stored_lines(journal, "verdict")) == 4
    assert "came too late" in stored_lines(journal, "reply")[0]["reason"]
    cost = slow.results()["cost/cost-iteration-1.json"]
    assert cost["totalTokens"]["input"] == 2 * 400 + 401 + 402 + 403


def test_an_interrupted_process_gives_back_what_it_holds_at_once(processes):
    with JudgeServer({"sample-0": [held()], "sample-1": [held()]}) as server:
        first = processes.start(server.url, 6, lease=3600, concurrency=1)
        wait_until(lambda: server.calls == ["sample-0"], "the first has not begun")
        second = processes.start(server.url, 6, lease=3600, concurrency=1)
        wait_until(lambda: "sample-1" in server.calls, "the second has not begun")
        first.send(signal.SIGINT)
        server.gate.set()
        assert first.outcome() == {"error": "KeyboardInterrupt"}
        assert second.outcome()["complete"]
    assert sorted(server.calls) == [f"sample-{n}" for n in range(6)]


def test_what_fails_is_an_error_everywhere_and_is_tried_again_next_time(processes):
    with JudgeServer({"sample-2": [status(413)]}) as server:
        crowd = [processes.start(server.url, 5, concurrency=2) for _ in range(2)]
        ends = [member.outcome() for member in crowd]
        if not any(end["complete"] for end in ends):  # a process that came late has tried it again already
            again = processes.start(server.url, 5)
            assert again.outcome() == {"complete": True, "calls": 1, "stopped": None}
    assert Counter(server.calls)["sample-2"] == 2
    assert len(server.calls) == 6


def test_the_cap_holds_for_all_processes_together(processes):
    with JudgeServer() as server:
        crowd = [processes.start(server.url, 60, max_cost=0.003, concurrency=4) for _ in range(3)]
        ends = [member.outcome() for member in crowd]
    spent = sum(0.15e-6 * (400 + n) + 0.6e-6 * (50 + n % 9) for n in (int(s.split("-")[1]) for s in server.answered))
    assert all("cap of 0.003 USD" in end["stopped"] for end in ends), ends
    assert 0 < len(server.answered) < 60
    assert spent <= 0.003
