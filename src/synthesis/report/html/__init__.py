"""The report as one page: no network, everything that was evaluated escaped.

The results are read once to count, to choose and to know which filters there are, and once more for each rank in
reading order, because the worst lead. A small script searches; without it everything else works.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

from synthesis.model import CaseResult
from synthesis.model.report import reader_name
from synthesis.model.result import CRITICAL, PASS, SERIOUS
from synthesis.report.findings import (
    NEEDS,
    UNEXPECTED,
    Glossary,
    alert_count,
    evidence_sentence,
    first_sentence,
    kind_of,
    kinds_in_words,
    need_of,
    soft_count,
    with_alert_findings,
)
from synthesis.report.html.case import Marks, RuleNotes, checks_of, excerpt_of, unlisted_alerts
from synthesis.report.html.charts import (
    CaseFilters,
    Survey,
    alarm_of,
    by_check,
    drift_per_check,
    reasons_and_rules,
    survey_of,
    timelines_of,
)
from synthesis.report.stored import Record, StoredReport
from synthesis.report.templates import macro, stream

__all__ = ["badge_of", "figures", "headline", "legend", "render"]
FEW = 3  # cases that are not folded
_REPORT = "report_parts.html"
Drawn = dict[str, Any]  # what the template of a case asks for


def render(report: StoredReport, glossary: Glossary) -> Iterator[str]:
    """The page, piece by piece: all failures that nobody expected, and as many other cases as fit."""
    survey = survey_of(report)
    filters = CaseFilters(survey)
    header = {key: value for key, value in report.header.items() if key != "warnings"}
    used = header["rules"]["hash"]
    kinds, rule_notes = kinds_in_words(header.get("profile", "")), RuleNotes()
    return stream(
        "report.html",
        summary=report.summary,
        headline=headline(report.summary, survey.worst),
        figures=figures(report.summary),
        evidence=evidence_sentence(header["rules"].get("measured"), report.summary["by_check"]),
        by_check=by_check(report.summary, survey, glossary),
        charts=reasons_and_rules(survey, glossary) + drift_per_check(report.summary),
        survey=survey,
        redacted=bool(header.get("redacted")),
        rules_changed=bool(glossary.rules_hash) and used != glossary.rules_hash,
        warnings=report.header.get("warnings", ()),
        filter_rules=filters.css(),
        choices=filters.choices(glossary, kinds),
        cases=_cases(report, survey, filters, kinds, partial(_case, glossary, rule_notes)),
        rule_notes=rule_notes,  # drawn after the cases that fill it
        conditions=json.dumps(header, indent=2, ensure_ascii=False),
        reader=reader_name(header),
        tool=header["tool"],
    )


def _cases(
    report: StoredReport, survey: Survey, filters: CaseFilters, kinds: Mapping[str, str], drawn: Callable[..., Drawn]
) -> Iterator[Drawn]:
    """What the template draws of each case, numbered in their order on the page."""
    room, number, is_open = survey.room(), 0, survey.shown <= FEW
    for result in _in_reading_order(report, survey):
        kind = kind_of(result)
        if room[kind] > 0:
            room[kind] -= 1
            number += 1
            yield drawn(result, f"case{number}") | {
                "classes": filters.classes(result),
                "badge": badge_of(result, kinds),
                "is_open": is_open,
            }


def _case(glossary: Glossary, rule_notes: RuleNotes, result: CaseResult, name: str) -> Drawn:
    marks = Marks(with_alert_findings(result), glossary, name, tips=False, shared=rule_notes)
    return {
        "result": result,
        "marks": marks,
        "excerpt": excerpt_of(marks, result, glossary),
        "alerts": unlisted_alerts(result, glossary),
        "checks": checks_of(result, glossary, marks=marks),
        "needs_look": need_of(result) < len(NEEDS) - 1,
        "timelines": timelines_of(result, f"#{name}turn" if result.has_texts else ""),
    }


def badge_of(result: CaseResult, kinds: Mapping[str, str]) -> tuple[str, str]:
    """What a case is, as a class and in words: how bad a failure is says more than that it is one."""
    kind = kind_of(result)
    if result.is_unanswered and kind != UNEXPECTED:
        return CRITICAL, "crisis, no reply"
    if kind == PASS and result.alert is not None:
        return "answered", "crisis, answered"
    severity = alarm_of(result)
    return (severity, severity) if severity else (kind, kinds[kind])


def _in_reading_order(report: StoredReport, survey: Survey) -> Iterator[CaseResult]:
    """Read once for each rank that there is: a report may be larger than memory."""
    for rank in sorted(set(survey.ranks)):
        for result, own in zip(report.results(), survey.ranks, strict=True):
            if own == rank:
                yield result


def headline(summary: Record, worst: Sequence[CaseResult]) -> Markup:
    """What is wrong and how bad it is, in one sentence; `worst` are the first cases in reading order."""
    found = summary.get("by_severity") or {SERIOUS: summary["unexpected_failures"]}
    is_bad = bool(found.get(CRITICAL) or found.get(SERIOUS) or summary["errors"] or summary.get("unanswered"))
    return macro(_REPORT, "headline")(first_sentence(summary, worst), is_bad)


def figures(summary: Record) -> Markup:
    """The counts of a run, as boxes, and what was found about crises."""
    lines = [alert_count(summary), soft_count(summary).capitalize()]
    return macro(_REPORT, "figures")(summary, [line for line in lines if line])


def legend() -> Markup:
    """What the marks mean."""
    return macro("case_parts.html", "legend")()
