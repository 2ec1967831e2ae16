"""Rules: browse and search them, read one in full, try one of your own on the bundled cases."""

from itertools import groupby
from typing import Any

import msgspec
from fastapi import APIRouter
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from synthesis.checks.registry import checks, signals
from synthesis.model import CaseResult, Finding
from synthesis.model.result import PASS
from synthesis.report.glossary import Glossary
from synthesis.report.html.marks import Marks, SignalStyles
from synthesis.rules.language import language_of
from synthesis.rules.schema import Signal
from synthesis.server.bundled_cases import cases_by_language
from synthesis.server.errors import ApiError
from synthesis.server.json import decode_as
from synthesis.server.limits import in_thread
from synthesis.server.pages.frame import page, read_form
from synthesis.server.rulebook import SHARED
from synthesis.server.trying import OWN, OwnRule, Trial, try_bundled, try_rule
from synthesis.server.workbench import Workbench, workbench_of

router = APIRouter(include_in_schema=False)
MOST_WORDS = 200
ENOUGH = 10  # labelled texts that a rule must have fired in for a share to say something


@router.get("/rules")
async def browse(request: Request) -> Response:
    """The rules that fit, by signal."""
    workbench = workbench_of(request)
    query = request.query_params
    wanted = {"lang": query.get("lang", "en"), "check": query.get("check", ""), "q": query.get("q", "")[:MOST_WORDS]}
    found = workbench.rulebook.find(wanted["lang"], wanted["check"], wanted["q"])
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
        languages=_languages(workbench),
    )


@router.get("/rules/try")
async def blank_trial(request: Request) -> Response:
    """The form for a rule of your own."""
    return _trial_page(request, {"language": request.query_params.get("lang", "en")})


@router.post("/rules/try")
async def trial(request: Request) -> Response:
    """The same with what the rule hits."""
    form = {name: values[0] for name, values in (await read_form(request)).items()}
    workbench = workbench_of(request)
    try:
        own = _own_rule(form)
        with workbench.slots.one():
            seconds = workbench.settings.timeout
            found = await in_thread(workbench.threads, seconds, lambda: try_rule(own, workbench.rules))
    except ApiError as error:
        if error.status != 422:
            raise
        return _trial_page(request, form, problem=error.detail)
    return _trial_page(request, form, trial=found)


@router.get("/rules/{lang}/{rule_id}")
async def show(request: Request, lang: str, rule_id: str) -> Response:
    """One rule in full."""
    workbench = workbench_of(request)
    rule = workbench.rulebook.rule(lang, rule_id)
    signal = signals()[rule.signal]
    found = await in_thread(
        workbench.threads, workbench.settings.timeout, lambda: try_bundled(rule, signal.where, workbench.rules)
    )
    return page(
        request,
        "rule.html",
        title=rule.id,
        rule=workbench.rulebook.detail(rule),
        enough=ENOUGH,
        signal=signal,
        others=[language_of(code) for code in workbench.rulebook.languages_of(rule_id) if code != lang],
        language=language_of(lang),
        hits=_cases(found, rule.id, signal.name, workbench.glossary),
        painful=_are_painful(found),
        trial=found,
    )


def _own_rule(form: dict[str, str]) -> OwnRule:
    """The form's fields, held to the same schema as the API."""
    lines = [line.strip() for line in form.get("patterns", "").splitlines() if line.strip()]
    if not lines:
        raise ApiError(422, "invalid_pattern", "Write at least one wording.")
    fields = {"patterns": lines, "language": form.get("language", "en"), "where": form.get("where", "assistant")}
    return decode_as(OwnRule, msgspec.json.encode(fields))


def _trial_page(request: Request, form: dict[str, str], *, trial: Trial | None = None, problem: Any = None) -> Response:
    workbench = workbench_of(request)
    return page(
        request,
        "rule_try.html",
        title="Try a rule",
        form={"patterns": "", "language": "en", "where": "assistant", **form},
        languages=_languages(workbench),
        trial=trial,
        problem=problem,
        hits=_cases(trial, OWN, "own.rule", workbench.glossary) if trial else [],
        painful=trial is not None and _are_painful(trial),
    )


def _cases(trial: Trial, rule: str, signal: str, glossary: Glossary) -> list[tuple[str, Markup]]:
    """The cases that were hit, each with its conversation marked."""
    known = {case.id: case for case in cases_by_language().get(trial.language, ())}
    role = Signal(signal, trial.where, "").role if signal not in signals() else signals()[signal].role
    styles = SignalStyles([(signal, role)])
    drawn = []
    for number, (name, hits) in enumerate(groupby(trial.hits, key=lambda hit: hit.case), start=1):
        case = known[name]
        findings = tuple(
            Finding(rule, signal, trial.where, hit.turn, hit.start, hit.end, hit.text, role=role, counted=True)
            for hit in hits
        )
        texts = {"messages": msgspec.to_builtins(case.messages)} if case.messages else {}
        result = CaseResult(
            name,
            PASS,
            case.is_negative_example,
            {},
            findings,
            languages={"language": trial.language},
            texts=texts or {"user": case.user, "assistant": case.assistant},
        )
        marks = Marks(result, styles, glossary, f"hit{number}")
        drawn.append((name, Markup(marks.conversation())))
    return drawn


def _are_painful(trial: Trial) -> bool:
    """Whether some of the cases that were hit are about a crisis, so that nobody should come upon them unasked."""
    hit = {one.case for one in trial.hits}
    return any("crisis" in tag for case in cases_by_language()[trial.language] if case.id in hit for tag in case.tags)


def _languages(workbench: Workbench) -> list[Any]:
    return [language_of(code) for code in workbench.rules.languages]
