"""Prometheus metrics, the access log, and the middleware that writes both. Neither contains texts or ids."""

import asyncio
import logging
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synthesis._version import __version__
from synthesis.model.result import ERROR, FAIL, NOT_APPLICABLE, PASS
from synthesis.server.http import ApiError, as_api_error, json_response
from synthesis.server.security import HEADERS

access = logging.getLogger("synthesis.server.access")

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
OUTCOMES = (PASS, FAIL, NOT_APPLICABLE, ERROR)
NO_ROUTE = "none"
_SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter, which nobody reads


def share_counts(folder: Path) -> None:
    """Let worker processes that start after this call count in files of this folder, so that each can add up the
    counts of all. prometheus-client reads the variable when it is imported."""
    os.environ[_SHARED_FOLDER] = str(folder)


class Metrics:
    """The metrics of this process, or of all workers together."""

    def __init__(self, routes: Sequence[str]) -> None:
        self._registry = CollectorRegistry()
        shared: dict[str, Any] = {"namespace": "synthesis", "registry": self._registry}
        build = Gauge("build_info", "The version that is running.", ["version"], multiprocess_mode="max", **shared)
        build.labels(__version__).set(1)
        self._requests = Counter("http_requests", "Requests by route and status.", ["route", "status"], **shared)
        self._seconds = Histogram(
            "http_request_seconds", "Time to answer, by route.", ["route"], buckets=BUCKETS, **shared
        )
        cases = Counter("cases", "Evaluated conversations by outcome.", ["outcome"], **shared)
        self._cases = {outcome: cases.labels(outcome) for outcome in OUTCOMES}
        self._routes = frozenset(routes)

    def count_request(self, route: str, status: int, seconds: float) -> None:
        count, time = self._series(route if route in self._routes else NO_ROUTE, status)
        count.inc()
        time.observe(seconds)

    @cache  # noqa: B019 - few series, and every request looks two of them up
    def _series(self, route: str, status: int) -> tuple[Counter, Histogram]:
        """Without a status, the client left before it was answered."""
        return self._requests.labels(route, status or "other"), self._seconds.labels(route)

    def count_case(self, outcome: str) -> None:
        self._cases[outcome].inc()

    def exposition(self) -> bytes:
        """The text that Prometheus reads."""
        if _SHARED_FOLDER not in os.environ:
            return generate_latest(self._registry)
        every = CollectorRegistry()
        MultiProcessCollector(every)  # type: ignore[no-untyped-call]
        return generate_latest(every)


def _ended() -> ApiError:
    """A request is cancelled only when the server ends: its time to finish is over, or a second signal came."""
    hint = "Send it again when the server is back."
    return ApiError(503, "ended", "The server ended before the request was finished.", hint, {"Connection": "close"})


class MetricsMiddleware:
    """The outermost middleware: counts and logs requests, and turns every exception into an answer."""

    def __init__(self, app: ASGIApp, metrics: Metrics, *, log: bool) -> None:
        self._app = app
        self._metrics = metrics
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # answered as GET; uvicorn leaves the body out
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
            pass  # the client is gone
        except (Exception, asyncio.CancelledError) as error:
            known = _ended() if isinstance(error, asyncio.CancelledError) else as_api_error(error)
            if not status:
                response = json_response(known)
                response.headers.update(HEADERS)
                await response(scope, receive, noting_status)
        finally:
            self._count(scope, status, perf_counter() - begun)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        # The route, not the path: nothing that a client sends gets into a log.
        route = getattr(scope.get("route"), "path", NO_ROUTE)
        self._metrics.count_request(route, status, seconds)
        if self._log:
            access.info("%s %s %d %.1f ms", scope["method"], route, status, seconds * 1000)
