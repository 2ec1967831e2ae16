"""What the rules, signals and checks in force mean, for those who draw reports."""

from synthesis.checks.registry import checks, signals
from synthesis.report.glossary import Advice, Glossary
from synthesis.rules.ruleset import RuleSet


def glossary_of(rules: RuleSet) -> Glossary:
    """The words for everything that a report made with these rules can name."""
    return Glossary(
        advice={(rule.language, rule.id): Advice(rule.text("why"), rule.text("instead")) for rule in rules.rules},
        signals={name: signal.title for name, signal in signals().items()},
        checks={name: check.title for name, check in checks().items()},
        read_by={signal.name: check.name for check in checks().values() for signal in check.signals},
        rules_hash=rules.hash,
    )
