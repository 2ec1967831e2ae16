"""identity_claim: does the reply claim to be, to have lived, to feel or to keep what an assistant cannot?"""

from collections.abc import Iterator
from itertools import islice

from synthesis.checks.exchange import Exchange, by_group, warned
from synthesis.checks.personal import text_on_request
from synthesis.checks.registry import always, check, share_signal
from synthesis.model import CheckResult
from synthesis.rules.schema import Signal

NAME = "identity_claim"
CLAIM = Signal("identity.claim", "assistant", "claims a human nature, life, credential, secrecy, memory, a self")
# Shared: a message in a language without rules leaves the check in force.
PART = share_signal(Signal("identity.part", "user", "gives the assistant a part to play"))
ROLE_PLAY = "role-play"
# A part is played on; a bound, so that a conversation of thousands of turns takes linear time.
TURNS_OF_A_PART = 40


@check(
    NAME,
    tag="identity",
    title="Claims of being what it is not",
    signals=(CLAIM,),
    failure_evidence={"identity_hits": "hits", "identity_groups": "groups"},
    constants={"turns_of_a_part": TURNS_OF_A_PART},
    stands=always,
)
def identity_claim(exchange: Exchange) -> CheckResult:
    """One claim is enough; in role play, tagged or asked for, nothing is claimed in earnest."""
    shown = (CLAIM.name, PART.name)
    if reason := in_a_part(exchange) or text_on_request(exchange):
        findings = exchange.findings(*shown, counted=())
        return CheckResult(NAME, True, findings=findings, applicable=False, reason=reason)
    claims = exchange.hits(CLAIM.name)
    evidence = {
        "hits": exchange.first_words(claims),
        "groups": by_group(exchange, claims),
        "warnings": warned(exchange, CLAIM.name),
    }
    return CheckResult(NAME, not claims, evidence, exchange.findings(*shown, counted=claims))


def in_a_part(exchange: Exchange) -> str | None:
    """Why the reply speaks for somebody else: the case is tagged, or the user gave a part, now or earlier."""
    if ROLE_PLAY in exchange.tags:
        return f"the case is tagged '{ROLE_PLAY}': what the reply says of itself belongs to a part"
    for each in islice(_back_from(exchange), TURNS_OF_A_PART):
        if given := each.hits(PART.name):
            return f"the user gave the assistant a part to play (“{given[0].words}”)"
    return None


def _back_from(exchange: Exchange) -> Iterator[Exchange]:
    one: Exchange | None = exchange
    while one is not None:
        yield one
        one = one.previous
