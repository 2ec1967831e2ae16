"""Runs: what was saved, and how it changes over time."""

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from synthesis.history import Run
from synthesis.history.model import CHECKS, JUDGE
from synthesis.server.errors import ApiError
from synthesis.server.limits import in_thread
from synthesis.server.pages.frame import page, read_form
from synthesis.server.pages.sparkline import Figure, sparkline
from synthesis.server.workbench import workbench_of

if TYPE_CHECKING:
    from synthesis.history.store import History

router = APIRouter(include_in_schema=False)
PER_PAGE = 50
MOST_WORDS = 200
NOTHING: dict[str, Any] = {"runs": [], "more": None, "names": [], "tags": [], "trend": None}
RECENT = 300  # runs among which names and tags are offered


@router.get("/runs")
async def runs(request: Request) -> Response:
    """All runs of the checks, the newest first, with their trend."""
    return page(request, "runs.html", title="Runs", **await runs_of(request, CHECKS))


async def runs_of(request: Request, kind: str) -> dict[str, Any]:
    """What the page of all runs of one half shows, narrowed to what its address asks for."""
    workbench = workbench_of(request)
    query = request.query_params
    wanted = {name: query.get(name, "")[:MOST_WORDS] for name in ("name", "tag", "before")}

    def look() -> dict[str, Any]:
        history = workbench.shelf.found()
        return {"wanted": wanted, **(_listed(history, kind, wanted) if history else NOTHING)}

    return await in_thread(workbench.threads, workbench.settings.timeout, look)


def _listed(history: "History", kind: str, wanted: dict[str, str]) -> dict[str, Any]:
    """A page of runs of one half, what they can be narrowed to, and their trend."""
    name, tag, before = (wanted[key] or None for key in ("name", "tag", "before"))
    found = history.runs(limit=PER_PAGE + 1, before=before, kind=kind, tag=tag, name=name)
    recent = history.runs(limit=RECENT, kind=kind)
    shown = found[:PER_PAGE]
    return {
        "runs": shown,
        "more": shown[-1].id if len(found) > PER_PAGE else None,
        "names": sorted({run.name for run in recent}),
        "tags": sorted({tag for run in recent for tag in run.tags}),
        "trend": _trend(history, kind, name or shown[0].name, tag) if shown else None,
    }


def _trend(history: "History", kind: str, name: str, tag: str | None) -> dict[str, Any]:
    """Lines of the figures of one name: runs of different inputs cannot be held against each other."""
    points = history.trend(kind, name=name, tag=tag)
    where = "/runs" if kind == CHECKS else "/judged"

    def line(title: str, field: str, unit: str = "", lowest: float | None = None) -> tuple[str, Markup, str]:
        values = [getattr(point.figures, field) for point in points]
        drawn = [
            Figure(point.started[:16].replace("T", " "), value, f"{where}/{point.run_id}")
            for point, value in zip(points, values, strict=True)
        ]
        last = f"{values[-1]:g}{unit}" if values[-1] is not None else ""
        return title, sparkline(title, drawn, unit, lowest=lowest), last

    if kind == JUDGE:
        lines = [line("Pass rate", "pass_rate", " %"), line("Mean faithfulness", "faithfulness"),
                 line("Mean completeness", "completeness")]  # fmt: skip
    else:
        lines = [line("Unexpected failures", "failures", lowest=0), line("Label accuracy", "label_accuracy", " %")]
    return {"name": name, "lines": [one for one in lines if one[1]], "runs": len(points)}


@router.post("/runs/{run_id}/tags")
async def change_tags(request: Request, run_id: str) -> Response:
    """Put a tag on a run, or take one off."""
    form = await read_form(request)
    add, remove = ([tag.strip() for tag in form.get(name, []) if tag.strip()] for name in ("add", "remove"))
    changed = await workbench_of(request).from_history(lambda history: history.tag(run_id, add, remove))
    return RedirectResponse(_home(changed), 303)


@router.post("/runs/{run_id}/delete")
async def delete(request: Request, run_id: str) -> Response:
    """Remove a run for good."""
    form = await read_form(request)
    if form.get("sure") != ["yes"]:
        raise ApiError(422, "not_sure", "Nothing was deleted.", "Tick the box if you are sure.")

    def remove(history: "History") -> Run:
        gone = history.run(run_id)
        history.delete(gone.id)
        return gone

    gone = await workbench_of(request).from_history(remove)
    return RedirectResponse("/runs" if gone.kind == CHECKS else "/judged", 303)


def _home(run: Run) -> str:
    return f"/runs/{run.id}" if run.kind == CHECKS else f"/judged/{run.id}"
