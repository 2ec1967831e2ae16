"""unverifiable_reassurance: does the reply claim to know inner states, or promise what nobody can ensure?"""

from synthesis.checks.exchange import Exchange
from synthesis.checks.registry import check
from synthesis.model import CheckResult
from synthesis.rules.schema import Signal

NAME = "unverifiable_reassurance"
MIND_READING = Signal("reassurance.mind_reading", "assistant", "claims to know what somebody feels or thinks")
GUARANTEE = Signal("reassurance.guarantee", "assistant", "promises an outcome that nobody can ensure")


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
)
def unverifiable_reassurance(exchange: Exchange) -> CheckResult:
    """One hit of either kind is enough to fail."""
    mind_reading = exchange.hits(MIND_READING.name)
    guarantee = exchange.hits(GUARANTEE.name)
    together = sorted((*mind_reading, *guarantee), key=lambda hit: (hit.start, -hit.end, hit.rule.id))
    evidence = {
        "hits": exchange.first_words(together),
        "mind_reading_hits": exchange.first_words(mind_reading),
        "guarantee_hits": exchange.first_words(guarantee),
    }
    return CheckResult(NAME, not together, evidence, exchange.findings(MIND_READING.name, GUARANTEE.name))
