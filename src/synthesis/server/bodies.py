"""Bodies of requests and responses: read within limits, decoded by msgspec, written at once or piece by piece."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from synthesis.server.errors import ApiError

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
    """The time that a part of a body has to arrive. It is renewed by progress, never by a byte alone: a client that
    sends one byte now and then would hold its place for ever."""

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
        raise ApiError(422, "empty", "The body is empty; it should be the file.")
    return size


def require_length(request: Request, most: int) -> None:
    """413 for a body whose `Content-Length` is already too long."""
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > most:
        raise _too_long(most)


def decode_as(kind: type[T], body: bytes) -> T:
    """The body as this struct; ApiError if it does not fit."""
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
    """Anything that msgspec can encode."""

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
