"""The command line: it reads options, calls the library, prints, and exits."""

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ends, the same for all of them."""

    OK = 0  # all conditions met
    FATAL = 1  # could not run, nothing written
    UNMET = 2  # ran, a condition is not met
    INCOMPLETE = 3  # ran, but a case or sample ended in error, a cap was reached, or data is too scarce; outranks UNMET
    INTERRUPTED = 130
