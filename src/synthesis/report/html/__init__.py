"""The report as one page: no network, no script, everything that was evaluated escaped.

The results are read twice: once to count, to choose and to know which filters there are, once to draw. Where some
alert, they are read once more, because these lead.
"""

from collections.abc import Iterator
from itertools import chain

from synthesis.model import CaseResult
from synthesis.report.glossary import Glossary
from synthesis.report.html.case import CaseView
from synthesis.report.html.page import foot, head, introduction
from synthesis.report.html.survey import CaseFilters, survey_of
from synthesis.report.reading import StoredReport
from synthesis.report.verdicts import kind_of

__all__ = ["render"]


def render(report: StoredReport, glossary: Glossary) -> Iterator[str]:
    """The page, piece by piece: all unexpected failures, and as many other cases as fit."""
    survey = survey_of(report)
    filters = CaseFilters(survey)
    yield head(filters.css())
    yield from introduction(report, survey, glossary)
    yield filters.form(glossary)
    yield '<div class="cases">\n'
    room = survey.room()
    view = CaseView(glossary, filters)
    for result in _alerts_first(report):
        kind = kind_of(result)
        if room[kind] > 0:
            room[kind] -= 1
            yield view.draw(result)
    yield filters.tally()
    yield f"</div>\n{foot(report)}"


def _alerts_first(report: StoredReport) -> Iterator[CaseResult]:
    if not report.summary.get("alerts"):
        return report.results()
    leading = (result for result in report.results() if result.alert is not None)
    return chain(leading, (result for result in report.results() if result.alert is None))
