"""Conversations on their way in: the body of a request, a pasted chat, the cases that come with the package."""

import re
from functools import cache
from typing import Annotated, Literal

import msgspec

from synthesis import bundled
from synthesis.cases.jsonl import load_cases
from synthesis.cases.logs.conversion import Converter, LogRow
from synthesis.cases.logs.options import LogOptions
from synthesis.cases.messages import ROLES, is_unicode
from synthesis.cases.schema import CaseValidator
from synthesis.checks.registry import checks
from synthesis.errors import InputError, Problem
from synthesis.model import Case
from synthesis.model.case import Turn
from synthesis.rules.language import detect, primary
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


def parse_chat(text: str) -> tuple[Turn, ...]:
    """The messages of a pasted chat (JSON, or lines that begin with who speaks); InputError if there is no reply."""
    turns = _from_json(text) if text.lstrip().startswith(("[", "{")) else _from_lines(text)
    if not any(turn.role == "assistant" for turn in turns):
        raise InputError("The chat contains no reply of an assistant.", hint=_HINT)
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
    return named if len(named) == 2 else detect(case.exchanges[-1][1])[0]
