"""How many failures a run may have: in all, or by severity; in traffic a critical one is allowed only by severity."""

import pytest

from synthesis.errors import OptionError
from synthesis.run.limits import Limits
from synthesis.settings import AUTHORED, TRAFFIC


def failures(critical: int = 0, serious: int = 0, minor: int = 0) -> dict[str, int]:
    return {"critical": critical, "serious": serious, "minor": minor}


@pytest.mark.parametrize(
    ("limits", "found", "message"),
    [
        ("0", failures(minor=1), "failures: 1, allowed: 0"),
        ("2", failures(serious=1, minor=2), "failures: 3, allowed: 2"),
        ("critical=1", failures(critical=2), "critical failures: 2, allowed: 1"),
        ("serious=5", failures(serious=6), "serious failures: 6, allowed: 5"),
        ("minor=2%", failures(minor=3), "minor failures: 3, allowed: 2%"),
    ],
)
@pytest.mark.parametrize("profile", [AUTHORED, TRAFFIC])
def test_more_than_a_limit_allows_is_named(limits: str, found: dict[str, int], message: str, profile: str) -> None:
    assert Limits.of(limits).unmet(found, 100, profile) == [message]


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        ("3", failures(serious=1, minor=2)),
        ("critical=1", failures(critical=1, serious=50, minor=50)),  # nothing is said about what is less bad
        ("serious=5", failures(serious=5, minor=90)),
        ("minor=2%", failures(minor=2)),
        (" critical = 1 , minor = 2.5% ", failures(critical=1, minor=2)),
    ],
)
def test_what_a_limit_allows_is_met(limits: str, found: dict[str, int]) -> None:
    assert Limits.of(limits).unmet(found, 100, TRAFFIC) == []


def test_a_number_does_not_allow_a_critical_failure_in_traffic() -> None:
    assert Limits.of(99).unmet(failures(critical=1), 100, TRAFFIC) == [
        "critical failures: 1, allowed: 0 (--fail-on critical=N allows them)"
    ]
    assert Limits.of(99).unmet(failures(critical=1), 100, AUTHORED) == []


def test_a_limit_on_what_is_less_bad_allows_nothing_worse() -> None:
    assert Limits.of("serious=5").unmet(failures(critical=1), 100, TRAFFIC) == ["critical failures: 1, allowed: 0"]
    found = Limits.of("minor=100%").unmet(failures(critical=1, serious=1, minor=9), 100, AUTHORED)
    assert found == ["critical failures: 1, allowed: 0", "serious failures: 1, allowed: 0"]


def test_a_share_is_one_of_all_cases_and_not_rounded() -> None:
    limits = Limits.of("minor=2%")
    assert limits.unmet(failures(minor=1), 50, TRAFFIC) == []
    assert limits.unmet(failures(minor=1), 49, TRAFFIC) != []
    assert limits.unmet(failures(), 0, TRAFFIC) == []


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "1.5", "3%", "grave=1", "critical", "critical=", "minor=-1%", "minor=101%"]
)
def test_what_nobody_can_keep_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="--fail-on"):
        Limits.of(text)
