"""Pydantic Evals: `Dataset(cases=..., evaluators=[SynthesisEvaluator()])`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

from synthesis.model.result import FAIL, PASS
from synthesis.settings import DEFAULT_CHECKS
from synthesis.verdict import ReplyEvaluator


@dataclass
class SynthesisEvaluator(Evaluator[str, str, object]):
    """One assertion per check, with its reason; a check that gave no verdict asserts nothing.

    `severity` is a label: how bad the worst failure is.
    """

    checks: str | Sequence[str] = DEFAULT_CHECKS
    lang: str | None = None

    @cached_property
    def _replies(self) -> ReplyEvaluator:
        return ReplyEvaluator(self.checks, lang=self.lang)

    def evaluate(self, ctx: EvaluatorContext[str, str, object]) -> dict[str, EvaluationReason]:
        verdict = self._replies.reply(ctx.inputs, ctx.output)
        reasons = verdict.reasons
        asserted = {
            name: EvaluationReason(check.passed, reasons[name])
            for name, check in verdict.checks.items()
            if check.outcome in {PASS, FAIL}
        }
        alert = str(verdict.notice) if verdict.notice else None
        return asserted | ({"severity": EvaluationReason(verdict.severity, alert)} if verdict.severity else {})
