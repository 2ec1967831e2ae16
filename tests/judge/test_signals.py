"""SIGINT and SIGTERM: the first waits for calls in flight and stores them, the second ends at once."""

import signal
import subprocess
import time

import pytest
from running import command, environment, read, sample_cases, synthesis, wait_until, write_set
from server import JudgeServer, held, status

pytestmark = pytest.mark.slow

# SIGINT in test_command_line_judge.py, too, as Ctrl-C.
SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])


@pytest.fixture
def start(tmp_path):
    """Starts a run; ends it if the test has not."""
    started = []

    def start(server, samples, *options):
        cases = write_set(tmp_path / "set.json", sample_cases(samples))
        process = subprocess.Popen(
            command(*arguments(server, cases, *options)),
            cwd=tmp_path,
            env=environment(),
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            # A shell that runs the tests in the background makes all its children deaf to Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def arguments(server, cases, *options):
    judge = ("--judge-provider", "openai", "--judge-model", "gpt-4o-mini", "--base-url", server.url)
    return ("judge", "run", cases, *judge, "--root", "runs", *options)


def told(process, words):
    """Reads on until the process says so; returns the line."""
    return next(line for line in iter(process.stderr.readline, "") if words in line)


def cost(tmp_path):
    return read(tmp_path / "runs" / "set" / "cost" / "cost-iteration-1.json")


@SIGNALS
def test_the_first_signal_sends_nothing_new_and_stores_the_calls_under_way(start, tmp_path, number):
    with JudgeServer({f"sample-{n}": [held()] for n in range(2, 20)}) as server:
        process = start(server, 20, "--concurrency", 3)
        wait_until(lambda: len(server.calls) == 5, "five calls have not come")
        process.send_signal(number)
        line = told(process, "Stopping")
        assert "Waiting up to 30 s for 3 calls in flight" in line
        server.gate.set()
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert "5 of 20 judged and stored" in err
        assert "The same command resumes" in err
        assert "Traceback" not in err
        assert len(server.calls) == 5
    assert cost(tmp_path)["unaccountedCalls"] == []
    assert len(cost(tmp_path)["tokenUsage"]) == 5


@SIGNALS
def test_the_second_signal_ends_at_once(start, tmp_path, number):
    with JudgeServer({f"sample-{n}": [held()] for n in range(4)}) as server:
        process = start(server, 4, "--concurrency", 4)
        wait_until(lambda: len(server.calls) == 4, "four calls have not come")
        process.send_signal(number)
        told(process, "for 4 calls in flight")
        began = time.monotonic()
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        assert time.monotonic() - began < 10
    assert process.returncode == 130
    assert "0 of 4 judged and stored" in err
    assert "Traceback" not in err
    assert len(cost(tmp_path)["unaccountedCalls"]) == 4


def test_after_the_grace_calls_are_given_up(start, tmp_path):
    with JudgeServer({f"sample-{n}": [held()] for n in range(3)}) as server:
        process = start(server, 3, "--grace", "0.5")
        wait_until(lambda: len(server.calls) == 3, "three calls have not come")
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Waiting up to 0.5 s for 3 calls" in err
    assert len(cost(tmp_path)["unaccountedCalls"]) == 3


def test_a_sample_that_waits_for_its_next_attempt_does_not_hold_the_end_up(start):
    with JudgeServer({"sample-0": [status(429, retry_after="200")]}) as server:
        process = start(server, 1)
        wait_until(lambda: server.calls and not server.in_flight, "the call has not come")
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        _, err = process.communicate(timeout=60)
        assert time.monotonic() - began < 10
        assert len(server.calls) == 1
    assert process.returncode == 130
    assert "no call is in flight" in err


def test_a_negative_grace_is_refused(tmp_path):
    done = synthesis("judge", "run", "passages", "--grace", "-1", cwd=tmp_path)
    assert done.returncode == 1
    assert "--grace must be 0 seconds or more" in done.stderr
