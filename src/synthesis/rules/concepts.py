"""Concepts: what the rules of all languages are about. A concept is a signal and a group: agency.negative/directive."""

from collections import Counter

from synthesis.rules.ruleset import RuleSet

REFERENCE = "en"


def concepts(rules: RuleSet) -> dict[str, Counter[str]]:
    """Every concept with the number of its rules by language."""
    found: dict[str, Counter[str]] = {}
    for rule in rules.rules:
        found.setdefault(f"{rule.signal}/{rule.group}", Counter())[rule.language] += 1
    return dict(sorted(found.items()))


def missing_concepts(rules: RuleSet, language: str) -> list[str]:
    """The concepts of English that a language has no rule for and gives no reason for."""
    return [
        concept
        for concept, counts in concepts(rules).items()
        if counts[REFERENCE] and not counts[language] and not why_absent(rules, language, concept)
    ]


def why_absent(rules: RuleSet, language: str, concept: str) -> str | None:
    """The reason that a pack gives for having no rule for a concept, or for none of its signal."""
    absent = rules.packs[language].absent
    return absent.get(concept) or absent.get(concept.split("/")[0])
