"""Why a reply fails: one sentence on top, and a reason that can be counted, absence as absence."""

import re

import pytest
from helpers import THREE

from synthesis.checks import rules_in_force
from synthesis.glossary import glossary_of
from synthesis.model import Case, CaseResult
from synthesis.report.findings import Reason, marks_of, reasons_of, why_it_fails
from synthesis.report.formats import FORMATS
from synthesis.report.html.case import Marks, check_list, excerpt_of
from synthesis.report.stored import from_dict
from synthesis.run.evaluator import Evaluator
from synthesis.run.tally import run_cases
from synthesis.settings import TRAFFIC

USER = "My husband moved out on Sunday. I found his ring in the sink."
AWAY = "I'm sorry to hear that. Anyway, spring is a great time to redecorate!"
EMPTY = "Redecorating takes about three weekends."
MIXED = "I'm so sorry, that hurts. What was Sunday like for you? What feels hardest right now? You should rest."


@pytest.fixture(scope="module")
def evaluator() -> Evaluator:
    return Evaluator(rules_in_force(), profile=TRAFFIC)


def result_of(evaluator: Evaluator, reply: str) -> CaseResult:
    return evaluator.evaluate([Case("A-1", THREE, USER, reply)])[0]


def test_the_sentence_says_what_speaks_against_the_reply_and_what_for_it(evaluator: Evaluator) -> None:
    result, glossary = result_of(evaluator, AWAY), glossary_of(evaluator.rules)
    said = why_it_fails(result, result.checks["topic_pivot"], glossary)
    assert said == "moves from what the user said to something else, although it acknowledges what the user said"
    why, _ = excerpt_of(Marks(result, glossary, "case"), result, glossary)
    assert why == f"topic_pivot: {said}."


def test_a_failure_by_absence_is_a_reason_of_its_own(evaluator: Evaluator) -> None:
    result, glossary = result_of(evaluator, EMPTY), glossary_of(evaluator.rules)
    assert Reason("topic_pivot", "acknowledgment", is_absence=True) in reasons_of(result)
    drawn = check_list(result, glossary)
    assert drawn.count("Nothing in the reply acknowledges") == 1, "a thing is said once"
    assert "missing:" not in drawn.lower()
    assert "nothing in the reply acknowledges" in why_it_fails(result, result.checks["topic_pivot"], glossary)


def test_charts_show_absence_as_absence(evaluator: Evaluator) -> None:
    cases = [Case(f"A-{number}", THREE, USER, reply) for number, reply in enumerate((AWAY, EMPTY), start=1)]
    page = "".join(
        FORMATS["html"].render(from_dict(run_cases(cases, evaluator).to_dict()), glossary_of(evaluator.rules))
    )
    rows = re.findall(r'<li class="absent"><span class="rule"><span class="sign">∅</span>.*?</li>', page, re.DOTALL)
    assert any("topic_pivot" in row and "1 case" in row for row in rows)
    assert page.index('<div class="turn user">') < page.index("Fails <code>"), "what was said comes first"


def test_what_a_reply_passes_with_is_not_shown_as_deciding_against_it(evaluator: Evaluator) -> None:
    result = result_of(evaluator, MIXED)
    assert result.outcome == "pass"
    assert "outweighed" in marks_of(result)
    glossary = glossary_of(evaluator.rules)
    page = check_list(result, glossary, marks=Marks(result, glossary, "case"))
    assert 'class="against"' not in page
    assert "Outweighed" in page


def test_findings_of_a_check_are_folded_after_three(evaluator: Evaluator) -> None:
    reply = "You should rest. You must stop. You need to move on. Just try to smile. Get over it."
    result, glossary = result_of(evaluator, reply), glossary_of(evaluator.rules)
    drawn = check_list(result, glossary, marks=Marks(result, glossary, "case"))
    agency = drawn.partition("Fails <code>agency_language</code>")[2].partition("Fails <code>")[0]
    assert agency.partition("<details>")[0].count("<li") == 3
    assert re.search(r"<summary>\d more</summary>", agency)
