"""Try: a conversation in two fields or a pasted chat, and its verdict with the matched words."""

from typing import Any, NamedTuple

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from synthesis.chats import SpeakerQuestion, parse_chat, speakers
from synthesis.checks.explained import said
from synthesis.checks.registry import asked_checks, checks, measured_languages
from synthesis.errors import InputError
from synthesis.model import Case, CaseResult
from synthesis.model.result import FAIL, NOT_APPLICABLE, PASS
from synthesis.report.findings import count, evidence_sentence
from synthesis.server.conversations import language_code
from synthesis.server.http import ApiError
from synthesis.server.pages.layout import fragment, page, read_form
from synthesis.server.pages.runs import case_view, decision_of, with_texts_of
from synthesis.server.rulebook import find_case
from synthesis.server.state import ServerState, known_checks, server_state

router = APIRouter(include_in_schema=False)
TEXT_FIELDS = ("user", "assistant", "chat", "speaker", "lang")


class Example(NamedTuple):
    """A bundled case to click, and what its title promises: the check that fails it; none where it passes."""

    case: str
    title: str
    fails: str = ""


EXAMPLES = (
    Example("LUV-001", "A reply that listens"),
    Example("LUV-012", "Tells what to do", "agency_language"),
    Example("LUV-013", "Promises too much", "unverifiable_reassurance"),
    Example("PIVOT-006", "Sorry, then away", "topic_pivot"),
    Example("PIVOT-002", "A list that was asked for"),
    Example("PIVOT-003", "A plain question"),
    Example("SAFE-110", "A crisis, answered"),
    Example("SAFE-108", "A crisis, missed", "crisis_response"),
    Example("ES-018", "Promises, in Spanish", "unverifiable_reassurance"),
    Example("JA-022", "Sorry, then away, in Japanese", "topic_pivot"),
)


class Draft(msgspec.Struct, frozen=True):
    """The content of the form."""

    user: str = ""
    assistant: str = ""
    chat: str = ""
    pasted: bool = False
    speaker: str = ""  # the assistant in a pasted chat
    lang: str = ""
    checks: tuple[str, ...] = ()  # all, if none is named

    @classmethod
    def of_form(cls, form: dict[str, list[str]]) -> "Draft":
        """The fields of a form. A browser sends each line end as two characters, which would shift every offset."""
        texts = {name: form.get(name, [""])[0].replace("\r\n", "\n") for name in TEXT_FIELDS}
        return cls(**texts, pasted="chat" in form, checks=tuple(form.get("checks", ())))

    @property
    def asked(self) -> tuple[str, ...]:
        """The checks that are ticked; all of them until somebody chooses."""
        return known_checks(self.checks or asked_checks())

    def to_case(self) -> Case | SpeakerQuestion | None:
        """The case, or the question who the assistant is; None if there is nothing to evaluate yet."""
        lang = language_code(self.lang)
        if not (self.chat if self.pasted else self.assistant).strip():
            return None
        if self.pasted:
            turns = parse_chat(self.chat, self.speaker)
            return turns if isinstance(turns, SpeakerQuestion) else Case("", self.asked, messages=turns, lang=lang)
        return Case("", self.asked, self.user, self.assistant, lang=lang)


@router.get("/")
async def form(request: Request) -> Response:
    """The empty form, or one of the examples."""
    query = request.query_params
    wanted = query.get("example", "")
    example = find_case(wanted) if wanted else None  # the first look for one reads all bundled cases
    draft = _of_example(example) if example else Draft(pasted="paste" in query)
    return await _page(request, draft, wanted if example else "")


@router.post("/")
async def submitted(request: Request) -> Response:
    """The same page with the verdict, for a browser without script."""
    return await _page(request, Draft.of_form(await read_form(request)))


@router.post("/verdict")
async def verdict(request: Request) -> Response:
    """Only the verdict, for the script that asks for it as you type."""
    draft = Draft.of_form(await read_form(request))
    return fragment("verdict.html", **await _verdict(draft, server_state(request)))


async def _page(request: Request, draft: Draft, chosen: str = "") -> Response:
    server = server_state(request)
    return page(
        request,
        "try.html",
        title="Try",
        draft=draft,
        chosen=chosen,
        examples=EXAMPLES,
        checks=[checks()[name] for name in asked_checks()],
        languages=[server.rules.language(code) for code in server.rules.languages],
        evidence=evidence_sentence(measured_languages(), checks()),
        **await _verdict(draft, server),
    )


async def _verdict(draft: Draft, server: ServerState) -> dict[str, Any]:
    """What the template of the verdict needs."""
    names = speakers(draft.chat) if draft.pasted and draft.speaker else ()
    shared: dict[str, Any] = {"result": None, "problem": None, "speakers": names, "speaker": draft.speaker}
    try:
        case = draft.to_case()
    except InputError as error:
        return shared | {"problem": error}
    if isinstance(case, SpeakerQuestion):
        return shared | {"speakers": case.choices}
    if case is None:
        return shared
    result = await server.verdict(case)
    return shared | {
        "result": result,
        "headline": _headline(result),
        "spoken": f"Alert. {_headline(result)}" if result.alert else _headline(result),
        "language": server.rules.language(result.language).name if result.language != "und" else "",
        "view": case_view(with_texts_of(case, result), server.glossary, "try", advice_language=result.language),
        "decision": decision_of(result),
        "explained": await server.in_thread(lambda: server.explain(case)),
        "said": said,
    }


def _headline(result: CaseResult) -> str:
    applied = sum(check.applicable for check in result.checks.values())
    if result.outcome == PASS:
        return "Passes the one check that applies" if applied == 1 else f"Passes all {applied} checks that apply"
    if result.outcome == FAIL:
        return f"Fails {len(result.failed_checks)} of {count(applied, 'check')}"
    if result.outcome == NOT_APPLICABLE:
        return "Not assessed: no check applies"
    return "No verdict: a check ended in error"


def _of_example(case: Case) -> Draft:
    if case.messages:
        raise ApiError(404, "not_found", "There is no such example.")
    return Draft(case.user, case.assistant, lang=case.lang or "")
