"""A case as the pages draw it: words marked, rules explained, and a warning before texts about a crisis.

The report's own renderer draws them, so that a page and a report mark the same words.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from markupsafe import Markup

from synthesis.checks.crisis import CUE, SOFT
from synthesis.model import Case, CaseResult
from synthesis.report.findings import ENGLISH, Glossary, with_alert_findings
from synthesis.report.html.case import alert_box, check_list
from synthesis.report.html.charts import turn_by_turn
from synthesis.report.html.marks import Marks
from synthesis.report.html.page import legend
from synthesis.report.stored import texts_of

CONTENT_WARNING = "Some of these texts are about suicide, self-harm or violence."
CRISIS_SIGNALS = {CUE.name, SOFT.name}
RULE_PAGES = "/rules"


class CaseView(NamedTuple):
    """The parts of one case, ready for a template."""

    strips: Markup
    conversation: Markup
    notes: Markup
    check_list: Markup
    legend: Markup
    content_warning: str
    alert: Markup


def case_view(
    result: CaseResult,
    glossary: Glossary,
    anchor: str,
    *,
    with_text: bool = True,
    told_in: str = ENGLISH,
) -> CaseView:
    """Draw one result; `anchor` keeps the links of several cases on one page apart.

    Without text its page does not show the conversation, so that strips of turns have nowhere to lead. `told_in` is the
    language of advice on what a reply lacks.
    """
    drawn = with_alert_findings(result)
    marks = Marks(drawn, glossary, anchor, rule_pages=RULE_PAGES)
    return CaseView(
        Markup(turn_by_turn(result, f"#{anchor}turn" if with_text and result.has_texts else "")),
        Markup(marks.conversation()),
        Markup(marks.notes()),
        Markup(check_list(result, glossary, told_in)),
        Markup(legend()),
        CONTENT_WARNING if needs_content_warning(result) else "",
        Markup(alert_box(result, glossary)),
    )


def needs_content_warning(result: CaseResult) -> bool:
    """Whether a result is about a crisis: by its tags, or by what was found in the user's words."""
    found = with_alert_findings(result).findings
    return is_tagged_crisis(result.tags) or any(finding.signal in CRISIS_SIGNALS for finding in found)


def is_tagged_crisis(tags: Iterable[str]) -> bool:
    return any("crisis" in tag for tag in tags)


def with_texts_of(case: Case, result: CaseResult) -> CaseResult:
    """The result as a run that keeps texts gives it."""
    return msgspec.structs.replace(result, texts=texts_of(case))
