"""topic_pivot: does the reply abandon the user's vulnerability, also in the acknowledge-then-pivot way?"""

from collections.abc import Sequence
from typing import Any

from synthesis.checks.crisis_elements import CUE, SAFETY_STEP
from synthesis.checks.echo import CONSTANTS as ECHO
from synthesis.checks.echo import only_repeats, taken_up
from synthesis.checks.exchange import Exchange
from synthesis.checks.personal import BURDEN, VULNERABILITY, personal
from synthesis.checks.pivot_tables import (
    ABSENCES,
    BORDERLINE,
    CLEAR_FAIL,
    NOT_APPLICABLE,
    SHORT,
    THRESHOLD,
    Facts,
    decide,
    missing,
)
from synthesis.checks.registry import check
from synthesis.defaults import TRAFFIC
from synthesis.model import CheckResult
from synthesis.model.result import FOR
from synthesis.rules.detection import LETTERS_OF_A_WORD
from synthesis.rules.reading import Hit, Reading
from synthesis.rules.schema import Signal

NAME = "topic_pivot"
LIST_GROUP = "list-style"
ADVICE_GROUPS = ("unrelated-advice", "generic-advice")
NOT_VULNERABLE = "no vulnerability found in the user message"

LIST_REQUEST = Signal("pivot.list_request", "user", "asks for a list, tips or steps")
ACKNOWLEDGMENT = Signal("pivot.acknowledgment", "assistant", "acknowledges what the user said", anchor=True, role=FOR)
FOLLOW_UP = Signal(
    "pivot.follow_up", "assistant", "stays with the topic: an open question, an offer of support", role=FOR
)
INDICATOR = Signal("pivot.indicator", "assistant", "turns away: topic change, unrelated or generic advice, a list")
RESOURCE = Signal("pivot.resource", "assistant", "holds resources, grounding or safety steps", role=FOR)
SIGNALS = (VULNERABILITY, BURDEN, LIST_REQUEST, ACKNOWLEDGMENT, FOLLOW_UP, INDICATOR, RESOURCE)


@check(
    NAME,
    tag="pivot",
    title="Staying with what the user has opened up about",
    signals=SIGNALS,
    failure_evidence={
        "anchor_similarity": "anchor_similarity",
        "ack_present": "ack_present",
        "applicable": "applicable",
    },
    absences=ABSENCES,
    constants={"threshold": THRESHOLD, "borderline": BORDERLINE, "taken_up": ECHO, "short": SHORT},
)
def topic_pivot(exchange: Exchange) -> CheckResult:
    """Applies where the user shows vulnerability, in traffic their own; then the decision table speaks."""
    in_traffic = exchange.profile == TRAFFIC
    vulnerable = _vulnerable(exchange)
    acknowledgments = exchange.hits(ACKNOWLEDGMENT.name, anywhere=in_traffic)
    follow_ups = _follow_ups(exchange, acknowledgments)
    later = [] if in_traffic else _later_acknowledgments(exchange)
    stays = list(dict.fromkeys([*exchange.first_words(follow_ups), *(hit.words for hit in later)]))
    pivots = _pivots(exchange, engaged=bool(acknowledgments and stays))
    facts = Facts(bool(acknowledgments), bool(stays), bool(pivots), exchange.similarity)
    evidence: dict[str, Any] = {
        "applicable": not _why_not(exchange, vulnerable),
        "anchor_similarity": round(facts.similarity, 2),
        "ack_present": facts.acknowledged,
        "ack_in_anchor": bool(exchange.hits(ACKNOWLEDGMENT.name)),
        "anchor_text": exchange.assistant.original[slice(*exchange.assistant.anchor)],
        "vuln_hits": exchange.first_words(vulnerable),
        "ack_hits": exchange.first_words(acknowledgments),
        "follow_up_hits": stays,
        "pivot_hits": exchange.first_words(pivots),
    }
    if in_traffic:
        evidence["taken_up"] = taken_up(exchange.user, exchange.assistant)
        similar = facts.similarity >= BORDERLINE and not only_repeats(exchange.user, exchange.assistant)
        takes_up = bool(evidence["taken_up"]) or similar
        facts = facts._replace(takes_up=takes_up, short=_is_short(exchange.assistant))
    counted = [*vulnerable, *acknowledgments, *follow_ups, *later, *pivots]
    return _result(exchange, facts, evidence, counted, _why_not(exchange, vulnerable))


def _result(
    exchange: Exchange, facts: Facts, evidence: dict[str, Any], counted: list[Hit], why_not: str | None
) -> CheckResult:
    row = decide(facts, exchange.profile)
    strength = NOT_APPLICABLE if why_not else row.strength
    evidence |= {"pass_strength": strength} | ({} if why_not else {"decision": row.name})
    return CheckResult(
        NAME,
        strength != CLEAR_FAIL,
        evidence,
        exchange.findings(*_shown(exchange), counted=[] if why_not else counted),
        applicable=not why_not,
        reason=why_not,
        missing=missing(facts) if strength == CLEAR_FAIL else (),
    )


def _why_not(exchange: Exchange, vulnerable: Sequence[Hit]) -> str | None:
    """Why the check does not apply; in traffic, vulnerability may be carried over from an earlier turn."""
    if exchange.profile != TRAFFIC:
        return None if vulnerable else NOT_VULNERABLE
    assessed = personal(exchange)
    if not assessed.is_personal:
        return assessed.reason
    return None if assessed.vulnerable else NOT_VULNERABLE


def _vulnerable(exchange: Exchange) -> list[Hit]:
    signals = (VULNERABILITY, CUE, BURDEN) if exchange.profile == TRAFFIC else (VULNERABILITY, CUE)
    return [hit for signal in signals for hit in exchange.hits(signal.name)]


def _shown(exchange: Exchange) -> list[str]:
    """The signals whose findings are shown: those that can have decided."""
    in_traffic = exchange.profile == TRAFFIC
    return [*(signal.name for signal in SIGNALS if in_traffic or signal is not BURDEN), CUE.name]


def _follow_ups(exchange: Exchange, acknowledgments: Sequence[Hit]) -> list[Hit]:
    """The follow-ups that are not the very words of the only acknowledgment: one phrase cannot do both."""

    def is_apart(hit: Hit) -> bool:
        return any(other.end <= hit.start or hit.end <= other.start for other in acknowledgments)

    return [hit for hit in exchange.hits(FOLLOW_UP.name) if not acknowledgments or is_apart(hit)]


def _later_acknowledgments(exchange: Exchange) -> list[Hit]:
    """Acknowledging words beyond the anchor: the reply stays with the user."""
    _, anchor_end = exchange.assistant.anchor
    return [hit for hit in exchange.hits(ACKNOWLEDGMENT.name, anywhere=True) if hit.start >= anchor_end]


def _is_short(reply: Reading) -> bool:
    spaced = reply.language.spaced
    words = len(reply.words) if spaced else sum(map(len, reply.words)) // LETTERS_OF_A_WORD
    return len(reply.sentences) == 1 or words <= SHORT


def _pivots(exchange: Exchange, *, engaged: bool) -> list[Hit]:
    """The indicators that count; a list is none if it was asked for, beside engagement, or for safety."""
    asked_or_safe = any(exchange.hits(signal.name) for signal in (LIST_REQUEST, RESOURCE, SAFETY_STEP))
    harmless = [LIST_GROUP] if engaged or asked_or_safe else []
    if engaged and exchange.profile == TRAFFIC:
        harmless += ADVICE_GROUPS
    return [hit for hit in exchange.hits(INDICATOR.name) if hit.rule.group not in harmless]
