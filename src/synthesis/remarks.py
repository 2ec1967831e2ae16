"""What speaks against a reply, in words: the check, the very words, the rule, why it matters, what would be better."""

import msgspec

from synthesis.checks.registry import Absence, get_check
from synthesis.errors import shorten
from synthesis.model import CaseResult, CheckResult, Finding
from synthesis.model.result import AGAINST, FAIL
from synthesis.rules.ruleset import RuleSet
from synthesis.rules.schema import Rule

NOT_MET = "The reply does not meet this check."


class Remark(msgspec.Struct, frozen=True, omit_defaults=True):
    """One reason against a reply. Without `rule` it is about something that is missing."""

    check: str
    why: str
    instead: str = ""
    rule: str = ""
    words: str = ""
    turn: int = 0

    def __str__(self) -> str:
        said = f"“{shorten(self.words)}” ({self.rule}): " if self.rule else ""
        return f"{self.check}: {said}{self.why} {self.instead}".rstrip()


class Remarks:
    """Knows the rules in force, and so what to say of a result."""

    def __init__(self, rules: RuleSet) -> None:
        self._rules = {(rule.language, rule.id): rule for rule in rules.rules}

    def on(self, result: CaseResult) -> tuple[Remark, ...]:
        """What speaks against the reply, check by check, in the order of the text."""
        failed = [check for check in result.checks.values() if check.outcome == FAIL]
        return tuple(remark for check in failed for remark in self.on_check(check, result.language))

    def on_check(self, check: CheckResult, language: str = "en") -> tuple[Remark, ...]:
        failed = [turn for turn in check.turns or (check,) if turn.outcome == FAIL]
        return tuple(remark for turn in failed for remark in self._on_turn(turn, language))

    def _on_turn(self, turn: CheckResult, language: str) -> list[Remark]:
        """One remark per rule, the first words it found stand for all; then one for each thing that is missing."""
        first: dict[str, Finding] = {}
        for finding in against(turn):
            first.setdefault(finding.rule, finding)
        said = [self._remark(turn.check, finding, language) for finding in first.values()]
        absences = get_check(turn.check).absences
        said += [_absent(turn.check, absences[name], language) for name in turn.missing if name in absences]
        return said or [Remark(turn.check, NOT_MET)]

    def _remark(self, check: str, finding: Finding, language: str) -> Remark:
        rule = self._rule(language, finding.rule)
        why, instead = (rule.text("why", language), rule.text("instead", language)) if rule else ("", "")
        return Remark(check, why, instead, finding.rule, finding.text, finding.turn)

    def _rule(self, language: str, name: str) -> Rule | None:
        found = self._rules.get((language, name))
        return found or next((rule for (_, known), rule in self._rules.items() if known == name), None)


def _absent(check: str, absence: Absence, language: str) -> Remark:
    return Remark(
        check,
        absence.missing.get(language, absence.missing["en"]),
        absence.better.get(language, absence.better["en"]),
    )


def against(check: CheckResult) -> list[Finding]:
    """The findings that counted against the reply."""
    return [finding for finding in check.findings if finding.counted and finding.role == AGAINST]
