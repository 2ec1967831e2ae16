"""A conversation as a request or a person gives it, and the verdict on it as the API answers it."""

import re
from collections import Counter
from typing import Annotated, Any, Literal

import msgspec

from synthesis.checks.registry import checks
from synthesis.errors import InputError, Problem
from synthesis.model import Case, CaseResult
from synthesis.model.case import Turn
from synthesis.read.cases import ROLES, CaseValidator, is_unicode
from synthesis.read.lines import Row
from synthesis.read.rows import Converter, LogOptions
from synthesis.report.findings import Remark
from synthesis.rules.text import primary
from synthesis.server.http import ApiError, decode_as
from synthesis.server.state import ServerState, known_checks
from synthesis.verdict import ExplainedFinding, Verdict

Text = Annotated[str, msgspec.Meta(min_length=1, description="What was said.")]
Role = Literal["user", "assistant", "system", "tool", "developer", "function"]


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One message of a conversation."""

    role: Role
    content: Annotated[str | None, msgspec.Meta(description="Null for a message without text, such as a tool call.")]


class Conversation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One conversation: `user` and `assistant`, or `messages` instead. Everything else is optional.

    The fields are those of a case, so a line of a case file is a conversation. An `assistant` of null is a reply
    without text, such as a tool call: it is not assessed.
    """

    user: Text | None = None
    assistant: Text | msgspec.UnsetType | None = msgspec.UNSET
    messages: Annotated[tuple[Message, ...], msgspec.Meta(min_length=1)] | None = None
    checks: Annotated[tuple[str, ...], msgspec.Meta(description="Names of checks, or `all`. Default: all.")] = ()
    lang: Annotated[str, msgspec.Meta(description="Language code; detected if left out.")] | None = None
    id: str = ""
    expected: dict[str, bool] | None = None
    tags: tuple[str, ...] = ()
    notes: str | None = None

    def to_case(self) -> Case:
        """The case; ApiError or OptionError says why it is not valid."""
        if (self.messages is None) == (self.user is None and not self.assistant):
            raise _invalid("Give either 'user' and 'assistant', or 'messages'.")
        if self.messages is None and (self.user is None or self.assistant is msgspec.UNSET):
            raise _invalid("'user' and 'assistant' belong together.")
        turns = tuple(Turn(message.role, message.content or "") for message in self.messages or ())
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


# Chats as people paste them. Who speaks is told by JSON, by how lines begin, or by the person who pasted the chat.


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
    case = Converter(LogOptions(CaseValidator(checks())), "chat").case(Row(1, 1, fields))
    if isinstance(case, Problem):
        raise InputError(f"The messages cannot be used: {case.message}", hint=_HINT)
    return case.messages or (Turn("user", case.user), Turn("assistant", case.assistant))


# The verdict on a conversation, as the schema of the API describes it: what `Verdict.to_dict` gives.


class LabelMatch(msgspec.Struct, frozen=True):
    """The verdict that a person expected of a check, and the check's own."""

    expected: bool
    actual: bool | None
    match: bool


class Alert(msgspec.Struct, frozen=True):
    """The user's words are an explicit cue of a crisis, and this is how the reply answers them.

    The check is among `checks`, whichever were asked for. Beside these fields it has those of the check: `pass`,
    `severity`, `applicable` and the evidence.
    """

    check: str
    notice: Annotated[str, msgspec.Meta(description="The cue and the verdict, in words.")]
    remarks: Annotated[list[Remark], msgspec.Meta(description="What speaks against the reply, or is missing from it.")]
    findings: list[ExplainedFinding]


class ConversationVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of one conversation, an `alert` first.

    Unlike `pass`, `outcome` tells a pass from a case that no check applies to.
    """

    id: str
    passed: Annotated[bool | None, msgspec.Meta(description="Whether all checks passed; null after an error.")] = (
        msgspec.field(name="pass")
    )
    outcome: Literal["pass", "fail", "not_applicable", "error"]
    profile: Annotated[str, msgspec.Meta(description="`traffic`, the profile of all verdicts of the API.")]
    is_negative_example: bool
    language: Annotated[str, msgspec.Meta(description="Of the reply; `und` if there are no rules for it.")]
    language_by: Annotated[str, msgspec.Meta(description="How the language was decided.")]
    checks: Annotated[
        dict[str, dict[str, Any]], msgspec.Meta(description="`pass`, `severity` and the evidence, by check.")
    ]
    findings: list[ExplainedFinding]
    remarks: Annotated[list[Remark], msgspec.Meta(description="What speaks against the reply, or is missing from it.")]
    severity: Annotated[
        Literal["critical", "serious", "minor"] | None,
        msgspec.Meta(description="How bad the worst failure is; left out where none failed."),
    ] = None
    user_language: str = ""
    label_comparison: dict[str, LabelMatch] = {}
    tags: list[str] = []
    alert: Alert | None = None


def fields_of(result: CaseResult, server: ServerState) -> dict[str, Any]:
    """The fields of the answer."""
    return Verdict.of(result, server.glossary).to_dict()


def encoded(result: CaseResult, server: ServerState) -> bytes:
    return msgspec.json.encode(fields_of(result, server))
