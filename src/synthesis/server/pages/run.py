"""One run with its charts and its cases, and one case with its evidence."""

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fastapi import APIRouter
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from synthesis.history import Page, SavedCase, SavedRun
from synthesis.history.model import CHECKS
from synthesis.report.html.charts import PATTERNS, charts
from synthesis.report.html.page import LIMITS, figures, headline
from synthesis.report.html.survey import Survey, survey_of
from synthesis.report.html.timelines import drift_per_check, strips
from synthesis.report.verdicts import KINDS, evidence_sentence
from synthesis.server.errors import not_found
from synthesis.server.pages.case_view import CONTENT_WARNING, case_view, needs_content_warning
from synthesis.server.pages.layout import number_in, page
from synthesis.server.state import server_state

if TYPE_CHECKING:
    from synthesis.history.store import History

router = APIRouter(include_in_schema=False)
PER_PAGE = 50
MOST_WORDS = 200
MOST_RULES = 8  # in the chart; the filter offers all
SURVEYS = 32  # runs whose charts are kept in memory
CASE = "case"  # begins the anchors on the page of a case
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
    query = request.query_params
    wanted = {name: query.get(name, "")[:MOST_WORDS] for name in ("check", "outcome", "kind", "rule", "q")}
    number = number_in(query.get("page"))
    found = await server.from_history(lambda history: _run(history, run_id, wanted, number))
    if found is None:
        return RedirectResponse(f"/judged/{run_id}", 303)
    one, survey, cases, earlier = found
    return page(
        request,
        "run.html",
        title=f"Run of {one.name}",
        run=one,
        headline=Markup(headline(one.summary)),
        figures=Markup(figures(one.summary)),
        charts=Markup(
            PATTERNS + charts(one.summary, survey, server.glossary, MOST_RULES) + drift_per_check(one.summary)
        ),
        limits=Markup(LIMITS),
        evidence=evidence_sentence(one.conditions["rules"].get("measured"), one.summary["by_check"]),
        cases=cases,
        strips={case.position: _strips(one, case) for case in cases.items},
        wanted=wanted,
        kinds={kind: words for kind, words in KINDS.items() if survey.kinds[kind]},
        all_kinds=KINDS,
        outcomes=OUTCOMES,
        checks=list(one.summary["by_check"]),
        rules=sorted({rule for rule, _ in survey.rules}),
        earlier=earlier,
        alerts=survey.alerts,
    )


def _strips(run: SavedRun, case: SavedCase) -> Markup:
    """The turns of a conversation. Each opens its case at that turn, past the warning there, so the warning is here."""
    result = case.result
    drawn = strips(result, f"/runs/{run.id}/cases/{case.position}#{CASE}turn")
    warning = f'<p class="quiet">{CONTENT_WARNING}</p>' if drawn and needs_content_warning(result) else ""
    return Markup(warning + drawn)


def _run(history: "History", run_id: str, wanted: dict[str, str], number: int) -> RunPage | None:
    """The run with what its page shows; None for a judged one, which has a page of its own."""
    one = history.run(run_id)
    if one.kind != CHECKS:
        return None
    asked = {name: value or None for name, value in wanted.items() if name != "q"}
    cases = history.outcomes(one.id, search=wanted["q"] or None, page=number, per_page=PER_PAGE, **asked)
    earlier = history.runs(limit=1, before=one.id, kind=CHECKS, name=one.name)
    return RunPage(one, _survey(history, one.id), cases, earlier[0] if earlier else None)


@lru_cache(SURVEYS)
def _survey(history: "History", run_id: str) -> Survey:
    """Counted once: a saved run of the checks never changes."""
    return survey_of(history.report(run_id))


@router.get("/runs/{run_id}/cases/{position}")
async def case(request: Request, run_id: str, position: str) -> Response:
    """One case: its texts, what was found in them, and the verdict of each check."""
    server = server_state(request)
    if not position.isdecimal() or len(position) > 9:
        raise not_found("There is no such case.")
    one, found, total = await server.from_history(lambda history: _case(history, run_id, int(position)))
    return page(
        request,
        "case.html",
        title=found.case_id,
        run=one,
        case=found,
        kind_words=KINDS[found.kind],
        has_texts=one.with_text and found.result.has_texts,
        view=case_view(found.result, server.glossary, CASE, with_text=one.with_text),
        total=total,
    )


def _case(history: "History", run_id: str, position: int) -> tuple[SavedRun, SavedCase, int]:
    one = history.run(run_id)
    if one.kind != CHECKS:
        raise not_found("A judged run has samples, not cases.")
    found = history.outcomes(one.id, page=position + 1, per_page=1)
    if not found.items:
        raise not_found("There is no such case.", f"The run has {found.total:,}.")
    return one, found.items[0], found.total
