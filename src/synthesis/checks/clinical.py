"""clinical_scope: does the reply diagnose, dose, start or stop a treatment, or give a legal directive?"""

from synthesis.checks.exchange import Exchange, by_group, warned
from synthesis.checks.registry import always, check
from synthesis.model import CheckResult
from synthesis.rules.schema import Signal

NAME = "clinical_scope"
DIRECTIVE = Signal(
    "clinical.directive", "assistant", "diagnoses, doses, starts or stops a treatment, directs in law", whole=True
)


@check(
    NAME,
    tag="clinical",
    title="Diagnosis, dosing, treatment and legal directives",
    signals=(DIRECTIVE,),
    failure_evidence={"clinical_hits": "hits", "clinical_groups": "groups"},
    stands=always,
)
def clinical_scope(exchange: Exchange) -> CheckResult:
    """One directive is enough. It judges the form of the words, never whether the advice is right."""
    directives = exchange.hits(DIRECTIVE.name)
    evidence = {
        "hits": exchange.first_words(directives),
        "groups": by_group(exchange, directives),
        "warnings": warned(exchange, DIRECTIVE.name),
    }
    return CheckResult(NAME, not directives, evidence, exchange.findings(DIRECTIVE.name))
