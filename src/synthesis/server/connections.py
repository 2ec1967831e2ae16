"""Connections whose request heads arrive slowly, or never end.

uvicorn waits for a head as long as the client likes and keeps all of it, so a few clients that send one byte now and
then could hold every connection. Here a head has `--timeout` seconds and 64 KB. Bodies have limits of their own
(`bodies`).
"""

import asyncio
import logging
from http import HTTPStatus
from typing import Any

import msgspec
import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from synthesis.server.http import ErrorBody, ErrorDetail
from synthesis.server.security import HEADERS

MOST_HEAD = 64 << 10  # bytes; browsers and proxies stay below 16 KB
ENDING = "ending"  # the key in a request's state of the event that is set when the server is asked to end


class ServerConfig(uvicorn.Config):
    """uvicorn's settings, and the seconds that a head may take."""

    def __init__(self, app: Any, *, head_timeout: float, **settings: Any) -> None:
        super().__init__(app, http=LimitedProtocol, **settings)
        self.head_timeout = head_timeout


class LimitedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """One connection. The base is chosen by uvicorn when it is imported: httptools, or h11 where that is missing."""

    def __init__(self, config: ServerConfig, *args: Any, **named: Any) -> None:
        super().__init__(config, *args, **named)
        self._head_timeout = config.head_timeout
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_size = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
            return
        self._await_head()
        # After an early answer the client may still send the body that it announced: not a head, so it may be long.
        self._head_size += 0 if self._is_unread_body else len(data)
        if self._head_size > MOST_HEAD:
            self._refuse(431, ErrorDetail("head_too_long", f"The headers are longer than {MOST_HEAD:,} bytes."))

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """uvicorn calls this when the server is asked to end; requests that could last for hours look at the event."""
        self.app_state[ENDING].set()
        self.logger.setLevel(logging.CRITICAL)  # it would log a traceback for each request that is cut off now
        super().shutdown()

    @property
    def _is_unread_body(self) -> bool:
        return self.cycle is not None and bool(self.cycle.more_body)

    def _await_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self._head_timeout, self._give_up)

    def _stop_waiting(self) -> None:
        self._head_size = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        if self._is_unread_body:
            self.transport.close()  # it has its answer
        else:
            words = f"The headers did not arrive within {self._head_timeout:g} seconds."
            self._refuse(408, ErrorDetail("too_slow", words))

    def _refuse(self, status: int, detail: ErrorDetail) -> None:
        """Answer without the application, which sees a request only when its head is complete."""
        if self.transport.is_closing():
            return
        body = msgspec.json.encode(ErrorBody(detail))
        headers = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
            **HEADERS,
        }
        lines = [
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        self.transport.close()
