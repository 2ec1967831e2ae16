"""Check conversations: one per request, or a stream of lines at constant memory."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from synthesis.chats import SpeakerQuestion
from synthesis.errors import SynthesisError
from synthesis.server.api import JSON, LINES, api_router, described
from synthesis.server.conversations import Conversation, ConversationVerdict, decode, encoded, fields_of
from synthesis.server.http import (
    ApiError,
    Deadline,
    ErrorDetail,
    JsonResponse,
    LineSplitter,
    StreamedResponse,
    as_api_error,
    body_chunks,
    read_body,
)
from synthesis.server.state import ServerState, server_state

router = api_router("check")
EXAMPLES = {
    "a reply": {
        "user": "My sister stopped answering my calls and I feel so alone.",
        "assistant": "That sounds lonely. Would you like to tell me what happened between you?",
    },
    "a conversation": {
        "messages": [
            {"role": "user", "content": "I failed the exam again."},
            {"role": "assistant", "content": "Everything will work out, I promise."},
        ],
        "checks": ["unverifiable_reassurance"],
    },
    "a pasted chat": {"chat": "Anna: My dog died.\nMo: You should get over it.", "speaker": "Mo"},
}


@router.post(
    "/check",
    **described(
        (ConversationVerdict, SpeakerQuestion),
        takes=Conversation,
        examples=EXAMPLES,
        words="The verdict; or a question, for a `chat` that does not say who the assistant is.",
    ),
)
async def check(request: Request) -> Response:
    """Check one conversation: a verdict for each check, with the matched words.

    A `chat` that does not say who the assistant is is answered with a question and its choices: send it again with one
    of them as `speaker`.
    """
    server = server_state(request)
    case = decode(await read_body(request, server.settings.max_body, server.settings.timeout))
    if isinstance(case, SpeakerQuestion):
        return JsonResponse(case)
    return Response(encoded(await server.verdict(case), server), media_type=JSON)


class BatchVerdict(ConversationVerdict, frozen=True, omit_defaults=True, kw_only=True):
    """The verdict on one line."""

    line: int


class BatchQuestion(SpeakerQuestion, frozen=True, kw_only=True):
    """The question about the chat of one line."""

    line: int


class BatchError(msgspec.Struct, frozen=True):
    """Why one line has no verdict; the other lines are not affected."""

    line: Annotated[int, msgspec.Meta(description="Line number, from 1. Empty lines count but get no answer.")]
    error: ErrorDetail


WORDS = "One line per line, in order, sent as soon as it is ready: a verdict, a question about a chat, or an error."


@router.post(
    "/batch",
    **described(
        (BatchVerdict, BatchQuestion, BatchError), words=WORDS, takes=Conversation, takes_type=LINES, gives_type=LINES
    ),
)
async def batch(request: Request) -> Response:
    """Check any number of conversations, one JSON object per line. Read the answers while you send.

    A line of a case file is a conversation. A line that is not valid is answered with an error; the others are checked.
    """
    server = server_state(request)
    server.slots.require_free()
    return StreamedResponse(_answers(request, server), LINES, server.settings.timeout)


async def _answers(request: Request, server: ServerState) -> AsyncIterator[bytes]:
    number = 0
    try:
        with server.slots.one():
            async for line in _lines(request, server):
                number += 1
                if answered := await _answer(line, number, server):
                    yield answered
    except ApiError as error:
        yield _line(BatchError(number + 1, error.detail))


async def _lines(request: Request, server: ServerState) -> AsyncIterator[bytes | None]:
    """The lines of the body. Those of a chunk are answered before the next is read, so that memory stays constant."""
    splitter = LineSplitter(server.settings.max_body)
    deadline = Deadline(server.settings.timeout)
    async for chunk in body_chunks(request, deadline):
        for line in splitter.feed(chunk):
            yield line
            deadline.renew()  # each line gets the full timeout, however long the answers before it took
    for line in splitter.rest():
        yield line


async def _answer(line: bytes | None, number: int, server: ServerState) -> bytes:
    """The answer to one line; nothing for an empty one."""
    await asyncio.sleep(0)  # lets other requests run between two lines
    if line is None:
        most = server.settings.max_body
        return _line(BatchError(number, ErrorDetail("too_long", f"The line is longer than {most:,} bytes.")))
    if not line or line.isspace():
        return b""
    try:
        case = decode(line)
        if isinstance(case, SpeakerQuestion):
            return _line({"line": number, **case.to_dict()})
        result = await server.result(case)
    except (ApiError, SynthesisError) as error:
        return _line(BatchError(number, as_api_error(error).detail))
    return _line({"line": number, **fields_of(result, server)})


def _line(content: object) -> bytes:
    return msgspec.json.encode(content) + b"\n"
