"""Exit codes, the same for every command."""

from typing import Any

OK = 0  # all conditions met
FATAL = 1  # could not run, nothing written
UNMET = 2  # ran, a condition is not met
INCOMPLETE = (
    3  # ran, but a case or sample ended in error, a cap was reached, or data is too scarce to decide; outranks UNMET
)
INTERRUPTED = 130


def exit_code(summary: dict[str, Any], *, unmet: bool, undecided: bool = False) -> int:
    """How a run of the checks ends: incomplete outranks unmet."""
    if summary["errors"] or undecided:
        return INCOMPLETE
    return UNMET if unmet else OK


def too_many_failures(summary: dict[str, Any], allowed: int) -> str:
    """Why a run does not meet its condition, in words; empty if it does."""
    number = summary["unexpected_failures"]
    return f"unexpected failures: {number}, allowed: {allowed} (exit code {UNMET})" if number > allowed else ""
