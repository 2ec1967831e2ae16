"""Processes of a shared run are killed at seeded moments and replaced; the result is that of an undisturbed one."""

import random
import signal
import time

import pytest
from postgres import shared_server
from run_processes import ProcessGroup, single_run, stored_lines, wait_until
from server import JudgeServer, drop, status

SAMPLES = 90
CONCURRENCY = 3
SCRIPT = {
    "sample-3": [status(500)],
    "sample-24": [drop()],
    "sample-40": [status(503), status(500)],
    "sample-77": [status(429, retry_after="0")],
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_six_kills_among_three_processes_change_nothing(tmp_path, seed):
    chance = random.Random(seed)
    journal = shared_server().new_database()
    processes = ProcessGroup(tmp_path, journal)
    with JudgeServer(SCRIPT, delay=0.02) as server:
        crowd = [processes.start(server.url, SAMPLES, lease=3, concurrency=CONCURRENCY) for _ in range(3)]
        for _ in range(6):
            goal = min(len(server.calls) + chance.randint(1, 12), SAMPLES)
            wait_until(lambda goal=goal: len(server.calls) >= goal, "no call is sent")
            time.sleep(chance.random() * 0.02)
            victim = crowd.pop(chance.randrange(len(crowd)))
            if not victim.has_ended():
                victim.send(signal.SIGKILL)
            crowd.append(processes.start(server.url, SAMPLES, lease=3, concurrency=CONCURRENCY))
        assert all(member.outcome()["complete"] for member in crowd)
        faults = sum(len(faults) for faults in SCRIPT.values())
        assert len(server.calls) <= SAMPLES + faults + 6 * CONCURRENCY
    verdicts = [(line["i"], line["h"]) for line in stored_lines(journal, "verdict")]
    assert len(verdicts) == len(set(verdicts)) == SAMPLES
    with JudgeServer(SCRIPT) as server:
        whole = single_run(server, tmp_path / "whole", SAMPLES)
    assert [member.results() for member in crowd] == [whole] * 3
    processes.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_processes_that_stand_still_for_longer_than_their_lease_store_nothing_twice(tmp_path, seed):
    chance = random.Random(seed)
    journal = shared_server().new_database()
    processes = ProcessGroup(tmp_path, journal)
    with JudgeServer(delay=0.03) as server:
        crowd = [processes.start(server.url, SAMPLES, lease=3, concurrency=CONCURRENCY) for _ in range(3)]
        wait_until(lambda: len(server.calls) >= 10, "no call is sent")
        for _ in range(4):
            sleeper = chance.choice(crowd)
            if sleeper.has_ended():
                break
            sleeper.send(signal.SIGSTOP)
            time.sleep(3.5)
            sleeper.send(signal.SIGCONT)
        assert all(member.outcome()["complete"] for member in crowd)
    verdicts = [(line["i"], line["h"]) for line in stored_lines(journal, "verdict")]
    assert len(verdicts) == len(set(verdicts)) == SAMPLES
    processes.close()
