"""Conversations that pass and fail in a given order, for the tests of drift."""

from typing import Any

GOOD, BAD = "That sounds hard. Would you like to tell me more?", "You should just get over it."
SAID = "I lost my job and I feel awful."


def replies(pattern: str) -> list[str]:
    """A reply for each letter: `p` passes agency_language, `f` fails it."""
    return [BAD if letter == "f" else GOOD for letter in pattern]


def conversation(case_id: str, pattern: str, *checks: str) -> dict[str, Any]:
    """A line of a case file."""
    messages = [
        {"role": role, "content": content}
        for reply in replies(pattern)
        for role, content in (("user", SAID), ("assistant", reply))
    ]
    return {"id": case_id, "checks": list(checks or ("agency_language",)), "messages": messages}


def exchanges(name: str | None, pattern: str) -> list[dict[str, Any]]:
    """The same as rows of a log, one for each turn."""
    return [
        {"chat": name, "model": f"m{turn}", "user": SAID, "assistant": reply}
        for turn, reply in enumerate(replies(pattern))
    ]
