"""Whether the server is alive and ready, and its counts. These stand outside of the versioned API."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from synthesis.server.api.routing import DirectRoute
from synthesis.server.workbench import workbench_of

router = APIRouter(include_in_schema=False, route_class=DirectRoute)
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_ALIVE = PlainTextResponse("alive\n")
_READY = PlainTextResponse("ready\n")


@router.get("/healthz")
async def healthz(request: Request) -> Response:  # noqa: ARG001
    """Answers as long as the process does."""
    return _ALIVE


@router.get("/readyz")
async def readyz(request: Request) -> Response:
    """Answers once the rules are read."""
    assert workbench_of(request).is_ready
    return _READY


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Counts for Prometheus."""
    return Response(workbench_of(request).metrics.exposition(), media_type=PROMETHEUS)
