"""Exit codes, the same for every command."""

OK = 0  # the condition holds
FATAL = 1  # could not run, nothing written
UNMET = 2  # ran, the condition does not hold
INCOMPLETE = 3  # ran, but a case or sample ended in error, or a cap was reached; outranks UNMET
INTERRUPTED = 130
