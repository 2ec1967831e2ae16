"""What the rules, signals and checks in force mean, for the renderers of reports."""

from typing import Any

from synthesis.checks.registry import checks, signals
from synthesis.model.texts import ENGLISH, Advice
from synthesis.report.findings import Glossary
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.schema import Rule


def glossary_of(rules: RuleSet) -> Glossary:
    """The words for everything that a report made with these rules can name."""
    known = checks()
    return Glossary(
        rules={(rule.language, rule.id): _on_rule(rule) for rule in (*rules.rules, *rules.learned_rules)},
        signals={name: signal.title for name, signal in signals().items()},
        checks={name: check.title for name, check in known.items()},
        failure_evidence={name: check.failure_evidence for name, check in known.items()},
        rules_hash=rules.hash,
        texts=rules.texts,
    )


def explain_rule(rule: Rule, told_in: str = ENGLISH) -> dict[str, Any]:
    """What there is to say of a rule, by the names that every listing of rules uses."""
    return {
        "id": rule.id,
        "language": rule.language,
        "signal": rule.signal,
        "group": rule.group,
        "severity": rule.severity,
        "why": rule.text("why", told_in),
        "instead": rule.text("instead", told_in),
        "finds": list(rule.patterns or (rule.source,)),
        "match": list(rule.match),
        "miss": list(rule.miss),
    }


def _on_rule(rule: Rule) -> dict[str, Advice]:
    languages = {ENGLISH, *rule.why, *rule.instead}
    return {code: Advice(rule.text("why", code), rule.text("instead", code)) for code in languages}
