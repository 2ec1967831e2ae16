"""A conversation as a request brings it, and its result as the answer gives it."""

from typing import Annotated, Any, Literal

import msgspec

from synthesis.cases.messages import is_unicode
from synthesis.model import Case, CaseResult
from synthesis.model.case import Turn
from synthesis.report.remarks import Remark, remarks_on
from synthesis.rules.language import primary
from synthesis.server.errors import ApiError
from synthesis.server.json import decode_as
from synthesis.server.workbench import Workbench, known_checks

Text = Annotated[str, msgspec.Meta(min_length=1, description="What was said.")]
Role = Literal["user", "assistant", "system", "tool", "developer", "function"]


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One message of a conversation."""

    role: Role
    content: str


class Conversation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One conversation: `user` and `assistant`, or `messages` in their place. All else may be left out.

    The fields are those of a case, so a line of a case file is one.
    """

    user: Text | None = None
    assistant: Text | None = None
    messages: Annotated[tuple[Message, ...], msgspec.Meta(min_length=1)] | None = None
    checks: Annotated[
        tuple[str, ...], msgspec.Meta(description="Names of checks; three are asked for if none is.")
    ] = ()
    lang: Annotated[str, msgspec.Meta(description="Language code; detected if left out.")] | None = None
    id: str = ""
    expected: dict[str, bool] | None = None
    tags: tuple[str, ...] = ()
    notes: str | None = None

    def to_case(self) -> Case:
        """The case; ApiError or OptionError says why it is none."""
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
            raise _invalid("A text holds half of a character (a lone surrogate).")
        return case


class ExplainedFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A rule that fired: the very words (code points of the original text), why it matters, what would be better."""

    rule: str
    signal: str
    where: Literal["user", "assistant"]
    turn: int
    start: int
    end: int
    text: str
    why: str
    instead: str
    severity: str = "fail"
    role: Annotated[
        Literal["for", "against", "context"] | None, msgspec.Meta(description="What it says about the reply.")
    ] = None
    counted: Annotated[bool | None, msgspec.Meta(description="Whether it took part in the verdict of a check.")] = None
    checks: Annotated[list[str], msgspec.Meta(description="The checks in whose verdict it took part.")] = []


class LabelMatch(msgspec.Struct, frozen=True):
    """What a person expected of a check, and what it said."""

    expected: bool
    actual: bool | None
    match: bool


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of one conversation. `outcome` tells a pass from a case that no check applied to."""

    id: str
    passed: Annotated[bool | None, msgspec.Meta(description="Whether all checks passed; null after an error.")] = (
        msgspec.field(name="pass")
    )
    outcome: Literal["pass", "fail", "not_applicable", "error"]
    is_negative_example: bool
    language: Annotated[str, msgspec.Meta(description="Of the reply; `und` where there are no rules for it.")]
    language_by: Annotated[str, msgspec.Meta(description="How the language was decided.")]
    checks: Annotated[dict[str, dict[str, Any]], msgspec.Meta(description="`pass` and the evidence, by check.")]
    findings: list[ExplainedFinding]
    remarks: Annotated[list[Remark], msgspec.Meta(description="What speaks against the reply, or is missing in it.")]
    user_language: str = ""
    label_comparison: dict[str, LabelMatch] = {}
    tags: list[str] = []


def decode(body: bytes) -> Case:
    """The case that a body holds; ApiError for one that is none."""
    return decode_as(Conversation, body).to_case()


def fields_of(result: CaseResult, workbench: Workbench) -> dict[str, Any]:
    """The result as it is answered: the fields of a report's result, every finding explained."""
    fields = result.to_dict()
    for finding in fields["findings"]:
        advice = workbench.glossary.on_rule(result.language_of(finding["where"]), finding["rule"])
        finding["why"], finding["instead"] = advice.why, advice.instead
    fields["remarks"] = remarks_on(result, workbench.glossary, result.language)
    return fields


def encoded(result: CaseResult, workbench: Workbench) -> bytes:
    return msgspec.json.encode(fields_of(result, workbench))


def language_code(code: str | None) -> str | None:
    """A language as a form or a query gives it; None for one to be detected."""
    return None if code in {None, "", "auto"} else primary(str(code))


def _invalid(message: str) -> ApiError:
    return ApiError(422, "invalid_conversation", message, "See the schema at /api/v1/openapi.json.")
