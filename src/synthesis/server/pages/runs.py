"""Runs: the list of saved runs, and a line of figures over time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import APIRouter
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from synthesis.checks.registry import checks
from synthesis.defaults import AUTHORED, DEFAULT_CHECKS, TRAFFIC
from synthesis.history import SavedRun
from synthesis.history.model import CHECKS, JUDGE
from synthesis.report.judged.run import OFFLINE, axis_title
from synthesis.rules.language import language_of
from synthesis.server.errors import ApiError
from synthesis.server.limits import MOST_WORDS
from synthesis.server.pages.layout import page, read_form
from synthesis.server.state import server_state

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
WIDTH, HEIGHT, EDGE = 320, 64, 6  # of a sparkline


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
        "trend": _trend(history, kind, name or shown[0].name, tag) if shown else None,
    }


def _trend(history: "History", kind: str, name: str, tag: str | None) -> dict[str, Any]:
    """Figures over time of runs of one name, in the profile of the last: others cannot be compared with it."""
    found = history.trend(kind, name=name, tag=tag)
    profile = found[-1].profile
    points = [point for point in found if point.profile == profile]
    where = "/runs" if kind == CHECKS else "/judged"

    def line(title: str, field: str, unit: str = "", lowest: float | None = None) -> tuple[str, Markup, str]:
        values = [getattr(point.figures, field) for point in points]
        drawn = [
            TrendFigure(point.started[:16].replace("T", " "), value, f"{where}/{point.run_id}")
            for point, value in zip(points, values, strict=True)
        ]
        last = f"{values[-1]:g}{unit}" if values[-1] is not None else ""
        return title, sparkline(title, drawn, unit, lowest=lowest), last

    if kind == JUDGE:
        lines = [line("Pass rate", "pass_rate", " %"), line("Mean faithfulness", "faithfulness"),
                 line(f"Mean {_completeness(history, name, tag)}", "completeness")]  # fmt: skip
    else:
        lines = [line("Unexpected failures", "failures", lowest=0), line("Label accuracy", "label_accuracy", " %")]
    rulers = {(point.rules_hash, point.tool_version) for point in points}
    drawn = [one for one in lines if one[1]]
    return {"name": name, "profile": profile, "lines": drawn, "runs": len(points), "rulers": len(rulers)}


def _completeness(history: "History", name: str, tag: str | None) -> str:
    """The axis as it is shown: one offline run among them is enough to say that nobody validated it."""
    providers = [run.conditions["judge"]["provider"] for run in history.runs(kind=JUDGE, name=name, tag=tag)]
    return axis_title(OFFLINE if OFFLINE in providers else "", "completeness")


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


class TrendFigure(NamedTuple):
    """One figure of one run: when, its value (None if unknown), and the address of the run."""

    when: str
    value: float | None
    link: str


def sparkline(title: str, figures: Sequence[TrendFigure], unit: str = "", *, lowest: float | None = None) -> Markup:
    """An SVG line with a dot for each figure, and the figures in its label; empty if fewer than two are known."""
    known = [(place, figure) for place, figure in enumerate(figures) if figure.value is not None]
    if len(known) < 2:
        return Markup()
    values = [float(figure.value or 0) for _, figure in known]
    bottom = min(values) if lowest is None else lowest
    span = max(values) - bottom or 1.0
    points = [
        (_across(place, len(figures)), HEIGHT - EDGE - (value - bottom) / span * (HEIGHT - 2 * EDGE))
        for (place, _), value in zip(known, values, strict=True)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = Markup().join(
        _dot(x, y, figure, unit, is_last=number == len(points) - 1)
        for number, ((x, y), (_, figure)) in enumerate(zip(points, known, strict=True))
    )
    words = f"{title}: {', '.join(f'{value:g}{unit}' for value in values)}"
    return Markup(
        '<svg class="spark" viewBox="0 0 {w} {h}" role="img" aria-label="{words}">'
        '<polyline points="{line}"/>{dots}</svg>'
    ).format(w=WIDTH, h=HEIGHT, words=words, line=line, dots=dots)


def _across(place: int, number: int) -> float:
    return EDGE + place / max(number - 1, 1) * (WIDTH - 2 * EDGE)


def _dot(x: float, y: float, figure: TrendFigure, unit: str, *, is_last: bool) -> Markup:
    return Markup(
        '<a href="{link}" tabindex="-1"><circle cx="{x}" cy="{y}" r="{r}"{last}>'
        "<title>{when}: {value}{unit}</title></circle></a>"
    ).format(
        link=figure.link,
        x=f"{x:.1f}",
        y=f"{y:.1f}",
        r="4.5" if is_last else "3",
        last=Markup(' class="last"') if is_last else "",
        when=figure.when,
        value=f"{figure.value:g}",
        unit=unit,
    )
