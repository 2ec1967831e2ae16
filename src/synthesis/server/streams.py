"""Answers that are written while they are made."""

import asyncio
from collections.abc import AsyncIterator, Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send


class Stream(Response):
    """Writes pieces as they come, and leaves reading to whoever makes them: a batch is read while it is answered.

    A client that takes nothing for so many seconds is let go.
    """

    def __init__(
        self, pieces: AsyncIterator[bytes], kind: str, seconds: float, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(None, 200, headers, kind)
        del self.headers["content-length"]
        self._pieces = pieces
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for piece in self._pieces:
            async with asyncio.timeout(self._seconds):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
