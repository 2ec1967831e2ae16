"""Try: a conversation in two fields or a pasted chat, and the verdict on it with the very words behind it."""

from typing import Any, NamedTuple

import msgspec
from fastapi import APIRouter
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from synthesis.checks.registry import checks, signals, signals_read
from synthesis.errors import InputError
from synthesis.model import Case, CaseResult
from synthesis.model.result import ERROR, FAIL, NOT_APPLICABLE, PASS
from synthesis.report.html.case import check_list
from synthesis.report.html.marks import Marks, SignalStyles
from synthesis.report.html.page import LIMITS, legend
from synthesis.report.plain import count
from synthesis.report.remarks import remarks_on
from synthesis.report.verdicts import UNCOUNTED
from synthesis.rules.language import language_of
from synthesis.server.bundled_cases import find_case
from synthesis.server.conversation import language_code
from synthesis.server.decision import decision_of
from synthesis.server.errors import ApiError
from synthesis.server.pages.frame import fragment, page, read_form
from synthesis.server.pasted import parse_chat
from synthesis.server.workbench import THREE, Workbench, known_checks, workbench_of

router = APIRouter(include_in_schema=False)


class Example(NamedTuple):
    """A bundled case that is worth a click."""

    case: str
    title: str


EXAMPLES = (
    Example("LUV-001", "A reply that listens"),
    Example("LUV-012", "Tells what to do"),
    Example("LUV-013", "Promises too much"),
    Example("PIVOT-006", "Sorry, then away"),
    Example("PIVOT-002", "A list that was asked for"),
    Example("PIVOT-003", "Nothing to assess"),
    Example("ES-018", "In Spanish"),
    Example("JA-022", "In Japanese"),
)


class Draft(msgspec.Struct, frozen=True):
    """What stands in the form."""

    user: str = ""
    assistant: str = ""
    chat: str = ""
    pasted: bool = False
    lang: str = ""
    checks: tuple[str, ...] = THREE

    @classmethod
    def of_form(cls, form: dict[str, list[str]]) -> "Draft":
        """Line ends as people mean them: a browser sends two characters for each."""
        texts = {name: form.get(name, [""])[0].replace("\r\n", "\n") for name in ("user", "assistant", "chat", "lang")}
        return cls(**texts, pasted="chat" in form, checks=known_checks(form.get("checks", [])))

    def to_case(self) -> Case | None:
        """The case; None while there is nothing to evaluate yet."""
        lang = language_code(self.lang)
        if self.pasted:
            return Case("", self.checks, messages=parse_chat(self.chat), lang=lang) if self.chat.strip() else None
        if not self.assistant.strip():
            return None
        return Case("", self.checks, self.user, self.assistant, lang=lang)


@router.get("/")
async def form(request: Request) -> Response:
    """The empty form, or one of the examples."""
    query = request.query_params
    example = find_case(query.get("example", ""))
    draft = _of_example(example) if example else Draft(pasted="paste" in query)
    return await _page(request, draft, query.get("example", "") if example else "")


@router.post("/")
async def submitted(request: Request) -> Response:
    """The same page with the verdict, for a browser without script."""
    return await _page(request, Draft.of_form(await read_form(request)))


@router.post("/verdict")
async def verdict(request: Request) -> Response:
    """The verdict alone, as you type."""
    draft = Draft.of_form(await read_form(request))
    return fragment("verdict.html", **await _verdict(draft, workbench_of(request)))


async def _page(request: Request, draft: Draft, chosen: str = "") -> Response:
    workbench = workbench_of(request)
    return page(
        request,
        "try.html",
        title="Try",
        draft=draft,
        chosen=chosen,
        examples=EXAMPLES,
        checks=sorted(checks().values(), key=lambda check: (check.name not in THREE, check.name)),
        languages=[language_of(code) for code in workbench.rules.languages],
        limits=Markup(LIMITS),
        **await _verdict(draft, workbench),
    )


async def _verdict(draft: Draft, workbench: Workbench) -> dict[str, Any]:
    """What the template of the verdict needs."""
    try:
        case = draft.to_case()
    except InputError as error:
        return {"result": None, "problem": error}
    if case is None:
        return {"result": None, "problem": None}
    result = _with_texts(await workbench.verdict(case), case)
    styles = _styles(case.checks)
    marks = Marks(result, styles, workbench.glossary, "try", rule_pages="/rules")
    return {
        "problem": None,
        "result": result,
        "headline": _headline(result),
        "language": language_of(result.language).name if result.language != "und" else "",
        "conversation": Markup(marks.conversation()),
        "notes": Markup(marks.notes()),
        "check_list": Markup(check_list(result, workbench.glossary)),
        "missing": _missing(result, workbench),
        "decision": decision_of(result, case.exchanges),
        "legend": Markup(legend(styles, workbench.glossary)),
    }


def _missing(result: CaseResult, workbench: Workbench) -> dict[str, str]:
    """By check, what the reply lacks and what would be better."""
    found: dict[str, list[str]] = {}
    for remark in remarks_on(result, workbench.glossary):
        if not remark.rule:
            found.setdefault(remark.check, []).append(remark.instead)
    return {check: " ".join(better) for check, better in found.items()}


def _with_texts(result: CaseResult, case: Case) -> CaseResult:
    texts = {"messages": msgspec.to_builtins(case.messages)} if case.messages else {}
    return msgspec.structs.replace(result, texts=texts or {"user": case.user, "assistant": case.assistant})


def _styles(names: tuple[str, ...]) -> SignalStyles:
    """The look of all signals that these checks read, so that it stays the same while somebody types."""
    known = signals()
    read = [known[name] for name in signals_read(names, "default")]
    counting = [(signal.name, signal.role) for signal in read]
    return SignalStyles([*counting, *((signal.name, UNCOUNTED) for signal in read if signal.where == "assistant")])


def _headline(result: CaseResult) -> str:
    asked = len(result.checks)
    match result.outcome:
        case outcome if outcome == PASS:
            return "Passes" if asked == 1 else f"Passes {_of_applicable(result)}"
        case outcome if outcome == FAIL:
            return f"Fails {len(result.failed_checks)} of {count(asked, 'check')}"
        case outcome if outcome == NOT_APPLICABLE:
            return "Not assessed: no check applies"
    assert result.outcome == ERROR
    return "No verdict: a check ended in error"


def _of_applicable(result: CaseResult) -> str:
    applied = sum(check.applicable for check in result.checks.values())
    asked = len(result.checks)
    return f"all {asked} checks" if applied == asked else f"{applied} of {asked} checks; the rest do not apply"


def _of_example(case: Case) -> Draft:
    if case.messages:
        raise ApiError(404, "not_found", "There is no such example.")
    return Draft(case.user, case.assistant, checks=tuple(dict.fromkeys((*THREE, *case.checks))), lang=case.lang or "")
