"""Check many conversations: lines in, lines out, at constant memory."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from synthesis.errors import SynthesisError
from synthesis.server.api.routing import api_router
from synthesis.server.conversation import Conversation, Verdict, decode, fields_of
from synthesis.server.errors import ApiError, ErrorDetail, as_api_error
from synthesis.server.limits import body_chunks
from synthesis.server.lines import LineSplitter
from synthesis.server.schema import LINES, described
from synthesis.server.streams import Stream
from synthesis.server.workbench import Workbench, workbench_of

router = api_router("check")


class BatchVerdict(Verdict, frozen=True, omit_defaults=True, kw_only=True):
    """The verdict on one line."""

    line: int


class BatchError(msgspec.Struct, frozen=True):
    """Why there is no verdict on one line; the others go on."""

    line: Annotated[int, msgspec.Meta(description="Lines count from 1; empty ones count, and have no answer.")]
    error: ErrorDetail


WORDS = "A line for each line, in their order, written as soon as it is there: a verdict or an error."


@router.post(
    "/batch",
    **described((BatchVerdict, BatchError), words=WORDS, takes=Conversation, takes_type=LINES, gives_type=LINES),
)
async def batch(request: Request) -> Response:
    """Check many conversations, one JSON object per line, as many as you like. Read the answers while you send.

    A line of a case file is a conversation. A line that cannot be used is answered with an error, and the others go on.
    """
    workbench = workbench_of(request)
    workbench.slots.require_free()
    return Stream(_answers(request, workbench), LINES, workbench.settings.timeout)


async def _answers(request: Request, workbench: Workbench) -> AsyncIterator[bytes]:
    """The lines that each chunk of the body brings, answered before the next chunk is read."""
    splitter = LineSplitter(workbench.settings.max_body)
    number = 0
    try:
        with workbench.slots.one():
            async for chunk in body_chunks(request, workbench.settings.timeout):
                for line in splitter.feed(chunk):
                    number += 1
                    if answered := await _answer(line, number, workbench):
                        yield answered
            for line in splitter.rest():
                number += 1
                if answered := await _answer(line, number, workbench):
                    yield answered
    except ApiError as error:
        yield _line(BatchError(number + 1, error.detail))


async def _answer(line: bytes | None, number: int, workbench: Workbench) -> bytes:
    """The answer to one line; nothing for an empty one. Other requests get their turn in between."""
    await asyncio.sleep(0)
    if line is None:
        most = workbench.settings.max_body
        return _line(BatchError(number, ErrorDetail("too_long", f"The line is longer than {most:,} bytes.")))
    if not line or line.isspace():
        return b""
    try:
        result = await workbench.result(decode(line))
    except (ApiError, SynthesisError) as error:
        return _line(BatchError(number, as_api_error(error).detail))
    return _line({"line": number, **fields_of(result, workbench)})


def _line(content: object) -> bytes:
    return msgspec.json.encode(content) + b"\n"
