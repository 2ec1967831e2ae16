"""The cases of a run as a list: which ones were asked for, those that need a look first, each with its words."""

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.datastructures import QueryParams

from synthesis.history import SavedCase, SavedRun
from synthesis.report.findings import NEEDS, Glossary, with_alert_findings
from synthesis.report.html.case import excerpt
from synthesis.report.html.charts import Survey, strips
from synthesis.report.html.marks import Marks
from synthesis.server.limits import MOST_WORDS
from synthesis.server.pages.case_view import CONTENT_WARNING, needs_content_warning

if TYPE_CHECKING:
    from synthesis.history.store import History

CASE = "case"  # begins the anchors on the page of a case


class WantedCases(NamedTuple):
    """What a list of cases was asked for; empty values ask for nothing."""

    check: str = ""
    outcome: str = ""
    kind: str = ""
    rule: str = ""
    reason: str = ""
    language: str = ""
    tag: str = ""
    q: str = ""

    @classmethod
    def of_query(cls, query: QueryParams) -> "WantedCases":
        return cls(*(query.get(name, "")[:MOST_WORDS] for name in cls._fields))

    @property
    def address(self) -> str:
        """As the end of an address; empty if nothing was asked for."""
        asked = {name: value for name, value in self._asdict().items() if value}
        return f"?{urlencode(asked)}" if asked else ""

    def other(self, **changes: str) -> str:
        """The address of the same list with something else asked for."""
        return self._replace(**changes).address or "?"


class CaseRow(NamedTuple):
    """A case in the list; its words are folded where it is about a crisis."""

    case: SavedCase
    need: str
    words: Markup
    strips: Markup
    warning: str


def positions(history: "History", run_id: str, survey: Survey, wanted: WantedCases) -> list[int]:
    """Where the cases that were asked for are in the run, those that need a look first."""
    asked = {name: getattr(wanted, name) or None for name in ("check", "outcome", "kind", "rule")}
    found = history.positions(run_id, search=wanted.q or None, **asked)
    for name in ("reason", "language", "tag"):
        if value := getattr(wanted, name):
            among = set(survey.places.get((name, value), ()))
            found = [position for position in found if position in among]
    return sorted(found, key=lambda position: (survey.needs[position], position))


def row_of(run: SavedRun, case: SavedCase, survey: Survey, glossary: Glossary, wanted: WantedCases) -> CaseRow:
    """One line of the list. A turn opens its case there, past the warning, so that the warning is here."""
    result = case.result
    marks = Marks(with_alert_findings(result), glossary, f"row{case.position}")
    drawn = strips(result, f"/runs/{run.id}/cases/{case.position}{wanted.address}#{CASE}turn")
    warning = CONTENT_WARNING if needs_content_warning(result) else ""
    words = excerpt(marks, result, glossary)
    return CaseRow(case, NEEDS[survey.needs[case.position]], Markup(words), Markup(drawn), warning)
