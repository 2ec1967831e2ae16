"""How the figures of runs change over time, and two runs compared."""

from typing import Annotated, Literal

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from synthesis.history import TrendPoint
from synthesis.report.compare import Comparison
from synthesis.report.judged.compare import JudgedComparison
from synthesis.server.api.routing import api_router
from synthesis.server.api.runs import NameOf, Tag
from synthesis.server.json import Json
from synthesis.server.limits import in_thread
from synthesis.server.saved_runs import compared
from synthesis.server.schema import described
from synthesis.server.workbench import workbench_of

router = api_router("runs")


@router.get("/trend", **described(list[TrendPoint], words="The figures, the oldest first."))
async def trend(
    request: Request,
    kind: Annotated[Literal["checks", "judge"], Query(description="Which half.")] = "checks",
    name: NameOf = None,
    tag: Tag = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="At most so many, the newest.")] = 50,
) -> Response:
    """How the figures of runs change over time."""
    workbench = workbench_of(request)
    points = await in_thread(
        workbench.threads,
        workbench.settings.timeout,
        lambda: history.trend(kind, name=name, tag=tag, limit=limit) if (history := workbench.shelf.found()) else [],
    )
    return Json(points)


@router.get("/compare", **described((Comparison, JudgedComparison), words="What changed."))
async def compare(
    request: Request,
    before: Annotated[str, Query(max_length=100, description="Id of a run.", examples=["latest"])],
    after: Annotated[str, Query(max_length=100, description="Id of another.", examples=["latest"])],
) -> Response:
    """Compare two runs of one kind, as `synthesis compare` does: what fails now, what passes now, what else changed."""
    workbench = workbench_of(request)
    with workbench.slots.one():
        return Json(await workbench.from_history(lambda history: compared(history, before, after)))
