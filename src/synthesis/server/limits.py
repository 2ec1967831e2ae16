"""How much one request may take: bytes, seconds, and how many are worked on at once. Each limit has a clear answer."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from starlette.requests import Request

from synthesis.server.errors import ApiError, busy

T = TypeVar("T")


class Slots:
    """A number of places; whoever finds none free is told so at once."""

    def __init__(self, number: int, what: str) -> None:
        self._number = number
        self._what = what
        self.taken = 0

    def require_free(self) -> None:
        """429 where all are taken."""
        if self.taken >= self._number:
            raise busy(f"There are {self._number} {self._what} at once already, and no more are taken on.")

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
                    raise too_long(most)
                parts.append(chunk)
    except TimeoutError:
        raise too_slow(seconds) from None
    return b"".join(parts)


async def body_chunks(request: Request, seconds: float) -> AsyncIterator[bytes]:
    """The body piece by piece; 408 if a piece does not arrive in time."""
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(seconds):
                chunk = await anext(stream, None)
        except TimeoutError:
            raise too_slow(seconds) from None
        if chunk is None:
            return
        if chunk:
            yield chunk


async def write_body(request: Request, path: Path, most: int, seconds: float) -> int:
    """The body, written down as it comes; its size. 413 if it is too long, 422 if there is none."""
    size = 0
    with path.open("wb") as file:
        async for chunk in body_chunks(request, seconds):
            size += len(chunk)
            if size > most:
                raise too_long(most)
            file.write(chunk)
    if not size:
        raise ApiError(422, "empty", "The body is empty, and it should be the file.")
    return size


def require_length(request: Request, most: int) -> None:
    """413 for a body that says at once that it is too long."""
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > most:
        raise too_long(most)


def too_long(most: int) -> ApiError:
    return ApiError(
        413,
        "too_long",
        f"The body is longer than {most:,} bytes.",
        "Send less at once; whole case files go to /api/v1/uploads.",
        {"Connection": "close"},
    )


def too_slow(seconds: float) -> ApiError:
    return ApiError(
        408, "too_slow", f"The body did not arrive within {seconds:g} seconds.", headers={"Connection": "close"}
    )


async def in_thread(pool: ThreadPoolExecutor, seconds: float, work: Callable[[], T]) -> T:
    """Work that would hold up other requests, done beside them; 408 if it takes too long."""
    future = asyncio.get_running_loop().run_in_executor(pool, work)
    try:
        return await asyncio.wait_for(future, seconds)
    except TimeoutError:
        message = f"The evaluation took longer than {seconds:g} seconds."
        raise ApiError(408, "too_slow", message, "Send a shorter text, or upload a file.") from None
