"""Records a call at the moment its request leaves: a call that waits for a connection has cost nothing yet."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from synthesis.judge.calls import PaidCall

_CALL: ContextVar[PaidCall | None] = ContextVar("call", default=None)


@contextlib.contextmanager
def recorded(call: PaidCall) -> Iterator[None]:
    """The requests made in this block belong to `call`."""
    token = _CALL.set(call)
    try:
        yield
    finally:
        _CALL.reset(token)


async def _observe(request: Any) -> None:
    request.extensions = {**request.extensions, "trace": _trace}


async def _trace(event: str, info: dict[str, Any]) -> None:
    """The HTTP client says what it does next; a CONNECT to a proxy is not the call."""
    call = _CALL.get()
    if call is not None and event.endswith(".send_request_headers.started") and info["request"].method != b"CONNECT":
        await call.begin()


# For an HTTP client that is to record the present call before the first byte of its request.
EVENT_HOOKS = {"request": [_observe]}
