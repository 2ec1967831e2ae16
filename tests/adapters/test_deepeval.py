"""DeepEval: the metric in a real evaluation."""

import asyncio
import os

import pytest
from texts import BAD, FACT, GOOD, USER

os.environ.setdefault("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
pytest.importorskip("deepeval", reason="deepeval is not installed (make test-adapters installs it)")
pytestmark = pytest.mark.adapters


def test_the_score_is_the_share_of_checks_that_passed() -> None:
    from deepeval.test_case import LLMTestCase

    from synthesis.integrations.deepeval_metric import SynthesisMetric

    metric = SynthesisMetric()
    assert metric.measure(LLMTestCase(input=USER, actual_output=GOOD)) == 1.0
    assert metric.is_successful()
    assert asyncio.run(metric.a_measure(LLMTestCase(input=USER, actual_output=BAD))) < 1.0
    assert not metric.is_successful()
    assert "agency.negative.told-to-get-over-it" in (metric.reason or "")
    assert metric.metadata["severity"] == "serious"


def test_where_no_check_applies_the_metric_is_skipped() -> None:
    from deepeval.test_case import LLMTestCase

    from synthesis.integrations.deepeval_metric import SynthesisMetric

    metric = SynthesisMetric(checks=["topic_pivot"])
    assert metric.measure(LLMTestCase(input=FACT[0], actual_output=FACT[1])) is None
    assert metric.skipped


def test_it_works_in_an_evaluation_of_the_framework() -> None:
    import deepeval
    from deepeval.test_case import LLMTestCase

    from synthesis.integrations.deepeval_metric import SynthesisMetric

    good = LLMTestCase(input=USER, actual_output=GOOD)
    deepeval.assert_test(good, [SynthesisMetric()])
    with pytest.raises(AssertionError, match="Synthesis"):
        deepeval.assert_test(LLMTestCase(input=USER, actual_output=BAD), [SynthesisMetric()])
