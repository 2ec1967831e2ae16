"""The application: middleware outside, routes inside. `create_app(settings)` is all that a host needs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.routing import Route

from synthesis._version import __version__
from synthesis.errors import SynthesisError
from synthesis.server.api import API_ROUTERS
from synthesis.server.api.routing import PREFIX, complete_schema
from synthesis.server.connections import ENDING
from synthesis.server.errors import ApiError, answer
from synthesis.server.metrics import Metrics, MetricsMiddleware
from synthesis.server.pages import PAGE_ROUTERS
from synthesis.server.security import SecurityMiddleware
from synthesis.server.settings import ServerSettings
from synthesis.server.state import ServerState

DESCRIPTION = """Checks of what an assistant says to people, without a model in the loop: the same input gives the same
verdict, with the words behind it.

Markers in language only: a pass is not evidence of safety, empathy or clinical quality.

Errors are always `{"error": {"code", "message", "hint"}}`. If the server was started with a token, send it as
`Authorization: Bearer TOKEN`."""

# FastAPI can send traces, with bodies, to a collector that the environment names. Nothing leaves this server.
NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}


def create_app(settings: ServerSettings) -> FastAPI:
    """The application for one process."""
    settings.require_safe()
    if not settings.folder:
        settings = msgspec.structs.replace(settings, folder=mkdtemp(prefix="synthesis-serve-"))
    app = FastAPI(
        title="Synthesis",
        version=__version__,
        description=DESCRIPTION,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # the usual page loads scripts from the network; ours is at /docs
        redoc_url=None,
        lifespan=_lifespan,
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,
    )
    for router in (*API_ROUTERS, *PAGE_ROUTERS):
        app.include_router(router)
    for kind in (ApiError, SynthesisError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answer)
    app.openapi = lambda: _schema(app)  # type: ignore[method-assign]
    app.state.routes = _routes(app)
    metrics = Metrics(Path(settings.folder), [route.path for route in app.state.routes])
    app.state.server = ServerState(settings, metrics)
    app.add_middleware(SecurityMiddleware, settings=settings)
    # Added last, so it is the outermost: it also counts what the layer inside refuses.
    app.add_middleware(MetricsMiddleware, metrics=metrics, log=settings.access_log)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
    server: ServerState = app.state.server
    assert server.is_ready
    yield {ENDING: asyncio.Event()}  # becomes the state of every request
    server.close()


def _routes(app: FastAPI) -> list[Route]:
    """Every route, including that of the schema."""
    every = [*app.routes, *(route for router in (*API_ROUTERS, *PAGE_ROUTERS) for route in router.routes)]
    return [route for route in every if isinstance(route, Route)]


def _schema(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        app.openapi_schema = complete_schema(FastAPI.openapi(app))
    return app.openapi_schema
