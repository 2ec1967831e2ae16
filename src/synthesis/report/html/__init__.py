"""The report as one page: no network, everything that was evaluated escaped.

The results are read once to count, to choose and to know which filters there are, and once more for each degree of need
of a look, because those that need it most lead. A small script searches; without it everything else works.
"""

from collections.abc import Iterator

from synthesis.model import CaseResult
from synthesis.report.findings import Glossary, kind_of
from synthesis.report.html.case import CaseView
from synthesis.report.html.charts import CaseFilters, Survey, survey_of
from synthesis.report.html.page import SCRIPT, foot, head, introduction
from synthesis.report.stored import StoredReport

__all__ = ["render"]
FEW = 3  # cases that are not folded


def render(report: StoredReport, glossary: Glossary) -> Iterator[str]:
    """The page, piece by piece: all unexpected failures, and as many other cases as fit."""
    survey = survey_of(report)
    filters = CaseFilters(survey)
    yield head(filters.css(), script=SCRIPT)
    yield from introduction(report, survey, glossary)
    yield filters.form(glossary)
    yield '<div class="cases">\n'
    room = survey.room()
    view = CaseView(glossary, filters, is_open=survey.shown <= FEW)
    for result in _by_need(report, survey):
        kind = kind_of(result)
        if room[kind] > 0:
            room[kind] -= 1
            yield view.draw(result)
    yield filters.tally()
    yield f"</div>\n{foot(report)}"


def _by_need(report: StoredReport, survey: Survey) -> Iterator[CaseResult]:
    for need in sorted(set(survey.needs)):
        for result, own in zip(report.results(), survey.needs, strict=True):
            if own == need:
                yield result
