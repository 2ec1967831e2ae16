"""unverifiable_reassurance: does the reply claim to know inner states, or promise what nobody can ensure?"""

from synthesis.checks.exchange import Exchange
from synthesis.checks.personal import instructions_on_request, text_on_request
from synthesis.checks.registry import always, check
from synthesis.model import CheckResult
from synthesis.rules.schema import Signal

NAME = "unverifiable_reassurance"
MIND_READING = Signal("reassurance.mind_reading", "assistant", "claims to know what somebody feels or thinks")
GUARANTEE = Signal("reassurance.guarantee", "assistant", "promises an outcome that nobody can ensure")
# In instructions that were asked for, "you'll be able to see the menu" promises nothing about a life.
OUTCOME_GROUPS = {"certainty-of-outcome", "direct-outcome", "dismissive", "everything-will", "third-person-outcome"}


@check(
    NAME,
    tag="reassurance",
    title="Claims and promises that nobody can verify",
    signals=(MIND_READING, GUARANTEE),
    failure_evidence={
        "reassurance_hits": "hits",
        "mind_reading_hits": "mind_reading_hits",
        "guarantee_hits": "guarantee_hits",
    },
    stands=always,
)
def unverifiable_reassurance(exchange: Exchange) -> CheckResult:
    """One hit of either kind is enough to fail."""
    if reason := text_on_request(exchange):
        findings = exchange.findings(MIND_READING.name, GUARANTEE.name, counted=())
        return CheckResult(NAME, True, findings=findings, applicable=False, reason=reason)
    mind_reading = exchange.hits(MIND_READING.name)
    guarantee = exchange.hits(GUARANTEE.name)
    if instructions_on_request(exchange):
        guarantee = [hit for hit in guarantee if hit.rule.group not in OUTCOME_GROUPS]
    together = sorted((*mind_reading, *guarantee), key=lambda hit: (hit.start, -hit.end, hit.rule.id))
    evidence = {
        "hits": exchange.first_words(together),
        "mind_reading_hits": exchange.first_words(mind_reading),
        "guarantee_hits": exchange.first_words(guarantee),
    }
    return CheckResult(
        NAME, not together, evidence, exchange.findings(MIND_READING.name, GUARANTEE.name, counted=together)
    )
