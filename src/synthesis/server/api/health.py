"""Liveness, readiness and metrics. They have a module of their own because they are not part of the versioned API."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from synthesis.server.api.routing import DirectRoute
from synthesis.server.state import server_state

router = APIRouter(include_in_schema=False, route_class=DirectRoute)
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_ALIVE = PlainTextResponse("alive\n")
_READY = PlainTextResponse("ready\n")


@router.get("/healthz")
async def healthz(request: Request) -> Response:  # noqa: ARG001
    """Answers as long as the process runs."""
    return _ALIVE


@router.get("/readyz")
async def readyz(request: Request) -> Response:
    """Answers once the rules are loaded."""
    assert server_state(request).is_ready
    return _READY


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Counts for Prometheus."""
    return Response(server_state(request).metrics.exposition(), media_type=PROMETHEUS)
