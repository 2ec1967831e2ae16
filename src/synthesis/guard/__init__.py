"""A guard around each reply of a running assistant: flag it, have it written again, or fall back.

    guard = Guard(on_fail="regenerate", regenerate=ask_the_model_again, fallback="Would you like to tell me more?")
    outcome = guard.review(messages, reply)  # or: await guard.review_async(messages, reply)
    send(outcome.reply)

When the user's messages show a crisis, or are in a language without rules, no reply is ever withheld, replaced or cut
short: the guard then only flags. Words that look wrong to a rule may be the ones that keep somebody safe.
"""

from synthesis.guard.guard import Guard, GuardOutcome
from synthesis.guard.review import Review
from synthesis.guard.stream import GuardedStream

__all__ = ["Guard", "GuardOutcome", "GuardedStream", "Review"]
