"""Notices that the user talks to a machine: at the beginning, and every three hours of a conversation that goes on.

They are looked for in what the assistant said. A notice that the interface shows is in no log: "not found in the text"
says nothing about whether there was one.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from synthesis.model import Case
from synthesis.rules.yaml_reader import load_yaml

FILE = Path(__file__).with_name("notices.yaml")
EVERY = 3 * 60 * 60  # seconds
# A conversation that rests longer than that is taken up again, and is not one that goes on.
REST = 60 * 60
ROLES = {"assistant", "system"}
Message = tuple[str, str]  # role, text


@cache
def bundled_patterns() -> tuple[str, ...]:
    found: dict[str, list[str]] = load_yaml(FILE)["notices"]
    return tuple(pattern for patterns in found.values() for pattern in patterns)


class NoticeReader:
    """Finds notices by the bundled patterns and by the operator's own."""

    def __init__(self, own: Sequence[str] = ()) -> None:
        self._pattern = re.compile("|".join(f"(?:{one})" for one in (*bundled_patterns(), *own)), re.IGNORECASE)

    def holds(self, text: str) -> bool:
        return self._pattern.search(text.replace("’", "'")) is not None

    def any_holds(self, messages: Iterable[Message]) -> bool:
        return any(role in ROLES and self.holds(text) for role, text in messages)


class NoticeCounts:
    """Conversations with and without notices; two parts add up."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()

    def merge(self, other: "NoticeCounts") -> None:
        self.found.update(other.found)

    def add(self, reader: NoticeReader, case: Case) -> None:
        said = _messages(case)
        if not said:
            return
        first = next((position for position, (role, _) in enumerate(said) if role == "assistant"), 0)
        self.found["at the beginning" if reader.any_holds(said[: first + 1]) else "not at the beginning"] += 1
        if len(case.times) == len(said):
            self._add_times(reader, case.times, said)

    def _add_times(self, reader: NoticeReader, times: Sequence[float | None], said: Sequence[Message]) -> None:
        """Each three hours for which a conversation went on, and whether they hold a notice after their beginning."""
        start = before = None
        since: list[Message] = []  # read only once three hours have passed: most conversations are shorter
        for time, message in zip(times, said, strict=True):
            if time is None:
                continue
            if start is None or before is None or time - before > REST:
                start, since = time, []
            if time > start:
                since.append(message)
            if time - start >= EVERY:
                holds = reader.any_holds(since)
                self.found["three hours with a notice" if holds else "three hours without a notice"] += 1
                start, since = time, []
            before = time


def _messages(case: Case) -> list[Message]:
    if case.messages:
        return [(turn.role, turn.content) for turn in case.messages]
    return [("user", case.user), ("assistant", case.assistant)] if case.assistant else []
