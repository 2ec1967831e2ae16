"""The progress of a job as server-sent events.

The state file is polled: the job runs in another process, possibly of another worker, and nothing else connects them.
"""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from synthesis.server.api.routing import EVENTS
from synthesis.server.bodies import StreamedResponse
from synthesis.server.connections import ENDING
from synthesis.server.errors import ApiError
from synthesis.server.jobs import OVER, Job, JobFolder
from synthesis.server.state import server_state

PAUSE = 0.1  # seconds between two reads of the state file
SILENCE = 15.0  # seconds without an event before a comment keeps the connection alive


def follow(request: Request, folder: JobFolder[Any]) -> Response:
    """Events `progress`, and one `done` when the job is over, all with its state; 429 if too many clients follow."""
    server = server_state(request)
    server.followers.require_free()

    async def events() -> AsyncIterator[bytes]:
        with server.followers.one():
            async for event in _events(folder, request):
                yield event

    return StreamedResponse(events(), EVENTS, server.settings.timeout)


async def _events(folder: JobFolder[Any], request: Request) -> AsyncIterator[bytes]:
    last: Job | None = None
    sent = monotonic()
    ending: asyncio.Event = getattr(request.state, ENDING)  # a job can outlast the time that the server has to end
    while not ending.is_set() and not await request.is_disconnected():
        try:
            now: Job = folder.load()
        except ApiError:  # it was removed
            return
        if now.state in OVER:
            yield _event("done", now)
            return
        if now != last:
            yield _event("progress", now)
            last, sent = now, monotonic()
        elif monotonic() - sent > SILENCE:
            yield b": still here\n\n"
            sent = monotonic()
        await asyncio.sleep(PAUSE)


def _event(name: str, job: Job) -> bytes:
    return f"event: {name}\ndata: {msgspec.json.encode(job).decode()}\n\n".encode()
