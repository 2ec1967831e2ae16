"""What came of a case: findings, a verdict per check, an outcome. Frozen, no I/O."""

from typing import Any

import msgspec

from synthesis.model.case import Source

PASS, FAIL, NOT_APPLICABLE, ERROR = "pass", "fail", "not_applicable", "error"
FOR, AGAINST, CONTEXT = "for", "against", "context"  # what a finding says about a reply


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A rule that fired: which, for which signal, and the very words (code points of the original text).

    `role` is what its signal says about a reply; `counted` means that it took part in the verdict of a check. Reports
    before format version 2 recorded neither, and say None. `checks` names the checks that counted it, in the findings of
    a case; those of a check leave it empty.
    """

    rule: str
    signal: str
    where: str
    turn: int
    start: int
    end: int
    text: str
    severity: str = "fail"
    role: str | None = None
    counted: bool | None = None
    checks: tuple[str, ...] = ()


class CheckResult(msgspec.Struct, frozen=True):
    """The verdict of one check on one case, with the evidence it rests on."""

    check: str
    passed: bool
    evidence: dict[str, Any] = {}
    findings: tuple[Finding, ...] = ()
    applicable: bool = True
    reason: str | None = None
    error: str | None = None
    turns: tuple["CheckResult", ...] = ()
    missing: tuple[str, ...] = ()  # what the reply lacks, where that decided: names that the check registered

    @property
    def outcome(self) -> str:
        if self.error is not None:
            return ERROR
        if not self.applicable:
            return NOT_APPLICABLE
        return PASS if self.passed else FAIL

    def to_dict(self) -> dict[str, Any]:
        """The fields of the report: `pass`, then the evidence."""
        if self.error is not None:
            return {"pass": None, "error": self.error}
        fields: dict[str, Any] = {"pass": self.passed}
        if not self.applicable:
            fields |= {"applicable": False, "reason": self.reason}
        fields |= self.evidence
        if self.missing:
            fields["missing"] = list(self.missing)
        if self.turns:
            fields["turns"] = [turn.to_dict() for turn in self.turns]
        return fields


class LabelComparison(msgspec.Struct, frozen=True):
    """What a person expected of a check, and what it said."""

    expected: bool
    actual: bool | None
    match: bool


class CaseResult(msgspec.Struct, frozen=True):
    """Everything that is known about one evaluated case."""

    id: str
    outcome: str
    is_negative_example: bool
    checks: dict[str, CheckResult]
    findings: tuple[Finding, ...] = ()
    label_comparison: dict[str, LabelComparison] = {}
    languages: dict[str, str] = {}  # `language` of the reply, `language_by`, `user_language` where it differs
    tags: tuple[str, ...] = ()
    source: Source | None = None
    texts: dict[str, Any] = {}

    @property
    def passed(self) -> bool | None:
        """Whether all checks passed; None when one ended in error."""
        return None if self.outcome == ERROR else self.outcome != FAIL

    @property
    def language(self) -> str:
        return self.languages.get("language", "")

    @property
    def failed_checks(self) -> list[str]:
        return [name for name, result in self.checks.items() if result.outcome == FAIL]

    def to_dict(self) -> dict[str, Any]:
        """The fields of the report's `results`."""
        fields: dict[str, Any] = {
            "id": self.id,
            "pass": self.passed,
            "outcome": self.outcome,
            "is_negative_example": self.is_negative_example,
            **self.languages,
            "checks": {name: result.to_dict() for name, result in self.checks.items()},
        }
        if self.label_comparison:
            fields["label_comparison"] = msgspec.to_builtins(self.label_comparison)
        fields["findings"] = msgspec.to_builtins(self.findings)
        if self.tags:
            fields["tags"] = list(self.tags)
        if self.source:
            fields["source"] = {"file": self.source.file, "line": self.source.line}
        return fields | self.texts


def case_outcome(checks: dict[str, CheckResult]) -> str:
    """An error outranks a failure, a failure a pass; where nothing applied, nothing was assessed."""
    outcomes = {result.outcome for result in checks.values()}
    for outcome in (ERROR, FAIL, PASS):
        if outcome in outcomes:
            return outcome
    return NOT_APPLICABLE
