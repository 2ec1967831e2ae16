"""How far a job is, as server-sent events."""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from synthesis.server.errors import ApiError
from synthesis.server.jobs import OVER, Job, JobFolder
from synthesis.server.schema import EVENTS
from synthesis.server.streams import Stream
from synthesis.server.workbench import workbench_of

PAUSE = 0.1  # seconds between two looks at how far a job is
SILENCE = 15.0  # seconds after which a follower gets a sign of life


def follow(request: Request, folder: JobFolder[Any]) -> Response:
    """Events `progress`, and one `done` when the job is over, all with its state; 429 where too many follow."""
    workbench = workbench_of(request)
    workbench.followers.require_free()

    async def events() -> AsyncIterator[bytes]:
        with workbench.followers.one():
            async for event in _events(folder, request):
                yield event

    return Stream(events(), EVENTS, workbench.settings.timeout)


async def _events(folder: JobFolder[Any], request: Request) -> AsyncIterator[bytes]:
    last: Job | None = None
    spoken = monotonic()
    while not await request.is_disconnected():
        try:
            now: Job = folder.load()
        except ApiError:  # somebody has removed it
            return
        if now.state in OVER:
            yield _event("done", now)
            return
        if now != last:
            yield _event("progress", now)
            last, spoken = now, monotonic()
        elif monotonic() - spoken > SILENCE:
            yield b": still here\n\n"
            spoken = monotonic()
        await asyncio.sleep(PAUSE)


def _event(name: str, job: Job) -> bytes:
    return f"event: {name}\ndata: {msgspec.json.encode(job).decode()}\n\n".encode()
