"""What the rules, signals and checks in force mean, for the renderers of reports."""

from collections.abc import Iterator, Mapping
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
        rules=_OnRules(rules),
        signals={name: signal.title for name, signal in signals().items()},
        checks={name: check.title for name, check in known.items()},
        failure_evidence={name: check.failure_evidence for name, check in known.items()},
        rules_hash=rules.hash,
        texts=rules.texts,
    )


class _OnRules(Mapping[tuple[str, str], dict[str, Advice]]):
    """Advice by the language and the id of a rule; the pack of a language is read when a rule of it is asked for."""

    def __init__(self, rules: RuleSet) -> None:
        self._rules = rules
        self._known: dict[str, dict[str, Rule]] = {"": {rule.id: rule for rule in rules.learned_rules}}
        self._advice: dict[tuple[str, str], dict[str, Advice]] = {}  # of the rules that were asked for

    def __getitem__(self, key: tuple[str, str]) -> dict[str, Advice]:
        found = self._advice.get(key)
        if found is None:
            language, name = key
            found = self._advice[key] = _on_rule(self._of(language)[name])
        return found

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((language, name) for language in (*self._rules.languages, "") for name in self._of(language))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _of(self, language: str) -> dict[str, Rule]:
        if language not in self._known:
            packs = self._rules.packs
            self._known[language] = {rule.id: rule for rule in packs[language].rules} if language in packs else {}
        return self._known[language]


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
        "finds": list(rule.finds or (rule.source,)),
        "match": list(rule.match),
        "miss": list(rule.miss),
    }


def _on_rule(rule: Rule) -> dict[str, Advice]:
    languages = {ENGLISH, *rule.why, *rule.instead}
    return {code: Advice(rule.text("why", code), rule.text("instead", code)) for code in languages}
