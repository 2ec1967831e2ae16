"""The report as one page: no network, everything that was evaluated escaped.

The results are read once to count, to choose and to know which filters there are, and once more for each degree of need
of a look, because those that need it most lead. A small script searches; without it everything else works.
"""

import json
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from synthesis.model import CaseResult
from synthesis.report.findings import Glossary, alert_count, evidence_sentence, kind_of, soft_count, with_alert_findings
from synthesis.report.html.case import Marks, alerts_of, checks_of, excerpt_of
from synthesis.report.html.charts import CaseFilters, Survey, charts, drift_per_check, survey_of, timelines_of
from synthesis.report.stored import Record, StoredReport
from synthesis.report.templates import macro, stream

__all__ = ["figures", "headline", "legend", "render"]
FEW = 3  # cases that are not folded
_REPORT = "report_parts.html"


def render(report: StoredReport, glossary: Glossary) -> Iterator[str]:
    """The page, piece by piece: all unexpected failures, and as many other cases as fit."""
    survey = survey_of(report)
    filters = CaseFilters(survey)
    header = {key: value for key, value in report.header.items() if key != "warnings"}
    used = header["rules"]["hash"]
    return stream(
        "report.html",
        summary=report.summary,
        evidence=evidence_sentence(header["rules"].get("measured"), report.summary["by_check"]),
        charts=charts(report.summary, survey, glossary) + drift_per_check(report.summary),
        survey=survey,
        redacted=bool(header.get("redacted")),
        rules_changed=bool(glossary.rules_hash) and used != glossary.rules_hash,
        warnings=report.header.get("warnings", ()),
        filter_rules=filters.css(),
        choices=filters.choices(glossary),
        cases=_cases(report, survey, filters, glossary),
        conditions=json.dumps(header, indent=2, ensure_ascii=False),
        tool=header["tool"],
        **_lines(report.summary),
    )


def _cases(report: StoredReport, survey: Survey, filters: CaseFilters, glossary: Glossary) -> Iterator[dict[str, Any]]:
    """What the template draws of each case, numbered in their order on the page."""
    room, number, is_open = survey.room(), 0, survey.shown <= FEW
    for result in _by_need(report, survey):
        kind = kind_of(result)
        if room[kind] > 0:
            room[kind] -= 1
            number += 1
            yield _case(result, glossary, f"case{number}") | {
                "classes": filters.classes(result),
                "kind": kind,
                "is_open": is_open,
            }


def _case(result: CaseResult, glossary: Glossary, name: str) -> dict[str, Any]:
    marks = Marks(with_alert_findings(result), glossary, name, tips=False)
    return {
        "result": result,
        "marks": marks,
        "excerpt": excerpt_of(marks, result, glossary),
        "alerts": alerts_of(result, glossary),
        "checks": checks_of(result, glossary),
        "timelines": timelines_of(result, f"#{name}turn" if result.has_texts else ""),
    }


def _by_need(report: StoredReport, survey: Survey) -> Iterator[CaseResult]:
    for need in sorted(set(survey.needs)):
        for result, own in zip(report.results(), survey.needs, strict=True):
            if own == need:
                yield result


def _lines(summary: Record) -> dict[str, str]:
    return {"alert_line": alert_count(summary), "soft_line": soft_count(summary).capitalize()}


def headline(summary: Record) -> Markup:
    """How a run came out, in one line."""
    return macro(_REPORT, "headline")(summary, **_lines(summary))


def figures(summary: Record) -> Markup:
    """The counts of a run, as boxes."""
    return macro(_REPORT, "figures")(summary)


def legend() -> Markup:
    """What the marks mean."""
    return macro("case_parts.html", "legend")()
