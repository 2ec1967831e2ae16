"""The application and how it starts: middleware outside, routes inside, one process or several."""

import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from types import FrameType
from typing import Any, NoReturn

import msgspec
import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.supervisors import Multiprocess

from synthesis._version import __version__
from synthesis.errors import OptionError, SynthesisError
from synthesis.server.api import PREFIX, check, complete_schema, jobs, rules, runs
from synthesis.server.http import ApiError, answer
from synthesis.server.metrics import Metrics, MetricsMiddleware, share_counts
from synthesis.server.pages import PAGE_ROUTERS
from synthesis.server.rulebook import loaded_rules
from synthesis.server.security import SecurityMiddleware, ServerSettings
from synthesis.server.state import ServerState

DESCRIPTION = """Checks of what an assistant says to people, without an LLM in the loop: the same input gives the same
verdict, with the matched words.

The checks look for markers in language: passing does not mean that a reply is safe, empathetic or clinically sound.

Errors are always `{"error": {"code", "message", "hint"}}`. If the server was started with a token, send it as
`Authorization: Bearer TOKEN`."""

API_ROUTERS = (
    check.router,
    jobs.router,
    runs.router,
    runs.labels_router,
    jobs.judging_router,
    rules.router,
    rules.health_router,
)
ANSWERED = (ApiError, SynthesisError, RequestValidationError, HTTPException)
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
        docs_url=None,  # FastAPI's pages load scripts from the network
        redoc_url=None,
        lifespan=_lifespan,
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,
    )
    for router in (*API_ROUTERS, *PAGE_ROUTERS):
        app.include_router(router)
    for kind in ANSWERED:
        app.add_exception_handler(kind, answer)
    app.openapi = lambda: _schema(app)  # type: ignore[method-assign]
    app.state.routes = _routes(app)
    metrics = Metrics([route.path for route in app.state.routes])
    app.state.server = ServerState(settings, metrics)
    app.add_middleware(AheadOfRouting, route=next(one for one in app.state.routes if one.path == f"{PREFIX}/check"))
    app.add_middleware(SecurityMiddleware, settings=settings)
    # Added last, so it is the outermost: it also counts what the layer inside refuses.
    app.add_middleware(MetricsMiddleware, metrics=metrics, log=settings.access_log)
    return app


class AheadOfRouting:
    """Answers one route ahead of the framework, which takes longer to find it than a short verdict takes."""

    def __init__(self, app: ASGIApp, route: Route) -> None:
        self._app = app
        self._route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != self._route.path or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        scope["route"] = self._route  # which is what is counted
        request = Request(scope, receive, send)
        try:
            response = await self._route.endpoint(request)
        except ANSWERED as error:
            response = await answer(request, error)
        await response(scope, receive, send)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    server: ServerState = app.state.server
    assert server.is_ready
    yield
    server.close()


def _routes(app: FastAPI) -> list[Route]:
    """Every route, including that of the schema."""
    every = [*app.routes, *(route for router in (*API_ROUTERS, *PAGE_ROUTERS) for route in router.routes)]
    return [route for route in every if isinstance(route, Route)]


def _schema(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        app.openapi_schema = complete_schema(FastAPI.openapi(app))
    return app.openapi_schema


# Starting the server: bind the socket first, so that the address is known, then run one process or several.


log = logging.getLogger("synthesis.server")
KEEP_ALIVE = 30
BACKLOG = 2048


class ServerEnded(Exception):  # noqa: N818 - not an error, but the way out
    """The server was asked to end, and has ended."""


def serve(settings: ServerSettings, announce: Callable[[str], None]) -> None:
    """Serve until interrupted (KeyboardInterrupt) or asked to end (ServerEnded)."""
    settings.require_safe()
    loaded_rules(
        settings.folders, settings.disabled, settings.reader
    )  # a broken pack fails at the start, not at the first request
    bound = bind(settings)
    signal.signal(signal.SIGTERM, _end)
    with bound, TemporaryDirectory(prefix="synthesis-serve-", ignore_cleanup_errors=True) as folder:
        settings = msgspec.structs.replace(settings, folder=folder, port=bound.getsockname()[1])
        announce(address(settings))
        config = configured(settings)
        if settings.workers == 1:
            _Server(config).run(sockets=[bound])
        else:
            share_counts(Path(folder))
            _serve_with_workers(config, bound)


def address(settings: ServerSettings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}/"


def configured(settings: ServerSettings) -> uvicorn.Config:
    """The settings for uvicorn."""
    return uvicorn.Config(
        partial(_application, settings),
        factory=True,
        workers=settings.workers,
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,  # uvicorn's would log what people search for; ours names routes only
        server_header=False,
        date_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=ceil(settings.timeout),
        ws="none",
    )


def _application(settings: ServerSettings) -> object:
    """Called in each process."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    logging.getLogger("synthesis.server").setLevel(logging.INFO)
    return create_app(settings)


class _Server(uvicorn.Server):
    """Ends in two steps: the first signal lets requests finish, the second does not wait for them."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            self.force_exit = True  # uvicorn does this for a second Ctrl-C only
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if waiting := len(self.server_state.tasks):
            seconds = self.config.timeout_graceful_shutdown
            log.warning("ending: waiting up to %g s for %d requests; a second signal ends at once", seconds, waiting)
        await super().shutdown(sockets)
        if self.force_exit:
            await self.lifespan.shutdown()  # uvicorn skips it, but the job process must end


def _serve_with_workers(config: uvicorn.Config, bound: socket.socket) -> None:
    supervisor = Multiprocess(config, sockets=[bound])
    asked: list[int] = []

    def note(number: int, _: object) -> None:
        asked.append(number)
        supervisor.signal_queue.append(number)
        if len(asked) > 1:
            for worker in supervisor.processes:
                worker.process.kill()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, note)
    supervisor.run()
    if signal.SIGINT in asked:
        raise KeyboardInterrupt
    raise ServerEnded


def bind(settings: ServerSettings) -> socket.socket:
    """A listening socket; OptionError if the address cannot be used."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(place)
        bound.listen(BACKLOG)  # clients that connect before the workers are ready wait instead of being refused
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise OptionError(
            f"cannot listen on {settings.host}, port {settings.port}: {reason}",
            hint="Choose another --port (0 takes a free one) or --host.",
        ) from None
    bound.set_inheritable(True)
    return bound


def _end(*_: object) -> NoReturn:
    raise ServerEnded
