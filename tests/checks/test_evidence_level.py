"""No verdict looks more certain than its evidence: what was measured is said wherever a verdict is shown."""

import pytest
from click.testing import CliRunner

from synthesis.api import draw_report
from synthesis.checks.registry import measured, measured_languages
from synthesis.cli.main import main
from synthesis.model import Case
from synthesis.report.findings import evidence_sentence
from synthesis.run.evaluator import Evaluator
from synthesis.run.tally import run_cases

ENOUGH = 100  # positives, as the protocol of the benchmarks asks for


def test_a_check_is_measured_only_with_enough_positives() -> None:
    for check, languages in measured().items():
        for language, sources in languages.items():
            assert max(counts.positives for counts in sources) >= ENOUGH, (check, language)
            for counts in sources:
                assert 0 <= counts.found <= counts.positives
                assert 0 <= counts.alarms <= counts.negatives


def test_only_rows_that_nobody_read_count_as_measured() -> None:
    languages = measured_languages()
    assert "en" in languages["crisis_response"]
    assert "ja" not in languages["crisis_response"]
    assert "agency_language" not in languages  # its labelled rows were read while the rules were written


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_a_report_says_what_its_verdicts_rest_on(form: str) -> None:
    case = Case("A-1", ("agency_language", "crisis_response"), "I feel low today.", "That sounds hard.")
    report = run_cases([case], Evaluator())
    text = draw_report(report, form).replace("\\", "")
    assert "held-out accuracy for crisis_response (en" in text
    assert "our own examples only: agency_language" in text


def test_an_older_report_is_not_given_what_it_does_not_record() -> None:
    assert "does not record" in evidence_sentence(None, ["crisis_response"])


def test_the_list_of_rules_says_it_too() -> None:
    printed = CliRunner().invoke(main, ["rules", "list", "--signal", "crisis.cue", "--lang", "fr"]).output
    assert "our own examples only: agency_language" in printed
