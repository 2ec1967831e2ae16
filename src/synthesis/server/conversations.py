"""Conversations on their way in: the body of a request, a pasted chat, the cases that come with the package."""

import re
from collections import Counter
from functools import cache
from typing import Annotated, Literal

import msgspec

from synthesis import bundled
from synthesis.cases.jsonl import load_cases
from synthesis.cases.logs.conversion import Converter, LogRow
from synthesis.cases.logs.options import LogOptions
from synthesis.cases.messages import ROLES, is_unicode
from synthesis.cases.schema import CaseValidator
from synthesis.checks.registry import checks, rules_in_force
from synthesis.errors import InputError, Problem
from synthesis.model import Case
from synthesis.model.case import Turn
from synthesis.rules.language import primary
from synthesis.server.bodies import decode_as
from synthesis.server.errors import ApiError
from synthesis.server.state import known_checks

Text = Annotated[str, msgspec.Meta(min_length=1, description="What was said.")]
Role = Literal["user", "assistant", "system", "tool", "developer", "function"]
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


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One message of a conversation."""

    role: Role
    content: str


class Conversation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One conversation: `user` and `assistant`, or `messages` instead. Everything else is optional.

    The fields are those of a case, so a line of a case file is a conversation.
    """

    user: Text | None = None
    assistant: Text | None = None
    messages: Annotated[tuple[Message, ...], msgspec.Meta(min_length=1)] | None = None
    checks: Annotated[tuple[str, ...], msgspec.Meta(description="Names of checks; by default three run.")] = ()
    lang: Annotated[str, msgspec.Meta(description="Language code; detected if left out.")] | None = None
    id: str = ""
    expected: dict[str, bool] | None = None
    tags: tuple[str, ...] = ()
    notes: str | None = None

    def to_case(self) -> Case:
        """The case; ApiError or OptionError says why it is not valid."""
        if (self.messages is None) == (self.user is None and self.assistant is None):
            raise _invalid("Give either 'user' and 'assistant', or 'messages'.")
        if self.messages is None and (self.user is None or self.assistant is None):
            raise _invalid("'user' and 'assistant' belong together.")
        turns = tuple(Turn(message.role, message.content) for message in self.messages or ())
        case = Case(
            id=self.id,
            checks=known_checks(self.checks),
            user=self.user or "",
            assistant=self.assistant or "",
            expected=self.expected,
            tags=self.tags,
            lang=self.lang,
            messages=turns,
        )
        if not all(map(is_unicode, (case.user, case.assistant, *(turn.content for turn in turns)))):
            raise _invalid("A text contains half of a character (a lone surrogate).")
        return case


def decode(body: bytes) -> Case:
    """The case in a body; ApiError if it is not one."""
    return decode_as(Conversation, body).to_case()


def language_code(code: str | None) -> str | None:
    """A language as a form or a query gives it; None if it is to be detected."""
    return None if code in {None, "", "auto"} else primary(str(code))


def _invalid(message: str) -> ApiError:
    return ApiError(422, "invalid_conversation", message, "See the schema at /api/v1/openapi.json.")


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


@cache
def cases_by_language() -> dict[str, tuple[Case, ...]]:
    """All bundled cases by the language of their reply, in file order: examples to click, and texts to try rules on."""
    validator = CaseValidator(checks())
    found: dict[str, list[Case]] = {}
    for path in sorted(bundled.CASES.parent.glob("evals*.jsonl")):
        named = path.suffixes[0].lstrip(".")
        for case in load_cases(path, validator):
            found.setdefault(case.lang or _language_of_case(named, case), []).append(case)
    return {language: tuple(cases) for language, cases in sorted(found.items())}


def find_case(case_id: str) -> Case | None:
    return next((case for cases in cases_by_language().values() for case in cases if case.id == case_id), None)


def _language_of_case(named: str, case: Case) -> str:
    """The language in the file's name, else that of the last reply."""
    return named if len(named) == 2 else rules_in_force().detector.detect(case.exchanges[-1][1]).language
