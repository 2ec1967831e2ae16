"""Rules: browse and search them, read one in full, try one of your own on the bundled cases."""

from itertools import groupby

import msgspec
from fastapi import APIRouter
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from synthesis.checks.registry import checks, measured_languages, signals
from synthesis.model import CaseResult, Finding
from synthesis.model.result import PASS
from synthesis.report.findings import Glossary, evidence_sentence, how_to_read
from synthesis.report.html.case import Marks
from synthesis.report.stored import texts_of
from synthesis.rules.schema import Signal
from synthesis.rules.text import Language
from synthesis.server.http import MOST_WORDS, ApiError, ErrorDetail, decode_as, not_found
from synthesis.server.pages.layout import page, read_form
from synthesis.server.pages.runs import CONTENT_WARNING, is_tagged_crisis
from synthesis.server.rulebook import OWN, SHARED, OwnRule, Trial, cases_by_language, try_bundled, try_rule
from synthesis.server.state import ServerState, server_state

router = APIRouter(include_in_schema=False)
ENOUGH = 10  # labelled texts that a rule must have fired in before a share is shown


@router.get("/rules")
async def browse(request: Request) -> Response:
    """The rules that match the filters, by signal."""
    server = server_state(request)
    query = request.query_params
    wanted = {"lang": query.get("lang", "en"), "check": query.get("check", ""), "q": query.get("q", "")[:MOST_WORDS]}
    found = server.rulebook.find(wanted["lang"], wanted["check"], wanted["q"])
    by_signal = [
        (signals()[name], list(members))
        for name, members in groupby(sorted(found, key=lambda rule: rule.signal), key=lambda rule: rule.signal)
    ]
    return page(
        request,
        "rules.html",
        title="Rules",
        wanted=wanted,
        total=len(found),
        by_signal=by_signal,
        checks=[*checks(), SHARED],
        evidence=evidence_sentence(measured_languages(), checks()),
        languages=_languages(server),
    )


@router.get("/rules/try")
async def blank_trial(request: Request) -> Response:
    """The form for a rule of your own."""
    return _trial_page(request, {"language": request.query_params.get("lang", "en")})


@router.post("/rules/try")
async def trial(request: Request) -> Response:
    """The same with what the rule matches."""
    form = {name: values[0] for name, values in (await read_form(request)).items()}
    server = server_state(request)
    try:
        own = _own_rule(form)
        with server.slots.one():
            found = await server.in_thread(lambda: try_rule(own, server.rules))
    except ApiError as error:
        if error.status != 422:
            raise
        return _trial_page(request, form, problem=error.detail)
    return _trial_page(request, form, trial=found)


@router.get("/rules/{lang}/{rule_id}")
async def show(request: Request, lang: str, rule_id: str) -> Response:
    """One rule in full."""
    server = server_state(request)
    rule = server.rulebook.rule(lang, rule_id)
    if command := how_to_read(rule.id):
        raise not_found("The learned reader finds this, not a rule.", f"`{command}` explains it.")
    signal = signals()[rule.signal]
    found = await server.in_thread(lambda: try_bundled(rule, signal.where, server.rules))
    return page(
        request,
        "rule.html",
        title=rule.id,
        rule=server.rulebook.detail(rule),
        enough=ENOUGH,
        signal=signal,
        others=[server.rules.language(code) for code in server.rulebook.languages_of(rule_id) if code != lang],
        language=server.rules.language(lang),
        hits=_cases(found, rule.id, signal.name, server.glossary),
        content_warning=_content_warning(found),
        trial=found,
    )


def _own_rule(form: dict[str, str]) -> OwnRule:
    """The form's fields, validated by the same schema as the API."""
    lines = [line.strip() for line in form.get("patterns", "").splitlines() if line.strip()]
    if not lines:
        raise ApiError(422, "invalid_pattern", "Write at least one wording.")
    fields = {"patterns": lines, "language": form.get("language", "en"), "where": form.get("where", "assistant")}
    return decode_as(OwnRule, msgspec.json.encode(fields))


def _trial_page(
    request: Request, form: dict[str, str], *, trial: Trial | None = None, problem: ErrorDetail | None = None
) -> Response:
    server = server_state(request)
    return page(
        request,
        "rule_try.html",
        title="Try a rule",
        form={"patterns": "", "language": "en", "where": "assistant", **form},
        languages=_languages(server),
        trial=trial,
        problem=problem,
        hits=_cases(trial, OWN, "own.rule", server.glossary) if trial else [],
        content_warning=_content_warning(trial) if trial else "",
    )


def _cases(trial: Trial, rule: str, signal: str, glossary: Glossary) -> list[tuple[str, Markup]]:
    """The cases that the rule matched, each with its words marked."""
    known = {case.id: case for case in cases_by_language().get(trial.language, ())}
    role = signals()[signal].role if signal in signals() else Signal(signal, trial.where, "").role
    drawn = []
    for number, (name, hits) in enumerate(groupby(trial.hits, key=lambda hit: hit.case), start=1):
        case = known[name]
        findings = tuple(
            Finding(rule, signal, trial.where, hit.turn, hit.start, hit.end, hit.text, role=role, counted=True)
            for hit in hits
        )
        languages = {"language": trial.language}
        result = CaseResult(name, PASS, False, {}, findings, languages=languages, texts=texts_of(case))
        marks = Marks(result, glossary, f"hit{number}")
        drawn.append((name, marks.conversation()))
    return drawn


def _content_warning(trial: Trial) -> str:
    """The warning, if one of the matched cases is about a crisis."""
    matched = {hit.case for hit in trial.hits}
    known = cases_by_language().get(trial.language, ())
    return CONTENT_WARNING if any(case.id in matched and is_tagged_crisis(case.tags) for case in known) else ""


def _languages(server: ServerState) -> list[Language]:
    return [server.rules.language(code) for code in server.rules.languages]
