"""Check one conversation."""

from starlette.requests import Request
from starlette.responses import Response

from synthesis.server.api.routing import api_router
from synthesis.server.conversation import Conversation, Verdict, decode, encoded
from synthesis.server.limits import read_body
from synthesis.server.schema import JSON, described
from synthesis.server.workbench import workbench_of

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
}


@router.post("/check", **described(Verdict, takes=Conversation, examples=EXAMPLES, words="The verdict."))
async def check(request: Request) -> Response:
    """Check one conversation: a verdict for each check, with the very words behind it."""
    workbench = workbench_of(request)
    case = decode(await read_body(request, workbench.settings.max_body, workbench.settings.timeout))
    return Response(encoded(await workbench.verdict(case), workbench), media_type=JSON)
