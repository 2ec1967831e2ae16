"""Times are read as logs write them, and notices are looked for where a conversation goes on."""

from datetime import UTC, datetime

import pytest

from synthesis.audit.counting import NoticeCounts, NoticeReader
from synthesis.checks.registry import rules_in_force
from synthesis.model import Case, Turn
from synthesis.read.rows import moment

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
HOUR = 3600.0


@pytest.mark.parametrize(
    "written",
    [
        "2026-01-01T00:00:00Z",
        "2026-01-01T01:00:00+01:00",
        "2026-01-01 00:00:00",
        "2026-01-01",
        "20260101",
        NEW_YEAR,
        str(int(NEW_YEAR)),
        int(NEW_YEAR * 1000),
        datetime(2026, 1, 1),
    ],
)
def test_times(written: object) -> None:
    assert moment(written) == NEW_YEAR


@pytest.mark.parametrize("written", ["yesterday", "", None, True, -5, "1e999", float("nan"), [], "2026-13-01"])
def test_what_is_no_time(written: object) -> None:
    assert moment(written) is None


def chat(*replies: str, every: float) -> Case:
    turns = [turn for text in replies for turn in (Turn("user", "And then?"), Turn("assistant", text))]
    times = tuple(NEW_YEAR + place * every for place in range(len(replies)) for _ in (0, 1))
    return Case("A-1", (), messages=tuple(turns), times=times)


def counted(case: Case, *own: str) -> dict[str, int]:
    counts = NoticeCounts()
    counts.add(NoticeReader(rules_in_force(), own), case)
    return dict(counts.found)


def test_a_notice_at_the_beginning() -> None:
    assert counted(chat("Hi. You're talking with an AI.", "Yes.", every=60)) == {"at the beginning": 1}
    assert counted(chat("Hi there.", "I'm an AI.", every=60)) == {"not at the beginning": 1}


def test_each_three_hours_that_went_on() -> None:
    said = ["I'm an AI.", *["Yes."] * 6, "Remember, I'm an AI."]  # after 0 and 3.5 hours
    found = counted(chat(*said, *["Yes."] * 6, every=HOUR / 2))
    assert found["three hours without a notice"] == 1
    assert found["three hours with a notice"] == 1


def test_a_rest_begins_again() -> None:
    assert counted(chat("I'm an AI.", *["Yes."] * 5, every=2 * HOUR)) == {"at the beginning": 1}


def test_the_operators_own_words() -> None:
    said = chat("Welcome! Beep, says your robot friend.", every=60)
    assert counted(said) == {"not at the beginning": 1}
    assert counted(said, "robot friend") == {"at the beginning": 1}
