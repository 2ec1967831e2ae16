"""Counts for Prometheus, an access log, and the outermost layer that fills both. No text and no id is in either.

Each worker process keeps its counts in a small memory-mapped file; the one that is asked for `/metrics` adds up all
files. The layout is fixed when the server starts, so counting is one addition in memory: no lock, no message between
processes, and the counts of a worker that died are still there.
"""

import asyncio
import logging
import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synthesis._version import __version__
from synthesis.model.result import ERROR, FAIL, NOT_APPLICABLE, PASS
from synthesis.server.http import ApiError, as_api_error, json_response
from synthesis.server.security import HEADERS

access = logging.getLogger("synthesis.server.access")

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
STATUSES = (200, 202, 204, 303, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 500, 501, 503)
OUTCOMES = (PASS, FAIL, NOT_APPLICABLE, ERROR)
NO_ROUTE = "none"
_OTHER = 1  # one more counter for statuses that are not in the list
_SECONDS = len(STATUSES) + _OTHER  # where the histogram of a route begins: its sum, then its buckets
_PER_ROUTE = _SECONDS + 1 + len(BUCKETS) + 1
_PREFIX = "counts-"


class Metrics:
    """The counts of one process, and the sum over all processes of a server."""

    def __init__(self, folder: Path, routes: Sequence[str]) -> None:
        self._folder = folder
        self._routes = [*sorted(set(routes)), NO_ROUTE]
        self._start = {route: number * _PER_ROUTE for number, route in enumerate(self._routes)}
        self._outcomes = len(self._routes) * _PER_ROUTE
        self._length = (self._outcomes + len(OUTCOMES)) * 8
        self._counts = self._mapped(folder / f"{_PREFIX}{os.getpid()}")

    def _mapped(self, path: Path) -> "memoryview[float]":
        with path.open("w+b") as file:
            file.truncate(self._length)
            return memoryview(mmap.mmap(file.fileno(), self._length)).cast("d")

    def count_request(self, route: str, status: int, seconds: float) -> None:
        start = self._start.get(route, self._start[NO_ROUTE])
        place = STATUSES.index(status) if status in STATUSES else len(STATUSES)
        self._counts[start + place] += 1
        self._counts[start + _SECONDS] += seconds
        bucket = next((number for number, limit in enumerate(BUCKETS) if seconds <= limit), len(BUCKETS))
        self._counts[start + _SECONDS + 1 + bucket] += 1

    def count_case(self, outcome: str) -> None:
        self._counts[self._outcomes + OUTCOMES.index(outcome)] += 1

    def exposition(self) -> str:
        """The text that Prometheus reads."""
        return "\n".join(self._lines(self._sum())) + "\n"

    def _sum(self) -> list[float]:
        total = [0.0] * (self._length // 8)
        for path in sorted(self._folder.glob(f"{_PREFIX}*")):
            content = path.read_bytes()
            if len(content) == self._length:
                total = [one + other for one, other in zip(total, memoryview(content).cast("d"), strict=True)]
        return total

    def _lines(self, counts: list[float]) -> Iterator[str]:
        yield from _head("synthesis_build_info", "gauge", "The version that is running.")
        yield f'synthesis_build_info{{version="{__version__}"}} 1'
        yield from _head("synthesis_http_requests_total", "counter", "Requests by route and status.")
        for route, start in self._start.items():
            for status, count in zip((*STATUSES, "other"), counts[start : start + _SECONDS], strict=True):
                if count:
                    yield f'synthesis_http_requests_total{{route="{route}",status="{status}"}} {count:.0f}'
        yield from _head("synthesis_http_request_seconds", "histogram", "Time to answer, by route.")
        for route, start in self._start.items():
            yield from _histogram(route, counts[start + _SECONDS : start + _PER_ROUTE])
        yield from _head("synthesis_cases_total", "counter", "Evaluated conversations by outcome.")
        for outcome, count in zip(OUTCOMES, counts[self._outcomes :], strict=True):
            yield f'synthesis_cases_total{{outcome="{outcome}"}} {count:.0f}'


def _head(name: str, kind: str, words: str) -> tuple[str, str]:
    return f"# HELP {name} {words}", f"# TYPE {name} {kind}"


def _histogram(route: str, counts: Sequence[float]) -> Iterator[str]:
    seconds, *buckets = counts
    if not any(buckets):
        return
    name, running = "synthesis_http_request_seconds", 0.0
    for limit, count in zip((*BUCKETS, "+Inf"), buckets, strict=True):
        running += count
        yield f'{name}_bucket{{route="{route}",le="{limit}"}} {running:.0f}'
    yield f'{name}_sum{{route="{route}"}} {seconds:.6f}'
    yield f'{name}_count{{route="{route}"}} {running:.0f}'


def _ended() -> ApiError:
    """A request is cancelled only when the server ends: its time to finish is over, or a second signal came."""
    hint = "Send it again when the server is back."
    return ApiError(503, "ended", "The server ended before the request was finished.", hint, {"Connection": "close"})


class MetricsMiddleware:
    """The outermost layer: counts each request, logs it if asked to, and lets no exception out."""

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
            pass  # there is nobody left to answer
        except (Exception, asyncio.CancelledError) as error:
            known = _ended() if isinstance(error, asyncio.CancelledError) else as_api_error(error)
            if not status:
                response = json_response(known)
                response.headers.update(HEADERS)
                await response(scope, receive, noting_status)
        finally:
            self._count(scope, status, perf_counter() - begun)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        # The route, not the path: nothing that a request carries gets into a log.
        route = getattr(scope.get("route"), "path", NO_ROUTE)
        self._metrics.count_request(route, status, seconds)
        if self._log:
            access.info("%s %s %d %.1f ms", scope["method"], route, status, seconds * 1000)
