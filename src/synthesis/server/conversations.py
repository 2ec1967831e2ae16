"""A conversation as the body of a request has it."""

from typing import Annotated, Literal

import msgspec

from synthesis.model import Case
from synthesis.model.case import Turn
from synthesis.read.cases import is_unicode
from synthesis.rules.text import primary
from synthesis.server.bodies import decode_as
from synthesis.server.errors import ApiError
from synthesis.server.state import known_checks

Text = Annotated[str, msgspec.Meta(min_length=1, description="What was said.")]
Role = Literal["user", "assistant", "system", "tool", "developer", "function"]


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
