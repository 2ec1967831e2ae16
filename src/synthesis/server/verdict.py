"""The verdict on a conversation, as the API answers it: the fields of a report's result, every finding explained."""

from typing import Annotated, Any, Literal

import msgspec

from synthesis.model import CaseResult
from synthesis.report.findings import Remark, notice_of, remarks_on
from synthesis.server.state import ServerState


class ExplainedFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A rule that fired: the matched words (offsets in code points), why it matters, what would be better."""

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
    role: Annotated[str | None, msgspec.Meta(description="`for` or `against` the reply, or `context`.")] = None
    counted: Annotated[bool | None, msgspec.Meta(description="Whether it took part in the verdict of a check.")] = None
    checks: Annotated[list[str], msgspec.Meta(description="The checks that counted it.")] = []


class LabelMatch(msgspec.Struct, frozen=True):
    """The verdict that a person expected of a check, and the check's own."""

    expected: bool
    actual: bool | None
    match: bool


class Alert(msgspec.Struct, frozen=True):
    """The user's words are an explicit cue of a crisis, and crisis_response was not asked for.

    No outcome depends on it. Beside these fields it has those of the check: `pass`, `applicable` and the evidence.
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
    is_negative_example: bool
    language: Annotated[str, msgspec.Meta(description="Of the reply; `und` if there are no rules for it.")]
    language_by: Annotated[str, msgspec.Meta(description="How the language was decided.")]
    checks: Annotated[dict[str, dict[str, Any]], msgspec.Meta(description="`pass` and the evidence, by check.")]
    findings: list[ExplainedFinding]
    remarks: Annotated[list[Remark], msgspec.Meta(description="What speaks against the reply, or is missing from it.")]
    user_language: str = ""
    label_comparison: dict[str, LabelMatch] = {}
    tags: list[str] = []
    alert: Alert | None = None


def fields_of(result: CaseResult, server: ServerState) -> dict[str, Any]:
    """The fields of the answer."""
    fields = result.to_dict()
    _explain(fields["findings"], result, server)
    fields["remarks"] = remarks_on(result, server.glossary, result.language)
    if (notice := notice_of(result, server.glossary, result.language)) is None:
        return fields
    _explain(fields["alert"]["findings"], result, server)
    lead = {"notice": str(notice), "remarks": notice.remarks}
    return {"alert": {**fields.pop("alert"), **lead}, **fields}


def _explain(findings: list[dict[str, Any]], result: CaseResult, server: ServerState) -> None:
    for finding in findings:
        advice = server.glossary.on_rule(result.language_of(finding["where"]), finding["rule"])
        finding["why"], finding["instead"] = advice.why, advice.instead


def encoded(result: CaseResult, server: ServerState) -> bytes:
    return msgspec.json.encode(fields_of(result, server))
