"""Chats as people paste them. Who speaks is told by JSON, by how lines begin, or by the person who pasted the chat."""

import re
from collections import Counter

import msgspec

from synthesis.checks.registry import checks
from synthesis.errors import InputError, Problem
from synthesis.model.case import Turn
from synthesis.read.cases import ROLES, CaseValidator
from synthesis.read.rows import Converter, LogOptions, LogRow

_SPEAKERS = {**ROLES, "you": "user", "me": "user", "client": "user", "customer": "user", "claude": "assistant"}
_SPEAKER = re.compile(
    rf"^[ \t]*[*#\[_]*({'|'.join(sorted(_SPEAKERS, key=len, reverse=True))})(?: said)?[\]*_]*[ \t]*[:：][*_]*[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
# A name before what somebody says, after the time that messengers put there: "[12:03] Anna:", "3/4/24, 9:01 - Anna:".
# Every repetition is bounded: a line of blanks alone is read in no time.
_TIME = r"(?:\[?\d[\d/.,: -]{3,23}(?:[ap]\.?m\.?)?\]? {0,3}(?:[-–] {0,3})?)?"
_NAME = r"[*_]{0,3}([^\W\d_][^:：\n\[\]*]{0,39}?)[*_]{0,3} {0,3}[:：][*_]{0,3}[ \t]{0,3}"
_NAMED = re.compile(rf"^[ \t]{{0,8}}{_TIME}{_NAME}", re.MULTILINE | re.IGNORECASE)
_FEW, MOST_SPEAKERS = 3, 8
FIRST, SECOND = "the first paragraph", "the second paragraph"  # speakers of a chat without names
_HINT = "Begin each message with who speaks: 'User: ...' and 'Assistant: ...', or paste messages as JSON."


class UnknownSpeakersError(InputError):
    """A chat in which nobody is known as the assistant; `names` are those who may be."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__("Who of them is the assistant?")
        self.names = names


def parse_chat(text: str, assistant: str = "") -> tuple[Turn, ...]:
    """The messages of a pasted chat: JSON, lines that begin with who speaks, or paragraphs that take turns.

    `assistant` is the speaker whose messages are replies. InputError if there is no reply; UnknownSpeakersError if
    somebody has to say whose they are.
    """
    is_json = text.lstrip().startswith(("[", "{"))
    turns = _spoken_by(text, assistant) if assistant else _from_json(text) if is_json else _from_lines(text)
    if any(turn.role == "assistant" for turn in turns):
        return turns
    if names := speakers(text):
        raise UnknownSpeakersError(names)
    raise InputError("The chat contains no reply of an assistant.", hint=_HINT)


def speakers(text: str) -> tuple[str, ...]:
    """Who may be speaking in a chat, in the order in which they appear; none where the text is no chat."""
    found = [match[1].strip() for match in _NAMED.finditer(text)]
    counted = Counter(found)
    names = [name for name in dict.fromkeys(found) if counted[name] > 1 or len(counted) <= _FEW]
    if len(names) > 1:
        return tuple(names[:MOST_SPEAKERS])
    return (FIRST, SECOND) if not names and len(_paragraphs(text)) > 1 else ()


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"\n[ \t]*\n", text) if part.strip()]


def _spoken_by(text: str, assistant: str) -> tuple[Turn, ...]:
    if assistant in {FIRST, SECOND}:
        replies = 0 if assistant == FIRST else 1
        return tuple(
            Turn("assistant" if number % 2 == replies else "user", said)
            for number, said in enumerate(_paragraphs(text))
        )
    names = speakers(text)
    starts = [match for match in _NAMED.finditer(text) if match[1].strip() in names]
    ends = [*(start.start() for start in starts), len(text)][1:]
    return tuple(
        Turn("assistant" if start[1].strip() == assistant else "user", text[start.end() : end].strip())
        for start, end in zip(starts, ends, strict=True)
    )


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
