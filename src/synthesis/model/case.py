"""A case: a conversation, the checks asked for, and what a person expects of them."""

import msgspec

NEGATIVE_TAG = "negative_example"
NEGATIVE_ENDING = "-fail"


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a case was read, and what it is called there if that is not its id."""

    file: str
    line: int
    id: str | None = None

    @property
    def place(self) -> tuple[str, int]:
        return self.file, self.line


class Turn(msgspec.Struct, frozen=True):
    """One message of a conversation."""

    role: str
    content: str


class Case(msgspec.Struct, frozen=True, omit_defaults=True):
    """One conversation to evaluate: `user` and `assistant`, or `messages` in their place.

    An empty reply is one without text, such as a tool call: there is nothing in it to assess.
    """

    id: str
    checks: tuple[str, ...]
    user: str = ""
    assistant: str = ""
    expected: dict[str, bool] | None = None
    tags: tuple[str, ...] = ()
    notes: str | None = None
    lang: str | None = None
    messages: tuple[Turn, ...] = ()
    source: Source | None = None
    problem: str | None = None  # why a row of a log could not be read; such a case ends in error
    times: tuple[float | None, ...] = ()  # when each message was sent (seconds, UTC), where the map names a time
    facts: dict[str, str] = {}  # columns of the log that figures are asked for by

    @property
    def is_negative_example(self) -> bool:
        """A case that should fail: tagged so, or with a tag that ends in `-fail`."""
        return any(tag == NEGATIVE_TAG or tag.endswith(NEGATIVE_ENDING) for tag in self.tags)

    @property
    def exchanges(self) -> list[tuple[str, str]]:
        """What the user said and what the assistant replied, turn by turn."""
        if not self.messages:
            return [(self.user, self.assistant)]
        return _pair(_joined(self.messages))

    @property
    def unanswered(self) -> str:
        """What the user said last, where no reply follows; else empty."""
        last = _joined(self.messages)[-1:] if self.messages else []
        return last[0].content if last and last[0].role == "user" else ""


def _joined(messages: tuple[Turn, ...]) -> list[Turn]:
    """Messages of the two sides, neighbours of one side joined; others (system, tool) and silent ones are left out.

    A silent reply at the end stays: without it, nobody would see what the user said last.
    """
    joined: list[Turn] = []
    for turn in messages:
        if turn.role not in {"user", "assistant"} or not turn.content.strip():
            continue
        if joined and joined[-1].role == turn.role:
            joined[-1] = Turn(turn.role, f"{joined[-1].content}\n\n{turn.content}")
        else:
            joined.append(turn)
    ends_silent = messages[-1].role == "assistant" and not messages[-1].content.strip()
    return [*joined, Turn("assistant", "")] if ends_silent and joined and joined[-1].role == "user" else joined


def _pair(turns: list[Turn]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    user = ""
    for turn in turns:
        if turn.role == "user":
            user = turn.content
        else:
            pairs.append((user, turn.content))
            user = ""
    return pairs
