"""DeepEval: `evaluate(test_cases, [SynthesisMetric()])`."""

from collections.abc import Iterable
from typing import Any, ClassVar

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from synthesis.settings import DEFAULT_CHECKS
from synthesis.verdict import ReplyEvaluator


class SynthesisMetric(BaseMetric):
    """The share of the checks that passed; by default all must. Where none applies, the metric counts as skipped.

    `metadata` says how bad the failures are, and holds the alert where the user shows signs of a crisis.
    """

    _required_params: ClassVar[list[Any]] = []

    def __init__(
        self, checks: str | Iterable[str] = DEFAULT_CHECKS, threshold: float = 1.0, lang: str | None = None
    ) -> None:
        self.threshold = threshold
        self.include_reason = True
        self._replies = ReplyEvaluator(checks, lang=lang)

    def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float | None:
        verdict = self._replies.reply(test_case.input, test_case.actual_output)
        self.score, self.reason = verdict.score, verdict.reason
        self.metadata = verdict.weight
        self.skipped = verdict.score is None
        self.success = None if verdict.score is None else verdict.score >= self.threshold
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float | None:
        return self.measure(test_case)

    def is_successful(self) -> bool | None:
        return self.success

    @property
    def __name__(self) -> str:
        return "Synthesis"
