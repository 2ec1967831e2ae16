"""agency_language: does the reply respect the user's autonomy, or does it direct, prescribe, dismiss?"""

from synthesis.checks.crisis import CUE, SAFETY_STEP
from synthesis.checks.exchange import Exchange, apart_from, counted
from synthesis.checks.registry import check
from synthesis.model import CheckResult
from synthesis.rules.matcher import Hit
from synthesis.rules.schema import Signal

NAME = "agency_language"
AUDIT = "audit"
POSITIVE = Signal("agency.positive", "assistant", "invites choice, asks for the user's view, leaves the pace")
NEGATIVE = Signal("agency.negative", "assistant", "directs, prescribes, dismisses, minimises")
REFLECTION = Signal("agency.reflection", "assistant", "gives the user's meaning back", profile="audit")
SILENT = "nothing in the reply invites or directs"


@check(
    NAME,
    tag="agency",
    title="Respect for the user's autonomy",
    signals=(POSITIVE, NEGATIVE, REFLECTION),
    failure_evidence={"agency_score": "score", "neg_hits": "neg_hits"},
)
def agency_language(exchange: Exchange) -> CheckResult:
    """Invitations less directives; a directive that serves safety in a crisis weighs nothing."""
    is_audit = exchange.profile == AUDIT
    steps = exchange.hits(SAFETY_STEP.name) if exchange.hits(CUE.name) else []
    support = counted([*exchange.hits(POSITIVE.name), *(exchange.hits(REFLECTION.name) if is_audit else ())])
    negative = counted(apart_from(steps, exchange.hits(NEGATIVE.name)))
    score = len(support) - len(negative)
    evidence = {
        "score": score,
        "pos_hits": _sources(support, POSITIVE),
        "neg_hits": _sources(negative, NEGATIVE),
    }
    signals = [POSITIVE.name, NEGATIVE.name]
    if is_audit:
        evidence["reflection_hits"] = _sources(support, REFLECTION)
        signals.append(REFLECTION.name)
    if steps:
        evidence["safety_hits"] = exchange.first_words(steps)
        signals += [CUE.name, SAFETY_STEP.name]
    findings = exchange.findings(*signals)
    if is_audit and not support and not negative:
        return CheckResult(NAME, True, evidence, findings, applicable=False, reason=SILENT)
    return CheckResult(NAME, score >= 1 or bool(support and not negative), evidence, findings)


def _sources(hits: list[Hit], signal: Signal) -> list[str]:
    return [hit.source for hit in hits if hit.rule.signal == signal.name]
