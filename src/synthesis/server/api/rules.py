"""The rules, the checks and the languages; trying a rule of your own; liveness, readiness and metrics."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from synthesis.checks.registry import checks
from synthesis.server.api import DirectRoute, api_router, described
from synthesis.server.http import JsonResponse, decode_as, read_body
from synthesis.server.rulebook import OwnRule, RuleDetail, RuleSummary, Trial, try_rule
from synthesis.server.state import server_state

router = api_router("rules")
EXAMPLES = {"a wording": {"patterns": ["(?:it|that) (?:is|was) not that bad"], "language": "en", "where": "assistant"}}


class RuleList(msgspec.Struct, frozen=True):
    """A page of the rules that match, by language and id; `total` counts all of them."""

    total: int
    rules: list[RuleSummary]


class SignalNote(msgspec.Struct, frozen=True):
    """A kind of finding that a check decides by."""

    name: str
    where: str
    title: str


class CheckNote(msgspec.Struct, frozen=True):
    """A check: its name, what it asks, and the signals that it reads."""

    name: str
    title: str
    tag: str
    signals: list[SignalNote]


class LanguageNote(msgspec.Struct, frozen=True):
    """A language with rules."""

    code: str
    name: str
    rules: int
    version: str
    licence: str


@router.get("/rules", **described(RuleList, words="The rules that match."))
async def list_rules(
    request: Request,
    lang: Annotated[str, Query(description="Only this language.", examples=["en"])] = "",
    check: Annotated[str, Query(description="Only rules of this check.", examples=["topic_pivot"])] = "",
    q: Annotated[str, Query(max_length=200, description="Words in id, reason, patterns or examples.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000, description="Maximum number of rules.")] = 100,
    offset: Annotated[int, Query(ge=0, le=1_000_000, description="Number of rules to skip.")] = 0,
) -> Response:
    """List rules, by language, check and words."""
    book = server_state(request).rulebook
    found = book.find(lang, check, q)
    return JsonResponse(RuleList(len(found), [book.summary(rule) for rule in found[offset : offset + limit]]))


@router.get("/rules/{lang}/{rule_id}", **described(RuleDetail, words="The rule."))
async def show_rule(
    request: Request,
    lang: Annotated[str, Path(description="Language code.", examples=["en"])],
    rule_id: Annotated[str, Path(description="Id of the rule.", examples=["agency.negative.you-should"])],
) -> Response:
    """Explain one rule: what it finds, why, what would be better, and its proof."""
    book = server_state(request).rulebook
    return JsonResponse(book.detail(book.rule(lang, rule_id)))


@router.post("/rules/try", **described(Trial, takes=OwnRule, examples=EXAMPLES, words="What it matches."))
async def try_own(request: Request) -> Response:
    """Try a rule of your own on the bundled cases. A pattern that could take long is refused."""
    server = server_state(request)
    settings = server.settings
    own = decode_as(OwnRule, await read_body(request, settings.max_body, settings.timeout))
    with server.slots.one():
        return JsonResponse(await server.in_thread(lambda: try_rule(own, server.rules)))


@router.get("/checks", **described(list[CheckNote], words="All checks."))
async def list_checks() -> Response:
    """List the checks, and the signals that each reads."""
    return JsonResponse(
        [
            CheckNote(
                check.name,
                check.title,
                check.tag,
                [SignalNote(signal.name, signal.where, signal.title) for signal in check.signals],
            )
            for check in checks().values()
        ]
    )


@router.get("/languages", **described(list[LanguageNote], words="All languages."))
async def list_languages(request: Request) -> Response:
    """List the languages that have rules."""
    packs = server_state(request).rules.packs
    return JsonResponse(
        [
            LanguageNote(code, pack.spoken.name, len(pack.rules), pack.version, pack.licence)
            for code, pack in sorted(packs.items())
        ]
    )


# Liveness, readiness and metrics: outside the versioned API, so without its prefix and its schema.


health_router = APIRouter(include_in_schema=False, route_class=DirectRoute)
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_ALIVE = PlainTextResponse("alive\n")
_READY = PlainTextResponse("ready\n")


@health_router.get("/healthz")
async def healthz(request: Request) -> Response:  # noqa: ARG001
    """Answers as long as the process runs."""
    return _ALIVE


@health_router.get("/readyz")
async def readyz(request: Request) -> Response:
    """Answers once the rules are loaded."""
    assert server_state(request).is_ready
    return _READY


@health_router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Counts for Prometheus."""
    return Response(server_state(request).metrics.exposition(), media_type=PROMETHEUS)
