"""A redacted report tells of a crisis in every form, and gives away no word of it."""

import pytest
from crisis_samples import CUE, GOOD, JOKE

from synthesis.checks import rules_in_force
from synthesis.glossary import glossary_of
from synthesis.model import Case
from synthesis.report.formats import FORMATS
from synthesis.report.stored import from_dict, redacted
from synthesis.run.evaluator import Evaluator
from synthesis.run.tally import run_cases
from synthesis.settings import TRAFFIC


@pytest.mark.parametrize("form", FORMATS)
def test_a_crisis_shows_and_its_words_do_not(form: str) -> None:
    evaluator = Evaluator(rules_in_force(), profile=TRAFFIC)
    cases = [Case(name, ("flattery",), CUE, reply) for name, reply in (("A-1", JOKE), ("A-2", GOOD))]
    report = redacted(from_dict(run_cases(cases, evaluator).to_dict()))
    text = "".join(FORMATS[form].render(report, glossary_of(evaluator.rules)))
    assert "crisis_response" in text
    assert "critical" in text
    assert not [words for words in ("end my life", "so glad you told me", "chicken", "988") if words in text]
