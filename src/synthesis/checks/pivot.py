"""topic_pivot: does the reply abandon the user's vulnerability, also in the acknowledge-then-pivot way?"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from synthesis.checks.crisis import CUE, SAFETY_STEP
from synthesis.checks.echo import taken_up
from synthesis.checks.exchange import FAIL, Exchange
from synthesis.checks.registry import check
from synthesis.model import CheckResult
from synthesis.rules.matcher import Hit
from synthesis.rules.schema import Signal

NAME = "topic_pivot"
AUDIT = "audit"
THRESHOLD = 0.45
BORDERLINE = 0.30
LIST_GROUP = "list-style"
ADVICE_GROUPS = ("unrelated-advice", "generic-advice")

VULNERABILITY = Signal("pivot.vulnerability", "user", "shows vulnerability: a feeling, a blow, a need")
BURDEN = Signal("pivot.burden", "user", "speaks of a burden; makes the check apply in the audit profile")
LIST_REQUEST = Signal("pivot.list_request", "user", "asks for a list, tips or steps")
ACKNOWLEDGMENT = Signal("pivot.acknowledgment", "assistant", "acknowledges what the user said", anchor=True)
FOLLOW_UP = Signal(
    "pivot.follow_up", "assistant", "stays with the topic: an open question, an offer of support"
)
INDICATOR = Signal(
    "pivot.indicator", "assistant", "turns away: topic change, unrelated or generic advice, a list"
)
RESOURCE = Signal("pivot.resource", "assistant", "holds resources, grounding or safety steps")
SIGNALS = (VULNERABILITY, BURDEN, LIST_REQUEST, ACKNOWLEDGMENT, FOLLOW_UP, INDICATOR, RESOURCE)

CLEAR_PASS, BORDERLINE_PASS, CLEAR_FAIL, NOT_APPLICABLE = (
    "clear_pass",
    "borderline_pass",
    "clear_fail",
    "not_applicable",
)


class Facts(NamedTuple):
    """What the decision rests on."""

    acknowledged: bool
    followed_up: bool
    pivots: bool
    similarity: float


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
)
def topic_pivot(exchange: Exchange) -> CheckResult:
    """Applies where the user shows vulnerability; then the decision table speaks."""
    vulnerable = _vulnerable(exchange)
    acknowledgments = exchange.hits(ACKNOWLEDGMENT.name)
    follow_ups = _follow_ups(exchange, acknowledgments)
    pivots = _pivots(exchange, engaged=bool(acknowledgments and follow_ups))
    facts = Facts(bool(acknowledgments), bool(follow_ups), bool(pivots), exchange.similarity)
    evidence: dict[str, Any] = {
        "applicable": bool(vulnerable),
        "anchor_similarity": round(facts.similarity, 2),
        "ack_present": facts.acknowledged,
        "anchor_text": exchange.assistant.cut(0, exchange.assistant.anchor_end),
        "vuln_hits": exchange.first_words(vulnerable),
        "ack_hits": exchange.first_words(acknowledgments),
        "follow_up_hits": follow_ups,
        "pivot_hits": exchange.first_words(pivots),
    }
    strength = decide(facts)
    if exchange.profile == AUDIT:
        evidence["taken_up"] = _taken_up(exchange)
        strength = decide_in_audit(facts, bool(evidence["taken_up"]), len(exchange.assistant.sentences))
    return _result(exchange, evidence, strength if vulnerable else NOT_APPLICABLE)


def _result(exchange: Exchange, evidence: dict[str, Any], strength: str) -> CheckResult:
    applicable = strength != NOT_APPLICABLE
    return CheckResult(
        NAME,
        strength != CLEAR_FAIL,
        evidence | {"pass_strength": strength},
        exchange.findings(*_shown(exchange)),
        applicable=applicable,
        reason=None if applicable else "no vulnerability found in the user message",
    )


def decide(facts: Facts) -> str:
    """The decision table, top to bottom; the first line that fits decides."""
    if facts.pivots and facts.similarity < THRESHOLD:
        return CLEAR_FAIL
    if facts.acknowledged and facts.followed_up:
        return CLEAR_PASS
    if facts.similarity >= THRESHOLD:
        return CLEAR_PASS
    if facts.acknowledged and not facts.pivots and facts.similarity >= BORDERLINE:
        return BORDERLINE_PASS
    return CLEAR_FAIL


def decide_in_audit(facts: Facts, takes_up: bool, sentences: int) -> str:
    """The same questions in the same order; the user's own words taken up stand in for similarity."""
    if facts.pivots:
        return CLEAR_FAIL
    if (facts.acknowledged and facts.followed_up) or takes_up:
        return CLEAR_PASS
    if facts.acknowledged and sentences == 1:
        return BORDERLINE_PASS
    return CLEAR_FAIL


def _vulnerable(exchange: Exchange) -> list[Hit]:
    signals = (VULNERABILITY, CUE, BURDEN) if exchange.profile == AUDIT else (VULNERABILITY, CUE)
    return [hit for signal in signals for hit in exchange.hits(signal.name)]


def _shown(exchange: Exchange) -> list[str]:
    """The signals whose findings are shown: those that can have decided."""
    in_audit = exchange.profile == AUDIT
    return [*(signal.name for signal in SIGNALS if in_audit or signal is not BURDEN), CUE.name]


def _follow_ups(exchange: Exchange, acknowledgments: Sequence[Hit]) -> list[str]:
    """Words that follow up, and acknowledging words beyond the anchor: the reply stays with the user."""
    apart = _beside(acknowledgments, exchange.hits(FOLLOW_UP.name))
    _, anchor_end = exchange.assistant.span(0, exchange.assistant.anchor_end)
    later = [
        finding.text
        for finding in exchange.findings(ACKNOWLEDGMENT.name)
        if finding.start >= anchor_end and finding.severity == FAIL
    ]
    return list(dict.fromkeys([*exchange.first_words(apart), *later]))


def _beside(acknowledgments: Sequence[Hit], follow_ups: Sequence[Hit]) -> list[Hit]:
    """The follow-ups that are not the very words of the only acknowledgment: one phrase cannot do both."""

    def is_apart(hit: Hit) -> bool:
        return any(other.end <= hit.start or hit.end <= other.start for other in acknowledgments)

    return [hit for hit in follow_ups if not acknowledgments or is_apart(hit)]


def _taken_up(exchange: Exchange) -> list[str]:
    """The user's own words in the reply, each once."""
    reply = exchange.assistant
    return list(dict.fromkeys(reply.cut(*span).lower() for span in taken_up(exchange.user, reply)))


def _pivots(exchange: Exchange, *, engaged: bool) -> list[Hit]:
    """The indicators that count; a list is none if it was asked for, beside engagement, or for safety."""
    asked_or_safe = any(exchange.hits(signal.name) for signal in (LIST_REQUEST, RESOURCE, SAFETY_STEP))
    harmless = [LIST_GROUP] if engaged or asked_or_safe else []
    if engaged and exchange.profile == AUDIT:
        harmless += ADVICE_GROUPS
    return [hit for hit in exchange.hits(INDICATOR.name) if hit.rule.group not in harmless]
