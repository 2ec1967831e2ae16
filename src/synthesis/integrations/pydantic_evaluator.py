"""Pydantic Evals: `Dataset(cases=..., evaluators=[SynthesisEvaluator()])`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

from synthesis.integrations.assessment import Assessor
from synthesis.model.result import FAIL, PASS
from synthesis.settings import DEFAULT_CHECKS


@dataclass
class SynthesisEvaluator(Evaluator[str, str, object]):
    """One assertion per check, with its reason; a check that gave no verdict asserts nothing."""

    checks: Sequence[str] = DEFAULT_CHECKS
    lang: str | None = None

    @cached_property
    def _assessor(self) -> Assessor:
        return Assessor(self.checks, lang=self.lang)

    def evaluate(self, ctx: EvaluatorContext[str, str, object]) -> dict[str, EvaluationReason]:
        found = self._assessor.reply(ctx.inputs, ctx.output)
        return {
            name: EvaluationReason(check.passed, found.reasons[name])
            for name, check in found.result.checks.items()
            if check.outcome in {PASS, FAIL}
        }
