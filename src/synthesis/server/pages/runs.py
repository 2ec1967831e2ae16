"""Runs: the list of saved runs, their tags, and the end of one."""

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from synthesis.checks.registry import checks
from synthesis.history import SavedRun
from synthesis.history.model import CHECKS
from synthesis.rules.text import language_of
from synthesis.server.errors import ApiError
from synthesis.server.limits import MOST_WORDS
from synthesis.server.pages.layout import page, read_form
from synthesis.server.pages.trend import trend_of
from synthesis.server.state import server_state
from synthesis.settings import AUTHORED, DEFAULT_CHECKS, TRAFFIC

if TYPE_CHECKING:
    from synthesis.history.store import History

router = APIRouter(include_in_schema=False)
PER_PAGE = 50
NOTHING: dict[str, Any] = {"runs": [], "more": None, "names": [], "tags": [], "trend": None}
PROFILE_WORDS = (
    (TRAFFIC, "traffic: conversations as they come"),
    (AUTHORED, "authored: cases written for their checks"),
)
RECENT = 300  # runs whose names and tags are offered as filters


@router.get("/runs")
async def runs(request: Request) -> Response:
    """All runs of the checks, newest first, with their trend."""
    return page(
        request,
        "runs.html",
        title="Runs",
        checks=sorted(checks().values(), key=lambda check: (check.name not in DEFAULT_CHECKS, check.name)),
        chosen=DEFAULT_CHECKS,
        profiles=PROFILE_WORDS,
        languages=[language_of(code) for code in server_state(request).rules.languages],
        **await runs_of(request, CHECKS),
    )


async def runs_of(request: Request, kind: str) -> dict[str, Any]:
    """What the page of all runs of one kind shows, filtered by its query."""
    query = request.query_params
    wanted = {name: query.get(name, "")[:MOST_WORDS] for name in ("name", "tag", "before")}
    listed = await server_state(request).from_history_if_any(lambda history: _listed(history, kind, wanted))
    return {"wanted": wanted, **(listed or NOTHING)}


def _listed(history: "History", kind: str, wanted: dict[str, str]) -> dict[str, Any]:
    """A page of runs of one kind, the filters on offer, and their trend."""
    name, tag, before = (wanted[key] or None for key in ("name", "tag", "before"))
    found = history.runs(limit=PER_PAGE + 1, before=before, kind=kind, tag=tag, name=name)
    recent = history.runs(limit=RECENT, kind=kind)
    shown = found[:PER_PAGE]
    return {
        "runs": shown,
        "more": shown[-1].id if len(found) > PER_PAGE else None,
        "names": sorted({run.name for run in recent}),
        "tags": sorted({tag for run in recent for tag in run.tags}),
        "trend": trend_of(history, kind, name or shown[0].name, tag) if shown else None,
    }


@router.post("/runs/{run_id}/tags")
async def change_tags(request: Request, run_id: str) -> Response:
    """Add a tag to a run, or remove one."""
    form = await read_form(request)
    add, remove = ([tag.strip() for tag in form.get(name, []) if tag.strip()] for name in ("add", "remove"))
    changed = await server_state(request).from_history(lambda history: history.tag(run_id, add, remove))
    return RedirectResponse(_home(changed), 303)


@router.post("/runs/{run_id}/delete")
async def delete(request: Request, run_id: str) -> Response:
    """Delete a run permanently."""
    form = await read_form(request)
    if form.get("sure") != ["yes"]:
        raise ApiError(422, "not_sure", "Nothing was deleted.", "Tick the box if you are sure.")

    def remove(history: "History") -> SavedRun:
        gone = history.run(run_id)
        history.delete(gone.id)
        return gone

    gone = await server_state(request).from_history(remove)
    return RedirectResponse("/runs" if gone.kind == CHECKS else "/judged", 303)


def _home(run: SavedRun) -> str:
    return f"/runs/{run.id}" if run.kind == CHECKS else f"/judged/{run.id}"
