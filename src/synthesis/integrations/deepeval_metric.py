"""DeepEval: `evaluate(test_cases, [SynthesisMetric()])`."""

from collections.abc import Sequence
from typing import Any, ClassVar

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from synthesis.integrations.assessment import Assessor
from synthesis.settings import DEFAULT_CHECKS


class SynthesisMetric(BaseMetric):
    """The share of the checks that passed; by default all must. Where none applies, the metric counts as skipped."""

    _required_params: ClassVar[list[Any]] = []

    def __init__(self, checks: Sequence[str] = DEFAULT_CHECKS, threshold: float = 1.0, lang: str | None = None) -> None:
        self.threshold = threshold
        self.include_reason = True
        self._assessor = Assessor(checks, lang=lang)

    def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float | None:
        found = self._assessor.reply(test_case.input, test_case.actual_output or "")
        self.score, self.reason = found.score, found.reason
        self.skipped = found.score is None
        self.success = None if found.score is None else found.score >= self.threshold
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float | None:
        return self.measure(test_case)

    def is_successful(self) -> bool | None:
        return self.success

    @property
    def __name__(self) -> str:
        return "Synthesis"
