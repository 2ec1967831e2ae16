"""A chat that somebody pasted: messages as JSON, or lines that begin with who speaks."""

import re

import msgspec

from synthesis.cases.logs.conversion import Converter, LogRow
from synthesis.cases.logs.options import LogOptions
from synthesis.cases.messages import ROLES
from synthesis.cases.schema import CaseValidator
from synthesis.checks.registry import checks
from synthesis.errors import InputError, Problem
from synthesis.model.case import Turn

_SPEAKERS = {**ROLES, "you": "user", "me": "user", "client": "user", "customer": "user", "claude": "assistant"}
_SPEAKER = re.compile(
    rf"^[ \t]*[*#\[_]*({'|'.join(sorted(_SPEAKERS, key=len, reverse=True))})(?: said)?[\]*_]*[ \t]*[:：][*_]*[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_HINT = "Begin each message with who speaks: 'User: ...' and 'Assistant: ...', or paste messages as JSON."


def parse_chat(text: str) -> tuple[Turn, ...]:
    """The messages of a pasted chat; InputError where nobody can be told to speak."""
    turns = _from_json(text) if text.lstrip().startswith(("[", "{")) else _from_lines(text)
    if not any(turn.role == "assistant" for turn in turns):
        raise InputError("No reply of an assistant was found in the chat.", hint=_HINT)
    return turns


def _from_lines(text: str) -> tuple[Turn, ...]:
    starts = list(_SPEAKER.finditer(text))
    ends = [*(start.start() for start in starts), len(text)][1:]
    return tuple(
        Turn(_SPEAKERS[start[1].lower()], text[start.end() : end].strip())
        for start, end in zip(starts, ends, strict=True)
    )


def _from_json(text: str) -> tuple[Turn, ...]:
    try:
        value = msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return _from_lines(text)  # a chat may begin with a bracket
    fields = value if isinstance(value, dict) else {"messages": value}
    case = Converter(LogOptions(CaseValidator(checks())), "chat").case(LogRow(1, 1, fields))
    if isinstance(case, Problem):
        raise InputError(f"The messages cannot be used: {case.message}", hint=_HINT)
    return case.messages or (Turn("user", case.user), Turn("assistant", case.assistant))
