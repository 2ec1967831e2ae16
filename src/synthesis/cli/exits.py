"""Exit codes, the same for every command."""

from typing import Any

OK = 0  # the condition holds
FATAL = 1  # could not run, nothing written
UNMET = 2  # ran, the condition does not hold
INCOMPLETE = 3  # ran, but a case or sample ended in error, or a cap was reached; outranks UNMET
INTERRUPTED = 130


def exit_code(summary: dict[str, Any], *, unmet: bool) -> int:
    """How a run of the checks ends: incomplete outranks unmet."""
    if summary["errors"]:
        return INCOMPLETE
    return UNMET if unmet else OK
