"""Progress: a line within a second, a pace that follows, a time left that moves; nothing where nobody looks."""

import os
import pty
import re
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthesis.cli.running import ProgressLine, pace_line
from synthesis.run.files import Pace, duration


class Hands:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Hands:
    return Hands()


def test_before_the_first_part_only_time_is_told(clock: Hands) -> None:
    pace = Pace(clock)
    clock.now += 3
    assert pace_line(pace, "cases") == "no cases yet, 3 s so far"


def test_the_time_left_counts_down_between_two_parts(clock: Hands) -> None:
    pace = Pace(clock)
    clock.now += 10
    pace.note(1000, 25, 100)
    assert pace_line(pace, "cases") == "1,000 cases, 25 %, 100 per second, about 30 s left"
    clock.now += 12
    assert pace_line(pace, "cases") == "1,000 cases, 25 %, 100 per second, about 18 s left"
    clock.now += 20
    assert pace_line(pace, "cases") == "1,000 cases, 25 %, 100 per second, 42 s so far", "no promise that was broken"


def test_the_pace_follows_a_change(clock: Hands) -> None:
    pace = Pace(clock)
    for _ in range(30):
        clock.now += 1
        pace.note(pace.rows + 100, pace.done + 1, 1000)
    for _ in range(30):
        clock.now += 1
        pace.note(pace.rows + 10, pace.done + 1, 1000)
    assert pace.rows_per_second == pytest.approx(10, abs=1)


def test_without_a_total_no_end_is_foretold(clock: Hands) -> None:
    pace = Pace(clock)
    clock.now += 2
    pace.note(5, 5, 0)
    assert pace_line(pace, "cases") == "5 cases, 2.5 per second, 2 s so far"


@given(st.lists(st.tuples(st.floats(0, 100), st.integers(0, 50)), max_size=30))
def test_nothing_impossible_is_told(steps: list[tuple[float, int]]) -> None:
    clock = Hands()
    pace = Pace(clock)
    for seconds, more in steps:
        clock.now += seconds
        pace.note(pace.rows + more, pace.done + more, 2000)
        assert pace.seconds_left is None or pace.seconds_left > 0
        assert pace.rows_per_second is None or pace.rows_per_second > 0
        assert pace_line(pace, "cases")


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (59.6, "1 min 0 s"), (3725, "1 h 2 min")])
def test_durations_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_line_is_drawn_and_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    monkeypatch.setattr("synthesis.cli.running.PATIENCE", 0.01)
    monkeypatch.setattr("synthesis.cli.running._write", drawn.append)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with ProgressLine(lambda: "halfway"):
        while not drawn:
            time.sleep(0.01)
    assert drawn[0].endswith("halfway")
    assert drawn[-1] == "\r\x1b[2K"
    count = len(drawn)
    time.sleep(0.05)
    assert len(drawn) == count


def test_a_run_shows_a_line_within_its_first_second_and_removes_it() -> None:
    # A run that waits, so that it does not matter how fast the machine is.
    program = (
        "import time; from synthesis.cli.running import progress\n"
        "with progress('cases') as note:\n    time.sleep(0.9); note(3, 1, 2); time.sleep(0.5)\n"
    )
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", program], stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    assert process.wait() == 0
    told = shown.decode()
    assert "no cases yet" in told
    assert re.search(r"3 cases, 50 %, \d\.\d per second, about 1 s left", told)
    assert told.endswith("\r\x1b[2K")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""


@pytest.mark.parametrize(("quiet", "told"), [(False, True), (True, False)])
def test_without_a_terminal_a_line_is_printed_now_and_then(
    monkeypatch: pytest.MonkeyPatch, quiet: bool, told: bool
) -> None:
    printed: list[str] = []
    monkeypatch.setattr("synthesis.cli.running.SECONDS_BETWEEN_LINES", 0.01)
    monkeypatch.setattr("synthesis.cli.running._write", printed.append)
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    described = iter(f"step {number}" for number in range(10**6))
    with ProgressLine(lambda: next(described), quiet=quiet):
        deadline = time.monotonic() + 5
        while told and len(printed) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert printed[:3] == (["step 0\n", "step 1\n", "step 2\n"] if told else [])
