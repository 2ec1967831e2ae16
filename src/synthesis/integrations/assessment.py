"""What every framework is told about a reply: a score, a verdict, and the reason in words."""

from collections.abc import Sequence
from typing import NamedTuple

from synthesis.checks.registry import get_check
from synthesis.glossary import glossary_of
from synthesis.model import Case, CaseResult, Turn
from synthesis.model.result import FAIL, PASS
from synthesis.report.findings import remarks_on_check
from synthesis.run.evaluator import Evaluator
from synthesis.settings import DEFAULT_CHECKS, TRAFFIC


class Assessment(NamedTuple):
    """`score` is the share of the checks that applied and passed; None where none gave a verdict."""

    score: float | None
    passed: bool | None
    reason: str
    reasons: dict[str, str]
    result: CaseResult


class Assessor:
    """Assesses replies and conversations with one set of checks."""

    def __init__(
        self, checks: Sequence[str] = DEFAULT_CHECKS, *, lang: str | None = None, profile: str = TRAFFIC
    ) -> None:
        self.checks = tuple(get_check(name).name for name in checks)
        self._lang = lang
        self._evaluator = Evaluator(profile=profile)
        self._glossary = glossary_of(self._evaluator.rules)

    def reply(self, user: str, assistant: str) -> Assessment:
        return self._assess(Case("", self.checks, user, assistant, lang=self._lang))

    def conversation(self, messages: Sequence[tuple[str, str]]) -> Assessment:
        turns = tuple(Turn(role, content) for role, content in messages)
        return self._assess(Case("", self.checks, messages=turns, lang=self._lang))

    def _assess(self, case: Case) -> Assessment:
        result = self._evaluator.evaluate([case])[0]
        reasons = {name: self._reason(result, name) for name in result.checks}
        verdicts = [check.outcome for check in result.checks.values() if check.outcome in {PASS, FAIL}]
        score = verdicts.count(PASS) / len(verdicts) if verdicts else None
        passed = result.outcome == PASS if verdicts else None
        return Assessment(score, passed, "\n".join(reasons.values()), reasons, result)

    def _reason(self, result: CaseResult, name: str) -> str:
        check = result.checks[name]
        if check.error is not None:
            return f"{name}: no verdict ({check.error})"
        if not check.applicable:
            return f"{name}: not applicable ({check.reason})"
        remarks = remarks_on_check(result, name, self._glossary, result.language)
        return "\n".join(map(str, remarks)) or f"{name}: passed"
