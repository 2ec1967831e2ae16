"""A conversation as a request or a person gives it, and the verdict on it as the API answers it."""

from typing import Annotated, Any, Literal

import msgspec

from synthesis.chats import SpeakerQuestion, parse_chat
from synthesis.model import Case, CaseResult
from synthesis.model.case import Turn
from synthesis.read.cases import is_unicode
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
    """One conversation: `user` and `assistant`, or `messages`, or `chat`. Everything else is optional.

    The fields are those of a case, so a line of a case file is a conversation. An `assistant` of null is a reply
    without text, such as a tool call: it is not assessed.
    """

    user: Text | None = None
    assistant: Text | msgspec.UnsetType | None = msgspec.UNSET
    messages: Annotated[tuple[Message, ...], msgspec.Meta(min_length=1)] | None = None
    chat: Annotated[str, msgspec.Meta(min_length=1, description="A chat as people paste it, from anywhere.")] | None = (
        None
    )
    speaker: Annotated[str, msgspec.Meta(description="Who of the `chat` is the assistant, if it does not say so.")] = ""
    checks: Annotated[tuple[str, ...], msgspec.Meta(description="Names of checks, or `all`. Default: all.")] = ()
    lang: Annotated[str, msgspec.Meta(description="Language code; detected if left out.")] | None = None
    id: str = ""
    expected: dict[str, bool] | None = None
    tags: tuple[str, ...] = ()
    notes: str | None = None

    def to_case(self) -> Case | SpeakerQuestion:
        """The case, or the question who the assistant is; InputError or ApiError says why there is neither."""
        self._require_one_form()
        turns = self._turns()
        if isinstance(turns, SpeakerQuestion):
            return turns
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

    def _require_one_form(self) -> None:
        forms = (self.user is not None or bool(self.assistant), self.messages is not None, self.chat is not None)
        if forms.count(True) != 1:
            raise _invalid("Give either 'user' and 'assistant', or 'messages', or 'chat'.")
        if forms[0] and (self.user is None or self.assistant is msgspec.UNSET):
            raise _invalid("'user' and 'assistant' belong together.")

    def _turns(self) -> tuple[Turn, ...] | SpeakerQuestion:
        if self.chat is not None:
            return parse_chat(self.chat, self.speaker)
        return tuple(Turn(message.role, message.content or "") for message in self.messages or ())


def decode(body: bytes) -> Case | SpeakerQuestion:
    """The case in a body, or the question who the assistant is; ApiError or InputError if it is neither."""
    return decode_as(Conversation, body).to_case()


def language_code(code: str | None) -> str | None:
    """A language as a form or a query gives it; None if it is to be detected."""
    return None if code in {None, "", "auto"} else primary(str(code))


def _invalid(message: str) -> ApiError:
    return ApiError(422, "invalid_conversation", message, "See the schema at /api/v1/openapi.json.")


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
    """The fields of the answer, for an encoder."""
    return Verdict.of(result, server.glossary).to_record()


def encoded(result: CaseResult, server: ServerState) -> bytes:
    return msgspec.json.encode(fields_of(result, server))
