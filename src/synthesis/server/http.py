"""Requests and responses: bodies read within limits and decoded by msgspec, errors as clients and pages see them."""

import asyncio
import logging
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from synthesis.cancellation import run_cancellable
from synthesis.errors import (
    DamagedRunError,
    HistoryError,
    InputError,
    MissingExtraError,
    NotInHistoryError,
    SynthesisError,
)

log = logging.getLogger("synthesis.server")


class ErrorDetail(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is wrong (`code` for programs, `message` for people), and what to do about it."""

    code: str
    message: str
    hint: str = ""


class ErrorBody(msgspec.Struct, frozen=True):
    """The body of every answer with a status of 400 or more."""

    error: ErrorDetail


class ApiError(Exception):
    """A request that is answered with an error."""

    def __init__(
        self, status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(code)
        self.status = status
        self.detail = ErrorDetail(code, message, hint)
        self.headers = dict(headers or {})


def not_found(what: str, hint: str = "") -> ApiError:
    return ApiError(404, "not_found", what, hint)


def busy(message: str) -> ApiError:
    return ApiError(429, "busy", message, "Try again in a moment.", {"Retry-After": "1"})


def as_api_error(error: Exception) -> ApiError:
    """Any exception as the client sees it; an unexpected one without details, since they may quote a text."""
    match error:
        case ApiError():
            return error
        case RequestValidationError():
            return ApiError(422, "invalid_parameter", _parameters(error), "See the schema at /api/v1/openapi.json.")
        case HTTPException():
            return _of_http(error)
        case MissingExtraError():
            return ApiError(501, "not_installed", error.message, error.hint or "")
        case NotInHistoryError():
            return not_found(f"{error.message[0].upper()}{error.message[1:]}.", "The runs are listed at /api/v1/runs.")
        case DamagedRunError():
            return ApiError(503, "damaged", f"{error.message[0].upper()}{error.message[1:]}.", error.hint or "")
        case HistoryError():
            return ApiError(503, "no_history", "The history of runs is not available.", error.message)
        case InputError():
            return ApiError(422, "invalid_input", error.message, error.hint or "")
        case SynthesisError():
            return ApiError(500, "failed", error.message, error.hint or "")
    log.error("unexpected %s at %s", type(error).__name__, _place(error))
    return ApiError(500, "unforeseen", "Something went wrong on the server.", "Please report it.")


def json_response(error: ApiError) -> Response:
    body = msgspec.json.encode(ErrorBody(error.detail))
    return Response(body, error.status, error.headers, media_type="application/json")


async def answer(request: Request, error: Exception) -> Response:
    """The handler of all exceptions: a page for browsers, JSON for programs."""
    known = as_api_error(error)
    if known.status == 405:
        known.headers["Allow"] = ", ".join(sorted(_methods(request)))
    if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
        return json_response(known)
    from synthesis.server.pages.layout import error_page  # pages import this module

    return error_page(request, known)


def _methods(request: Request) -> set[str]:
    """The methods of a path; each route knows only its own."""
    path = request.url.path
    return {method for route in request.app.state.routes if route.path_regex.match(path) for method in route.methods}


def _of_http(error: HTTPException) -> ApiError:
    phrase = HTTPStatus(error.status_code).phrase
    messages = {404: "There is nothing here.", 405: "This method is not allowed here."}
    hint = "The schema at /api/v1/openapi.json lists all paths." if error.status_code in messages else ""
    message = messages.get(error.status_code, phrase)
    return ApiError(error.status_code, phrase.lower().replace(" ", "_"), message, hint, error.headers)


def _parameters(error: RequestValidationError) -> str:
    """Which parameters are wrong and why; without the values, since a log could keep them."""
    return "; ".join(f"{'.'.join(str(part) for part in one['loc'][1:])}: {one['msg']}" for one in error.errors())


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"


# Bodies of requests and responses: read within limits, decoded by msgspec, written at once or piece by piece.


T = TypeVar("T")
STEP = 256 << 10  # bytes of an upload that must arrive within each timeout: 9 KB/s by default


async def read_body(request: Request, most: int, seconds: float) -> bytes:
    """The whole body; 413 if it is too long, 408 if it does not arrive in time."""
    require_length(request, most)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size > most:
                    raise _too_long(most)
                parts.append(chunk)
    except TimeoutError:
        raise _too_slow(seconds) from None
    return b"".join(parts)


class Deadline:
    """The time that a part of a body has to arrive. Only progress renews it, never a single byte: a client that
    sends one byte now and then would hold its slot forever."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.renew()

    def renew(self) -> None:
        self.ends = asyncio.get_running_loop().time() + self.seconds


async def body_chunks(request: Request, deadline: Deadline) -> AsyncIterator[bytes]:
    """The body chunk by chunk; 408 when the deadline passes. The caller renews it."""
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout_at(deadline.ends):
                chunk = await anext(stream, None)
        except TimeoutError:
            raise _too_slow(deadline.seconds) from None
        if chunk is None:
            return
        if chunk:
            yield chunk


async def write_body(request: Request, path: Path, most: int, seconds: float) -> int:
    """Write the body to a file as it arrives and return its size; 413 if it is too long, 422 if it is empty.

    A file may be large, so each further 256 KB have the whole timeout: 408 for a client that is slower.
    """
    size, due = 0, STEP
    deadline = Deadline(seconds)
    with path.open("wb") as file:
        async for chunk in body_chunks(request, deadline):
            size += len(chunk)
            if size > most:
                raise _too_long(most)
            if size >= due:
                due = size + STEP
                deadline.renew()
            file.write(chunk)
    if not size:
        raise ApiError(422, "empty", "The body is empty. Send the file as the body.")
    return size


def require_length(request: Request, most: int) -> None:
    """413 for a body whose `Content-Length` is already too long."""
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > most:
        raise _too_long(most)


def decode_as(kind: type[T], body: bytes) -> T:
    """Decode the body as this struct; ApiError if it is not valid."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise ApiError(422, "invalid_body", str(error), "See the schema at /api/v1/openapi.json.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ApiError(400, "invalid_json", f"The body is not valid JSON: {error}") from None
    except RecursionError:
        raise ApiError(400, "invalid_json", "The body is nested too deeply.") from None


class LineSplitter:
    """Splits chunks into lines. None is a line that is too long: its bytes are dropped, so memory stays bounded."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> Iterator[bytes | None]:
        """The lines that end in this chunk."""
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._add(part)
            yield self._line()
        self._add(rest)

    def rest(self) -> Iterator[bytes | None]:
        """The last line, if no line break ends it."""
        if self._length:
            yield self._line()

    def _add(self, part: bytes) -> None:
        self._length += len(part)
        if self._length <= self._most:
            self._parts.append(part)
        else:
            self._parts.clear()

    def _line(self) -> bytes | None:
        line = b"".join(self._parts) if self._length <= self._most else None
        self._parts, self._length = [], 0
        return line


class JsonResponse(Response):
    """A JSON response of anything that msgspec can encode."""

    media_type = "application/json"

    def __init__(self, content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(msgspec.json.encode(content), status, headers)


class StreamedResponse(Response):
    """Sends pieces as they come; a client that accepts nothing for `seconds` is disconnected.

    Starlette's own StreamingResponse listens for a disconnect, which consumes the request's messages. A batch reads its
    body while it answers, so here the iterator alone reads.
    """

    def __init__(
        self, pieces: AsyncIterator[bytes], media_type: str, seconds: float, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(None, 200, headers, media_type)
        del self.headers["content-length"]
        self._pieces = pieces
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for piece in self._pieces:
            async with asyncio.timeout(self._seconds):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _too_long(most: int) -> ApiError:
    return ApiError(
        413,
        "too_long",
        f"The body is longer than {most:,} bytes.",
        "Send less at once; whole case files go to /api/v1/uploads.",
        {"Connection": "close"},  # the rest of the body is never read
    )


def _too_slow(seconds: float) -> ApiError:
    return ApiError(
        408, "too_slow", f"The body did not arrive within {seconds:g} seconds.", headers={"Connection": "close"}
    )


# Limits: requests at once, seconds of one evaluation, and length of the values in a URL.


MOST_WORDS = 200  # characters of a name, a tag or a search in a URL


class Slots:
    """A fixed number of slots. A request that finds none free is refused at once: a queue would only hide the load."""

    def __init__(self, number: int, what: str) -> None:
        self._number = number
        self._what = what
        self.taken = 0

    def require_free(self) -> None:
        """429 if all are taken."""
        if self.taken >= self._number:
            raise busy(f"The limit of {self._number} {self._what} at once is reached.")

    def take(self) -> None:
        self.require_free()
        self.taken += 1

    def free(self) -> None:
        self.taken -= 1

    @contextmanager
    def one(self) -> Iterator[None]:
        self.take()
        try:
            yield
        finally:
            self.free()


async def in_thread(pool: ThreadPoolExecutor, seconds: float, work: Callable[[], T]) -> T:
    """Run work that would block the event loop in a thread; 408 if it takes too long.

    The work ends at its next checkpoint when nobody waits for it any more: after the timeout, and when the server
    ends. Otherwise two slow texts would hold both threads, and later requests would time out while they wait.
    """
    given_up = threading.Event()
    future = asyncio.get_running_loop().run_in_executor(pool, lambda: run_cancellable(work, given_up))
    try:
        return await asyncio.wait_for(future, seconds)
    except TimeoutError:
        message = f"The evaluation took longer than {seconds:g} seconds."
        raise ApiError(408, "too_slow", message, "Send a shorter text, or upload a file.") from None
    finally:
        given_up.set()
