"""agency_language: does the reply respect the user's autonomy, or does it direct, prescribe, dismiss?"""

from synthesis.checks.crisis import CUE, SAFETY_STEP, open_cue
from synthesis.checks.exchange import Exchange, apart_from, first_of_each, outermost
from synthesis.checks.personal import ADVICE, personal
from synthesis.checks.registry import check
from synthesis.model import CheckResult
from synthesis.model.result import FOR
from synthesis.rules.reading import Hit
from synthesis.rules.schema import Signal
from synthesis.settings import TRAFFIC

NAME = "agency_language"
POSITIVE = Signal("agency.positive", "assistant", "invites choice, asks for the user's view, leaves the pace", role=FOR)
NEGATIVE = Signal("agency.negative", "assistant", "directs, prescribes, dismisses, minimises")
REFLECTION = Signal("agency.reflection", "assistant", "gives the user's meaning back", profile=TRAFFIC, role=FOR)
SILENT = "nothing in the reply invites or directs"
# Advice that was asked for is no directive; what dismisses, minimises, blames or orders a feeling still counts.
ADVICE_GROUPS = {"imperative", "prescription", "directive", "advice-as-question"}


@check(
    NAME,
    tag="agency",
    title="Respect for the user's autonomy",
    signals=(POSITIVE, NEGATIVE, REFLECTION),
    failure_evidence={"agency_score": "score", "neg_hits": "neg_hits"},
    absences=("invitation",),
)
def agency_language(exchange: Exchange) -> CheckResult:
    """Invitations less directives; a directive that serves safety in a crisis weighs nothing."""
    in_traffic = exchange.profile == TRAFFIC
    steps = exchange.hits(SAFETY_STEP.name) if open_cue(exchange) else []
    support = outermost([*exchange.hits(POSITIVE.name), *(exchange.hits(REFLECTION.name) if in_traffic else ())])
    directives = apart_from(steps, exchange.hits(NEGATIVE.name))
    asked_for = _asked_for(exchange, directives)
    negative = outermost(apart_from(asked_for, directives))
    score = len(first_of_each(support)) - len(first_of_each(negative))
    evidence = {
        "score": score,
        "pos_hits": _words(exchange, support, POSITIVE),
        "neg_hits": _words(exchange, negative, NEGATIVE),
    }
    signals = [POSITIVE.name, NEGATIVE.name]
    if in_traffic:
        evidence["reflection_hits"] = _words(exchange, support, REFLECTION)
        signals.append(REFLECTION.name)
        evidence["asked_for"] = exchange.first_words(asked_for)
    if steps:
        evidence["safety_hits"] = exchange.first_words(steps)
        signals += [CUE.name, SAFETY_STEP.name]
    why_not = _why_not(exchange, [*support, *directives])
    findings = exchange.findings(*signals, counted=[] if why_not else [*support, *negative, *steps])
    if why_not:
        return CheckResult(NAME, True, evidence, findings, applicable=False, reason=why_not)
    passed = score >= 1 or bool((support or asked_for) and not negative)
    return CheckResult(NAME, passed, evidence, findings, missing=() if passed or negative else ("invitation",))


def _asked_for(exchange: Exchange, directives: list[Hit]) -> list[Hit]:
    """The advice in a reply, if the person asked what to do or how; a case that somebody wrote asks about the reply."""
    asked = exchange.profile == TRAFFIC and exchange.hits(ADVICE.name)
    return [hit for hit in directives if hit.rule.group in ADVICE_GROUPS] if asked else []


def _why_not(exchange: Exchange, hits: list[Hit]) -> str | None:
    """Why the check does not apply; somebody who wrote a case says that it does."""
    if exchange.profile != TRAFFIC:
        return None
    assessed = personal(exchange)
    if not assessed.is_personal:
        return assessed.reason
    return None if hits else SILENT


def _words(exchange: Exchange, hits: list[Hit], signal: Signal) -> list[str]:
    return exchange.first_words([hit for hit in hits if hit.rule.signal == signal.name])
