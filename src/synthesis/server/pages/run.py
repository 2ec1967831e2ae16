"""One run with its charts and its cases, and one case with its evidence."""

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import APIRouter
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from synthesis.history import Page, SavedCase, SavedRun
from synthesis.history.model import CHECKS
from synthesis.report.findings import KINDS, Glossary, evidence_sentence
from synthesis.report.html.charts import MOST_TAGS, PATTERNS, Survey, charts, drift_per_check, survey_of
from synthesis.report.html.page import LIMITS, figures, headline
from synthesis.server.errors import not_found
from synthesis.server.pages.case_list import CASE, WantedCases, positions, row_of
from synthesis.server.pages.case_view import case_view
from synthesis.server.pages.layout import number_in, page, position_in
from synthesis.server.state import server_state

if TYPE_CHECKING:
    from synthesis.history.store import History

router = APIRouter(include_in_schema=False)
PER_PAGE = 50
MOST_RULES = 8  # in the chart; the filter offers all
SURVEYS = 32  # runs whose charts are kept in memory
OUTCOMES = {"pass": "passed", "fail": "failed", "not_applicable": "did not apply", "error": "ended in error"}


class RunPage(NamedTuple):
    """A run with what its page shows."""

    run: SavedRun
    survey: Survey
    cases: Page[SavedCase]
    earlier: SavedRun | None


@router.get("/runs/{run_id}")
async def run(request: Request, run_id: str) -> Response:
    """One run: its figures, its charts, its cases."""
    server = server_state(request)
    wanted = WantedCases.of_query(request.query_params)
    number = number_in(request.query_params.get("page"))
    found = await server.from_history(lambda history: _run(history, run_id, wanted, number))
    if found is None:
        return RedirectResponse(f"/judged/{run_id}", 303)
    one, survey, cases, earlier = found
    drawn = charts(one.summary, survey, server.glossary, MOST_RULES, f"/runs/{one.id}?reason=")
    return page(
        request,
        "run.html",
        title=f"Run of {one.name}",
        run=one,
        headline=Markup(headline(one.summary)),
        figures=Markup(figures(one.summary)),
        charts=Markup(PATTERNS + drawn + drift_per_check(one.summary)),
        limits=Markup(LIMITS),
        evidence=evidence_sentence(one.conditions["rules"].get("measured"), one.summary["by_check"]),
        cases=cases,
        rows=[row_of(one, case, survey, server.glossary, wanted) for case in cases.items],
        wanted=wanted,
        all_kinds=KINDS,
        earlier=earlier,
        alerts=survey.alerts,
        **_filters(one, survey, server.glossary),
    )


def _filters(one: SavedRun, survey: Survey, glossary: Glossary) -> dict[str, Any]:
    """What the list of cases can be asked for: values and words, of which only those that the run has."""
    reasons = sorted(survey.reasons.items(), key=lambda item: (-item[1], item[0]))
    return {
        "kinds": {kind: words for kind, words in KINDS.items() if survey.kinds[kind]},
        "outcomes": OUTCOMES,
        "checks": _named(one.summary["by_check"]),
        "rules": _named(sorted({rule for rule, _ in survey.rules})),
        "reasons": [(why.key, f"{why.check}: {why.words(glossary)} ({number:,})") for why, number in reasons],
        "languages": [(code, code or "unknown") for code in sorted(survey.languages) if len(survey.languages) > 1],
        "tags": _named(sorted(survey.tags, key=lambda tag: (-survey.tags[tag], tag))[:MOST_TAGS]),
    }


def _named(values: Iterable[str]) -> list[tuple[str, str]]:
    return [(value, value) for value in values]


def _run(history: "History", run_id: str, wanted: WantedCases, number: int) -> RunPage | None:
    """The run with what its page shows; None for a judged one, which has a page of its own."""
    one = history.run(run_id)
    if one.kind != CHECKS:
        return None
    survey = _survey(history, one.id)
    found = positions(history, one.id, survey, wanted)
    shown = history.cases_at(one.id, found[(number - 1) * PER_PAGE : number * PER_PAGE])
    earlier = history.runs(limit=1, before=one.id, kind=CHECKS, name=one.name)
    return RunPage(one, survey, Page(tuple(shown), len(found), number, PER_PAGE), earlier[0] if earlier else None)


@lru_cache(SURVEYS)
def _survey(history: "History", run_id: str) -> Survey:
    """Counted once: a saved run of the checks never changes."""
    return survey_of(history.report(run_id))


class CasePage(NamedTuple):
    """A case among those that its list was asked for; `number` is None where it is not one of them."""

    run: SavedRun
    case: SavedCase
    total: int
    number: int | None
    previous: int | None
    following: int | None


@router.get("/runs/{run_id}/cases/{position}")
async def case(request: Request, run_id: str, position: str) -> Response:
    """One case: its texts, what was found in them, and the verdict of each check."""
    server = server_state(request)
    place = position_in(position, "There is no such case.")
    wanted = WantedCases.of_query(request.query_params)
    found = await server.from_history(lambda history: _case(history, run_id, place, wanted))
    one, result = found.run, found.case.result
    return page(
        request,
        "case.html",
        title=found.case.case_id,
        here_in=found,
        run=one,
        case=found.case,
        wanted=wanted,
        kind_words=KINDS[found.case.kind],
        has_texts=one.with_text and result.has_texts,
        view=case_view(result, server.glossary, CASE, with_text=one.with_text),
    )


def _case(history: "History", run_id: str, position: int, wanted: WantedCases) -> CasePage:
    one = history.run(run_id)
    if one.kind != CHECKS:
        raise not_found("A judged run has samples, not cases.")
    survey = _survey(history, one.id)
    if position >= len(survey.needs):
        raise not_found("There is no such case.", f"The run has {len(survey.needs):,}.")
    listed = positions(history, one.id, survey, wanted)
    (found,) = history.cases_at(one.id, [position])
    if position not in listed:
        return CasePage(one, found, len(listed), None, None, None)
    place = listed.index(position)
    around = (listed[at] if 0 <= at < len(listed) else None for at in (place - 1, place + 1))
    return CasePage(one, found, len(listed), place + 1, *around)
