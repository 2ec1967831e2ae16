"""The outermost layer: counts each request, writes a line about it if asked to, and lets no exception out.

A line names the route, not the path: nothing that a request carries gets into a log.
"""

import logging
from time import perf_counter

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synthesis.server.errors import as_api_error, json_response
from synthesis.server.gate import HEADERS
from synthesis.server.metrics import NO_ROUTE, Metrics

access = logging.getLogger("synthesis.server.access")


class Observation:
    """Wraps everything else."""

    def __init__(self, app: ASGIApp, metrics: Metrics, *, log: bool) -> None:
        self._app = app
        self._metrics = metrics
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # answered as GET; the body is left out further outside
            scope = {**scope, "method": "GET"}
        status, begun = 0, perf_counter()

        async def noting_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting_status)
        except ClientDisconnect:
            pass  # nobody is left to be answered
        except Exception as error:
            known = as_api_error(error)
            if not status:
                response = json_response(known)
                response.headers.update(HEADERS)
                await response(scope, receive, noting_status)
        finally:
            self._note(scope, status, perf_counter() - begun)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", NO_ROUTE)
        self._metrics.count_request(route, status, seconds)
        if self._log:
            access.info("%s %s %d %.1f ms", scope["method"], route, status, seconds * 1000)
