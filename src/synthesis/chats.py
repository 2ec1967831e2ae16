"""Chats as people paste them. Who speaks is told by JSON, by how lines begin, or by the person who pasted the chat."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from synthesis.checks.registry import checks
from synthesis.errors import InputError, Problem
from synthesis.lazy import regex
from synthesis.model import Turn
from synthesis.read.cases import ROLES, CaseValidator, side_of
from synthesis.read.lines import Row
from synthesis.read.rows import Converter, LogOptions

_SPEAKERS = {**ROLES, "you": "user", "me": "user", "client": "user", "customer": "user", "claude": "assistant"}
_SPEAKER = regex(
    rf"^[ \t]*[*#\[_]*({'|'.join(sorted(_SPEAKERS, key=len, reverse=True))})(?: said)?[\]*_]*[ \t]*[:：][*_]*[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
# A name before what somebody says, after the time that messengers put there: "[12:03] Anna:", "3/4/24, 9:01 - Anna:".
# Every repetition is bounded: a line of blanks alone is read in no time.
_TIME = r"(?:\[?\d[\d/.,: -]{3,23}(?:[ap]\.?m\.?)?\]? {0,3}(?:[-–] {0,3})?)?"
_NAME = r"[*_]{0,3}([^\W\d_][^:：\n\[\]*]{0,39}?)[*_]{0,3} {0,3}[:：][*_]{0,3}[ \t]{0,3}"
_NAMED = regex(rf"^[ \t]{{0,8}}{_TIME}{_NAME}", re.MULTILINE | re.IGNORECASE)
_FEW, MOST_SPEAKERS = 3, 8
FIRST, SECOND = "the first paragraph", "the second paragraph"  # speakers of a chat without names
_HINT = "Begin each message with who speaks: 'User: ...' and 'Assistant: ...', or paste messages as JSON."


class SpeakerQuestion(msgspec.Struct, frozen=True):
    """A chat that does not say who the assistant is: the question for the person who pasted it.

    It is no verdict, so it counts as false. Ask again with one of `choices` as the speaker.
    """

    choices: Annotated[tuple[str, ...], msgspec.Meta(description="Who speaks in the chat, in order of appearance.")]
    question: str = "Which of them is the assistant?"

    def __bool__(self) -> bool:
        """Nothing was checked, so `assert` on it fails as on a failed verdict."""
        return False

    def __str__(self) -> str:
        return f"{self.question} {', '.join(self.choices)}"

    def to_dict(self) -> dict[str, Any]:
        return {"question": self.question, "choices": list(self.choices)}


def parse_chat(text: str, speaker: str = "") -> tuple[Turn, ...] | SpeakerQuestion:
    """The messages of a pasted chat: JSON, lines that begin with who speaks, or paragraphs that take turns.

    `speaker` is the one whose messages are replies. Where somebody has to say who that is, the question is the result;
    InputError if nobody could be.
    """
    fields = _json_fields(text)
    turns = _of_json(fields, speaker) if fields is not None else _of_text(text, speaker)
    if any(turn.role == "assistant" for turn in turns):
        return turns
    if names := speakers(text):
        return SpeakerQuestion(names)
    raise InputError("The chat contains no reply of an assistant.", hint=_HINT)


def speakers(text: str) -> tuple[str, ...]:
    """Who may be speaking in a chat, in the order in which they appear; none where the text is no chat."""
    fields = _json_fields(text)
    if fields is not None:
        return _unclear_roles(fields)
    found = [match[1].strip() for match in _NAMED.finditer(text)]
    counted = Counter(found)
    names = [name for name in dict.fromkeys(found) if counted[name] > 1 or len(counted) <= _FEW]
    if len(names) > 1:
        return tuple(names[:MOST_SPEAKERS])
    return (FIRST, SECOND) if not names and len(_paragraphs(text)) > 1 else ()


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"\n[ \t]*\n", text) if part.strip()]


def _of_text(text: str, speaker: str) -> tuple[Turn, ...]:
    if not speaker:
        return _of_lines(text)
    if speaker in {FIRST, SECOND}:
        replies = 0 if speaker == FIRST else 1
        return tuple(
            Turn("assistant" if number % 2 == replies else "user", said)
            for number, said in enumerate(_paragraphs(text))
        )
    names = speakers(text)
    starts = [match for match in _NAMED.finditer(text) if match[1].strip() in names]
    ends = [*(start.start() for start in starts), len(text)][1:]
    return tuple(
        Turn("assistant" if start[1].strip() == speaker else "user", text[start.end() : end].strip())
        for start, end in zip(starts, ends, strict=True)
    )


def _of_lines(text: str) -> tuple[Turn, ...]:
    starts = list(_SPEAKER.finditer(text))
    ends = [*(start.start() for start in starts), len(text)][1:]
    return tuple(
        Turn(_SPEAKERS[start[1].lower()], text[start.end() : end].strip())
        for start, end in zip(starts, ends, strict=True)
    )


# Chats in JSON: an object with messages, or the messages alone.


def _json_fields(text: str) -> dict[str, Any] | None:
    """None where the text is not JSON: a chat may begin with a bracket."""
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        value = msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else {"messages": value}


def _of_json(fields: dict[str, Any], speaker: str) -> tuple[Turn, ...]:
    unclear = _unclear_roles(fields)
    if unclear and speaker not in unclear:
        return ()
    named = {name: _with_sides(value, speaker) for name, value in fields.items()} if unclear else fields
    case = Converter(LogOptions(CaseValidator(checks())), "chat").case(Row(1, 1, named))
    if isinstance(case, Problem):
        raise InputError(f"The messages cannot be used: {case.message}", hint=_HINT)
    return case.messages or (Turn("user", case.user), Turn("assistant", case.assistant))


def _unclear_roles(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Who speaks, where one of the roles is a name rather than a role; none where each role says its side."""
    roles = [_role(message) for value in fields.values() if isinstance(value, list) for message in value]
    named = list(dict.fromkeys(role for role in roles if role and side_of(role) in {None, "user", "assistant"}))
    return tuple(named[:MOST_SPEAKERS]) if any(side_of(name) is None for name in named) else ()


def _with_sides(messages: Any, speaker: str) -> Any:
    """The messages with `assistant` in place of the speaker, and `user` in place of everybody else who speaks."""
    if not isinstance(messages, list):
        return messages
    return [
        message
        if side_of(_role(message)) in {"system", "tool"} or not _role(message)
        else {**message, "role": "assistant" if _role(message) == speaker else "user"}
        for message in messages
    ]


def _role(message: Any) -> str:
    role = message.get("role", message.get("from")) if isinstance(message, Mapping) else None
    return role.strip() if isinstance(role, str) else ""
