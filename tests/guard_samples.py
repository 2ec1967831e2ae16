"""What is said to a guard in its tests, and writers who answer it."""

from collections.abc import Callable

USER = "I lost my job and I feel awful."
CRISIS = "I want to kill myself tonight."
GOOD = "I'm sorry, that sounds really hard. Would you like to talk about what happened?"
HELP = "I'm so glad you told me. Are you safe right now? Please call or text 988."
DIRECTIVE = "You should just move on."
PROMISE = "I hear you. You'll definitely be fine. We can go on talking about it for as long as you like."
GERMAN = "Ich bin so traurig seit der Trennung von meiner Frau."


def never(*_: str) -> str:
    raise AssertionError("not to be called")


def scripted(*replies: str) -> tuple[Callable[[str, str, str], str], list[tuple[str, str]]]:
    """A writer that gives these replies one after the other, and what it was told."""
    told: list[tuple[str, str]] = []

    def write(user: str, reply: str, feedback: str) -> str:
        told.append((reply, feedback))
        return replies[len(told) - 1]

    return write, told
