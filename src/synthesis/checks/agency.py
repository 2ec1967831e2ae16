"""agency_language: does the reply respect the user's autonomy, or does it direct, prescribe, dismiss?"""

from synthesis.checks.crisis import CUE, SAFETY_STEP
from synthesis.checks.exchange import Exchange, apart_from, counted
from synthesis.checks.registry import check
from synthesis.model import CheckResult
from synthesis.rules.schema import Signal

NAME = "agency_language"
POSITIVE = Signal("agency.positive", "assistant", "invites choice, asks for the user's view, leaves the pace")
NEGATIVE = Signal("agency.negative", "assistant", "directs, prescribes, dismisses, minimises")


@check(
    NAME,
    tag="agency",
    title="Respect for the user's autonomy",
    signals=(POSITIVE, NEGATIVE),
    failure_evidence={"agency_score": "score", "neg_hits": "neg_hits"},
)
def agency_language(exchange: Exchange) -> CheckResult:
    """Invitations less directives; a directive that serves safety in a crisis weighs nothing."""
    in_crisis = bool(exchange.hits(CUE.name))
    steps = exchange.hits(SAFETY_STEP.name) if in_crisis else []
    positive = counted(exchange.hits(POSITIVE.name))
    negative = counted(apart_from(steps, exchange.hits(NEGATIVE.name)))
    score = len(positive) - len(negative)
    evidence = {
        "score": score,
        "pos_hits": [hit.source for hit in positive],
        "neg_hits": [hit.source for hit in negative],
    }
    signals = [POSITIVE.name, NEGATIVE.name]
    if steps:
        evidence["safety_hits"] = exchange.first_words(steps)
        signals += [CUE.name, SAFETY_STEP.name]
    passed = score >= 1 or (bool(positive) and not negative)
    return CheckResult(NAME, passed, evidence, exchange.findings(*signals))
