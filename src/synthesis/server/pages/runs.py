"""Saved runs as a list; one run with its charts and cases; one case with its evidence."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec
from fastapi import APIRouter
from markupsafe import Markup
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from synthesis.checks.explained import Explanation, said
from synthesis.checks.registry import asked_checks, checks, get_check
from synthesis.history import Page, SavedCase, SavedRun
from synthesis.history.model import CHECKS, JUDGE, SavedCheck, TrendPoint
from synthesis.labels import DOES_NOT_APPLY, NO, REVIEWED, SKIP, YES, Label, Person, checked_person
from synthesis.model import Case, CaseResult, Turn
from synthesis.model.result import ERROR, FAIL, NOT_APPLICABLE, PASS
from synthesis.model.texts import ENGLISH
from synthesis.report.compare import reader_of
from synthesis.report.findings import (
    CUES,
    NEEDS,
    TURN_SIGNS,
    Glossary,
    evidence_sentence,
    kinds_in_words,
    with_alert_findings,
)
from synthesis.report.html import badge_of, figures, headline, legend
from synthesis.report.html.case import PARTS, AlertBox, Marks, Said, alerts_of, check_list, excerpt_of
from synthesis.report.html.charts import (
    MOST_TAGS,
    Survey,
    charts,
    strips,
    survey_of,
    turn_by_turn,
)
from synthesis.report.html.curves import Figure, curve
from synthesis.report.judged.run import OFFLINE, axis_title
from synthesis.report.stored import StoredReport, texts_of
from synthesis.report.templates import macro
from synthesis.server.api.jobs import drawn_report
from synthesis.server.api.runs import need_token
from synthesis.server.http import MOST_WORDS, ApiError, not_found
from synthesis.server.pages.layout import (
    NAME_COOKIE,
    local_path,
    number_in,
    page,
    person_of,
    position_in,
    read_form,
    remember,
)
from synthesis.server.state import ServerState, server_state
from synthesis.settings import AUTHORED, LEARNED, RULES, TRAFFIC

if TYPE_CHECKING:
    from synthesis.history.store import History


class TrendLine(NamedTuple):
    """A figure over time: what it is, the last one, its drawing, and the highest."""

    title: str
    last: str
    drawing: Markup
    most: float


def trend_of(history: "History", kind: str, name: str, tag: str | None) -> dict[str, Any]:
    """Figures over time of runs of one name, in profile and reader of the last: others cannot be compared with it."""
    found = history.trend(kind, name=name, tag=tag)
    profile = found[-1].profile
    points = [point for point in found if point.is_like(found[-1])]
    lines = _judged_lines(points, _completeness(history, name, tag)) if kind == JUDGE else _check_lines(points)
    drawn = [line for line in lines if line.drawing]
    return {
        "name": name,
        "profile": profile,
        "reader": found[-1].reader,
        "lines": [line for line in drawn if kind == JUDGE or line.most],
        "calm": [line.title for line in drawn if kind != JUDGE and not line.most],
        "runs": len(points),
        "rulers": len({(point.rules_hash, point.tool_version) for point in points}),
    }


def _check_lines(points: Sequence[TrendPoint]) -> list[TrendLine]:
    """The checks of the last run, those that fail most now first."""
    last = points[-1].by_check
    ranked = sorted(last, key=lambda name: (-(last[name].rate or 0), name))
    labelled = [_figure(point, point.figures.label_accuracy, None, "", "/runs") for point in points]
    checks = [_line(name, [_of_check(point, name) for point in points], unit=" %", least_top=1.0) for name in ranked]
    return [*checks, _line("Label accuracy", labelled, " %")]


def _of_check(point: TrendPoint, name: str) -> Figure:
    found = point.by_check.get(name)
    if found is None or found.rate is None or found.interval is None:
        return _figure(point, None, None, "", "/runs")
    low, high = (100 * bound for bound in found.interval)
    words = f"{found.failed:,} of {found.assessed:,} fail, 95 % interval {low:.1f} to {high:.1f} %"
    return _figure(point, 100 * found.rate, (low, high), words, "/runs")


def _judged_lines(points: Sequence[TrendPoint], completeness: str) -> list[TrendLine]:
    wanted = (("Pass rate", "pass_rate", " %"), ("Mean faithfulness", "faithfulness", ""))
    return [
        _line(title, [_figure(point, getattr(point.figures, field), None, "", "/judged") for point in points], unit)
        for title, field, unit in (*wanted, (f"Mean {completeness}", "completeness", ""))
    ]


def _completeness(history: "History", name: str, tag: str | None) -> str:
    """The axis as it is shown: one offline run among them is enough to call it unvalidated."""
    providers = [run.conditions["judge"]["provider"] for run in history.runs(kind=JUDGE, name=name, tag=tag)]
    return axis_title(OFFLINE if OFFLINE in providers else "", "completeness")


def _figure(
    point: TrendPoint, value: float | None, interval: tuple[float, float] | None, words: str, where: str
) -> Figure:
    return Figure(point.release, point.started[2:10], value, interval, words, f"{where}/{point.run_id}")


def _line(title: str, figures: Sequence[Figure], unit: str, least_top: float = 0.0) -> TrendLine:
    known = [figure.value for figure in figures if figure.value is not None]
    last = f"{known[-1]:.3g}{unit}" if known else ""
    return TrendLine(title, last, curve(title, figures, unit, least_top), max(known, default=0.0))


# Runs: the list of saved runs, their tags, deleting one.


router = APIRouter(include_in_schema=False)
PER_PAGE = 50
NOTHING: dict[str, Any] = {"runs": [], "more": None, "names": [], "tags": [], "trend": None}
PROFILE_WORDS = (
    (TRAFFIC, "traffic: conversations as they come"),
    (AUTHORED, "authored: cases written for their checks"),
)
READER_WORDS = {LEARNED: "rules and the learned reader", RULES: "rules alone"}
RECENT = 300  # runs whose names and tags are offered as filters


@router.get("/runs")
async def runs(request: Request) -> Response:
    """All runs of the checks, newest first, with their trend."""
    return page(
        request,
        "runs.html",
        title="Runs",
        checks=list(checks().values()),
        chosen=asked_checks(),
        profiles=PROFILE_WORDS,
        readers=_readers(server_state(request).settings.reader),
        languages=[pack.spoken for _, pack in sorted(server_state(request).rules.packs.items())],
        **await runs_of(request, CHECKS),
    )


def _readers(first: str) -> list[tuple[str, str]]:
    """The choices of an upload, that of the server first."""
    return sorted(READER_WORDS.items(), key=lambda one: one[0] != first)


async def runs_of(request: Request, kind: str) -> dict[str, Any]:
    """What the page of all runs of one kind shows, filtered by its query."""
    query = request.query_params
    wanted = {name: query.get(name, "")[:MOST_WORDS] for name in ("name", "tag", "before")}
    listed = await server_state(request).from_history_if_any(lambda history: _listed(history, kind, wanted))
    return {"wanted": wanted, **(listed or NOTHING)}


def _listed(history: "History", kind: str, wanted: dict[str, str]) -> dict[str, Any]:
    """A page of runs of one kind, the filters on offer, and their trend."""
    name, tag, before = (wanted[key] or None for key in ("name", "tag", "before"))
    found = history.runs(limit=PER_PAGE + 1, before=before, kind=kind, tag=tag, name=name)
    recent = history.runs(limit=RECENT, kind=kind)
    shown = found[:PER_PAGE]
    return {
        "runs": shown,
        "more": shown[-1].id if len(found) > PER_PAGE else None,
        "names": sorted({run.name for run in recent}),
        "tags": sorted({tag for run in recent for tag in run.tags}),
        "trend": trend_of(history, kind, name or shown[0].name, tag) if shown else None,
    }


@router.post("/runs/{run_id}/tags")
async def change_tags(request: Request, run_id: str) -> Response:
    """Add a tag to a run, or remove one."""
    form = await read_form(request)
    add, remove = ([tag.strip() for tag in form.get(name, []) if tag.strip()] for name in ("add", "remove"))
    changed = await server_state(request).from_history(lambda history: history.tag(run_id, add, remove))
    return RedirectResponse(_home(changed), 303)


@router.post("/runs/{run_id}/delete")
async def delete(request: Request, run_id: str) -> Response:
    """Delete a run permanently."""
    form = await read_form(request)
    if form.get("sure") != ["yes"]:
        raise ApiError(422, "not_sure", "Nothing was deleted.", "Tick the box if you are sure.")

    def remove(history: "History") -> SavedRun:
        gone = history.run(run_id)
        history.delete(gone.id)
        return gone

    gone = await server_state(request).from_history(remove)
    return RedirectResponse("/runs" if gone.kind == CHECKS else "/judged", 303)


def _home(run: SavedRun) -> str:
    return f"/runs/{run.id}" if run.kind == CHECKS else f"/judged/{run.id}"


# A case as the pages draw it: words marked, rules explained, and a warning before texts about a crisis.


CONTENT_WARNING = "Some of these texts are about suicide, self-harm or violence."
CRISIS_SIGNALS = {*CUES, "crisis.soft"}
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
    advice_language: str = ENGLISH,
) -> CaseView:
    """Draw one result; `anchor` keeps the links of several cases on one page apart.

    Without text its page does not show the conversation, so strips of turns have nothing to link to. `advice_language`
    is the language of advice on what a reply lacks.
    """
    drawn = with_alert_findings(result)
    marks = Marks(drawn, glossary, anchor, rule_pages=RULE_PAGES)
    return CaseView(
        turn_by_turn(result, f"#{anchor}turn" if with_text and result.has_texts else ""),
        marks.conversation(),
        marks.notes(),
        check_list(result, glossary, advice_language, marks),
        legend(),
        CONTENT_WARNING if needs_content_warning(result) else "",
        macro(PARTS, "alert_boxes")(_alerts(result, glossary)),
    )


def _alerts(result: CaseResult, glossary: Glossary) -> list[AlertBox]:
    """What speaks against the reply is said by the check, where the case has it."""
    boxes = alerts_of(result, glossary)
    listed = result.alert is not None and result.alert.check in result.checks
    return [box._replace(lines=(), evidence=()) for box in boxes] if listed else boxes


def needs_content_warning(result: CaseResult) -> bool:
    """Whether a result is about a crisis: by its tags, or by what was found in the user's words."""
    found = with_alert_findings(result).findings
    return is_tagged_crisis(result.tags) or any(finding.signal in CRISIS_SIGNALS for finding in found)


def is_tagged_crisis(tags: Iterable[str]) -> bool:
    return any("crisis" in tag for tag in tags)


def with_texts_of(case: Case, result: CaseResult) -> CaseResult:
    """The result as a run that keeps texts gives it."""
    return msgspec.structs.replace(result, texts=texts_of(case))


# The cases of a run as a list: which ones were asked for, those that need a look first, each with its words.


CASE = "case"  # begins the anchors on the page of a case


class WantedCases(NamedTuple):
    """What a list of cases was asked for, and how it is shown; empty values ask for nothing."""

    severity: str = ""  # a name in NEEDS
    fails: str = ""  # a check
    check: str = ""
    outcome: str = ""
    kind: str = ""
    rule: str = ""
    reason: str = ""
    language: str = ""
    tag: str = ""
    q: str = ""
    sort: str = ""  # a key of SORTS
    view: str = ""  # grid

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

    @property
    def is_special(self) -> bool:
        """Whether it asks for something that only the folded filters offer."""
        return any((self.kind, self.reason, self.check, self.outcome, self.rule, self.tag))


class CaseRow(NamedTuple):
    """A case in the list; its words are folded where it is about a crisis."""

    case: SavedCase
    badge: tuple[str, str]  # its class, its words
    why: str
    sides: list[tuple[str, list[Said]]]
    strips: Markup
    warning: str
    cells: dict[str, tuple[str, str, str]]  # by check: sign, words, class


def positions(history: "History", run_id: str, survey: Survey, wanted: WantedCases) -> list[int]:
    """Where the cases that were asked for are in the run, in the order that was asked for: else the worst first."""
    asked = {name: getattr(wanted, name) or None for name in ("check", "outcome", "kind", "rule")}
    found = history.positions(run_id, search=wanted.q or None, **asked)
    for name in ("reason", "language", "tag"):
        if value := getattr(wanted, name):
            among = set(survey.places.get((name, value), ()))
            found = [position for position in found if position in among]
    if wanted.fails:
        among = failing(survey).get(wanted.fails, set())
        found = [position for position in found if position in among]
    if wanted.severity:
        found = [position for position in found if NEEDS[survey.need(position)] == wanted.severity]
    group = _groups(survey, wanted.sort)
    return sorted(found, key=lambda position: (group(position), survey.ranks[position], position))


def failing(survey: Survey) -> dict[str, set[int]]:
    """By check, the positions of the cases that it fails."""
    found: dict[str, set[int]] = {}
    for (name, value), places in survey.places.items():
        if name == "reason":
            found.setdefault(value.partition("/")[0], set()).update(places)
    return found


def _groups(survey: Survey, sort: str) -> Callable[[int], Any]:
    """What comes before how bad a case is, in a list that is sorted by something else."""
    if sort == "place":
        return lambda position: position
    last = "\U0010ffff"  # cases that no check fails
    named: dict[int, str] = {}
    if sort == "check":
        named = {place: name for name, places in sorted(failing(survey).items(), reverse=True) for place in places}
    elif sort == "language":
        named = {
            place: value for (name, value), places in survey.places.items() if name == "language" for place in places
        }
    return lambda position: named.get(position, last)


def row_of(
    run: SavedRun, case: SavedCase, glossary: Glossary, wanted: WantedCases, kinds: Mapping[str, str]
) -> CaseRow:
    """One line of the list. A turn links into its case, past the warning there, so the warning is repeated here."""
    result = case.result
    marks = Marks(with_alert_findings(result), glossary, f"row{case.position}")
    drawn = strips(result, f"/runs/{run.id}/cases/{case.position}{wanted.address}#{CASE}turn")
    warning = CONTENT_WARNING if needs_content_warning(result) else ""
    why, sides = excerpt_of(marks, result, glossary)
    return CaseRow(case, badge_of(result, kinds), why, sides, drawn, warning, _cells(result))


def _cells(result: CaseResult) -> dict[str, tuple[str, str, str]]:
    """A line of the grid: what each check says, as a sign, in words, and as a class."""
    return {
        name: (TURN_SIGNS[check.outcome], check.severity or OUTCOMES[check.outcome], check.severity or check.outcome)
        for name, check in result.checks.items()
    }


# How topic_pivot decided: its table, with the line that the reply met.


PIVOT, CLEAR_FAIL = "topic_pivot", "clear_fail"
STRENGTHS = {
    "clear_pass": "pass",
    "borderline_pass": "pass (borderline)",
    CLEAR_FAIL: "fail",
}


class DecisionLine(NamedTuple):
    """A line of topic_pivot's decision table: decided, skipped before, or not reached."""

    condition: str
    outcome: str
    passes: bool
    decides: bool
    reached: bool


class Decision(NamedTuple):
    """The table with the line that decided, for the reply of `turn`; no evidence if the check does not apply."""

    lines: list[DecisionLine]
    evidence: dict[str, Any] | None
    turn: int


def decision_of(result: CaseResult) -> Decision | None:
    """How topic_pivot decided; None if it was not asked for or ended in error."""
    check = result.checks.get(PIVOT)
    if check is None or check.outcome == ERROR:
        return None
    table = get_check(PIVOT).table
    rows = [row for row in table.decision if row.profile in ("", TRAFFIC)] if table else []
    names = [row.name for row in rows]
    decided = names.index(check.evidence["decision"]) if check.applicable else -1
    lines = [
        DecisionLine(
            row.says,
            STRENGTHS[row.strength],
            row.strength != CLEAR_FAIL,
            number == decided,
            number <= decided,
        )
        for number, row in enumerate(rows)
    ]
    # A result over several turns carries the evidence of the one that decided.
    turn = next((number for number, one in enumerate(check.turns) if one.evidence == check.evidence), 0)
    return Decision(lines, check.evidence if check.applicable else None, turn)


# One run with its charts and its cases, and one case with its evidence.


MOST_RULES = 8  # in the chart; the filter offers all
SURVEYS = 32  # runs whose charts are kept in memory
DOWNLOADS = ("json", "csv", "html")
CRISES_COOKIE = "synthesis_crises"
SORTS = {"check": "check that fails", "language": "language", "place": "place in the file"}  # else the worst first
OUTCOMES = {"pass": "passed", "fail": "failed", "not_applicable": "did not apply", "error": "ended in error"}


class RunPage(NamedTuple):
    """A run with what its page shows."""

    run: SavedRun
    survey: Survey
    cases: Page[SavedCase]
    earlier: SavedRun | None


@router.get("/runs/{run_id}")
async def run(request: Request, run_id: str) -> Response:
    """One run: what is wrong and how bad it is, its cases, then its figures and charts."""
    server = server_state(request)
    wanted = WantedCases.of_query(request.query_params)
    number = number_in(request.query_params.get("page"))
    found = await server.from_history(lambda history: _run(history, run_id, wanted, number))
    if found is None:
        return RedirectResponse(f"/judged/{run_id}", 303)
    one, survey, cases, earlier = found
    kinds = kinds_in_words(one.profile)
    rows = [row_of(one, case, server.glossary, wanted, kinds) for case in cases.items]
    return page(
        request,
        "run.html",
        title=f"Run of {one.name}",
        run=one,
        headline=headline(one.summary, survey.worst),
        figures=figures(one.summary),
        charts=charts(one.summary, survey, server.glossary, MOST_RULES, f"/runs/{one.id}?reason="),
        evidence=evidence_sentence(one.conditions["rules"].get("measured"), one.summary["by_check"]),
        cases=cases,
        rows=rows,
        has_warnings=any(row.warning for row in rows),
        shows_crises=shows_crises(request),
        wanted=wanted,
        earlier=earlier,
        downloads=DOWNLOADS,
        **_filters(one, survey, server.glossary),
    )


@router.get("/runs/{run_id}/download")
async def download(request: Request, run_id: str) -> Response:
    """The report of a saved run, as a file."""
    form = request.query_params.get("format", "")
    if form not in DOWNLOADS:
        raise not_found("There is no such format.", f"Formats: {', '.join(DOWNLOADS)}.")
    server = server_state(request)
    one, report = await server.from_history(lambda history: _report(history, run_id))
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", one.name).strip("-.")[:80] or one.id
    return drawn_report(server, report, form, {"Content-Disposition": f'attachment; filename="{name}.{form}"'})


def _report(history: "History", run_id: str) -> tuple[SavedRun, StoredReport]:
    one = history.run(run_id)
    if one.kind != CHECKS:
        raise not_found("A judged run has no report of the checks.")
    return one, history.report(one.id)


@router.post("/crisis-words")
async def show_crises(request: Request) -> Response:
    """Remember whether the words of a crisis are shown at once or folded, and go back."""
    form = await read_form(request)
    response = RedirectResponse(local_path(form.get("back", ["/runs"])[0]), 303)
    if form.get("show") == ["yes"]:
        remember(request, response, CRISES_COOKIE, "shown")
    else:
        response.delete_cookie(CRISES_COOKIE, path="/", httponly=True, samesite="strict")
    return response


def shows_crises(request: Request) -> bool:
    """Whether this person has chosen to see the words of a crisis without opening each."""
    return request.cookies.get(CRISES_COOKIE) == "shown"


def _filters(one: SavedRun, survey: Survey, glossary: Glossary) -> dict[str, Any]:
    """What the list of cases can be asked for: values and words, of which only those that the run has."""
    reasons = sorted(survey.reasons.items(), key=lambda item: (-item[1], item[0]))
    needs = Counter(map(survey.need, range(len(survey.ranks))))
    failed = failing(survey)
    return {
        "severities": [(name, f"{name} ({needs[need]:,})") for need, name in enumerate(NEEDS) if needs[need]],
        "fails": [(name, f"{name} ({len(failed[name]):,})") for name in sorted(failed)],
        "sorts": SORTS,
        "kinds": {kind: words for kind, words in kinds_in_words(one.profile).items() if survey.kinds[kind]},
        "outcomes": OUTCOMES,
        "checks": _named(one.summary["by_check"]),
        "rules": _named(sorted({rule for rule, _ in survey.rules})),
        "reasons": [(why.key, f"{why.check}: {why.words(glossary)} ({number:,})") for why, number in reasons],
        "languages": [(code, code or "unknown") for code in sorted(survey.languages) if len(survey.languages) > 1],
        "tags": _named(sorted(survey.tags, key=lambda tag: (-survey.tags[tag], tag))[:MOST_TAGS]),
    }


def _named(values: Iterable[str]) -> list[tuple[str, str]]:
    return [(value, value) for value in values]


def _run(history: "History", run_id: str, wanted: WantedCases, number: int) -> RunPage | None:
    """The run with what its page shows; None for a judged one, which has a page of its own."""
    one = history.run(run_id)
    if one.kind != CHECKS:
        return None
    survey = _survey(history, one.id)
    found = positions(history, one.id, survey, wanted)
    shown = history.cases_at(one.id, found[(number - 1) * PER_PAGE : number * PER_PAGE])
    earlier = history.runs(limit=1, before=one.id, kind=CHECKS, name=one.name)
    return RunPage(one, survey, Page(tuple(shown), len(found), number, PER_PAGE), earlier[0] if earlier else None)


@lru_cache(SURVEYS)
def _survey(history: "History", run_id: str) -> Survey:
    """Counted once: a saved run of the checks never changes."""
    return survey_of(history.report(run_id))


class CasePage(NamedTuple):
    """A case among those that its list was asked for; `number` is None where it is not one of them."""

    run: SavedRun
    case: SavedCase
    own: dict[str, Label]  # what the person who looks says about it
    total: int
    number: int | None
    previous: int | None
    following: int | None


@router.get("/runs/{run_id}/cases/{position}")
async def case(request: Request, run_id: str, position: str) -> Response:
    """One case: its texts, what was found in them, and the verdict of each check."""
    server = server_state(request)
    place = position_in(position, "There is no such case.")
    wanted = WantedCases.of_query(request.query_params)
    person = person_of(request)
    found = await server.from_history(lambda history: _case(history, run_id, place, wanted, person))
    one, result = found.run, found.case.result
    return page(
        request,
        "case.html",
        title=found.case.case_id,
        here_in=found,
        run=one,
        case=found.case,
        wanted=wanted,
        badge=badge_of(result, kinds_in_words(one.profile)),
        why=excerpt_of(Marks(result, server.glossary, CASE), result, server.glossary)[0],
        person=person,
        verifies=bool(server.settings.people),
        verdicts=verdicts_to_review(found),
        shows_crises=shows_crises(request),
        has_texts=one.with_text and result.has_texts,
        view=case_view(result, server.glossary, CASE, with_text=one.with_text),
        explained=await server.in_thread(lambda: _explained(server, one, result)),
        said=said,
    )


def _explained(server: ServerState, run: SavedRun, result: CaseResult) -> dict[str, tuple[Explanation, ...]]:
    """How the checks decided on a case with its texts, if the run was judged by the rules of this server."""
    if not (run.with_text and result.has_texts) or run.rules_hash != server.rules.hash:
        return {}
    messages = tuple(Turn(**message) for message in result.texts.get("messages", ()))
    user, assistant = (str(result.texts.get(side, "")) for side in ("user", "assistant"))
    case = Case(result.id, tuple(result.checks), user, assistant, messages=messages, tags=result.tags)
    return server.explain(case, result.profile or run.profile, reader_of(run.conditions))


def _case(history: "History", run_id: str, position: int, wanted: WantedCases, person: Person | None) -> CasePage:
    one = history.run(run_id)
    if one.kind != CHECKS:
        raise not_found("A judged run has samples, not cases.")
    survey = _survey(history, one.id)
    if position >= len(survey.ranks):
        raise not_found("There is no such case.", f"The run has {len(survey.ranks):,}.")
    listed = positions(history, one.id, survey, wanted)
    (found,) = history.cases_at(one.id, [position])
    own = history.labels(one.id).on_case(position, person) if person else {}
    if position not in listed:
        return CasePage(one, found, own, len(listed), None, None, None)
    place = listed.index(position)
    around = (listed[at] if 0 <= at < len(listed) else None for at in (place - 1, place + 1))
    return CasePage(one, found, own, len(listed), place + 1, *around)


# A review where the case is read: which verdicts are right, which are wrong, and a note. They become labels.


RIGHT, WRONG = "right", "wrong"


class VerdictToReview(NamedTuple):
    """A check and what it says; `said` is whether the person finds that right or wrong, empty before."""

    check: str
    outcome: str
    said: str


def verdicts_to_review(found: CasePage) -> list[VerdictToReview]:
    """Those that failed first, then those that passed; a check that did not apply last."""
    order = (FAIL, PASS, NOT_APPLICABLE)
    checks_told = sorted(
        (check for check in found.case.checks if check.outcome in order), key=lambda check: order.index(check.outcome)
    )
    return [VerdictToReview(check.check, check.outcome, _said(found.own, check)) for check in checks_told]


def _said(own: Mapping[str, Label], check: SavedCheck) -> str:
    label = own.get(check.check)
    if label is None or label.answer == SKIP:
        return ""
    return RIGHT if (label.answer == YES) == (check.outcome == FAIL) else WRONG


def _answer(outcome: str, said: str) -> str:
    """As a label: yes means that the check should fail the reply."""
    if said == WRONG:
        return NO if outcome == FAIL else YES
    return {FAIL: YES, PASS: NO, NOT_APPLICABLE: DOES_NOT_APPLY}[outcome]


@router.post("/runs/{run_id}/cases/{position}/review")
async def review(request: Request, run_id: str, position: str) -> Response:
    """Store what a person says about the verdicts of a case, and that they have read it."""
    place, form = position_in(position, "There is no such case."), await read_form(request)
    server = server_state(request)
    person = person_of(request)
    if person is None and server.settings.people:
        raise need_token()
    named = person or checked_person(form.get("name", [""])[0], verified=False)
    await server.from_history(lambda history: _store_review(history, run_id, place, named, form))
    response = RedirectResponse(local_path(form.get("back", ["/runs"])[0]), 303)
    if person is None:
        remember(request, response, NAME_COOKIE, quote(named.name))
    return response


def _store_review(
    history: "History", run_id: str, position: int, person: Person, form: Mapping[str, Sequence[str]]
) -> None:
    labels = history.labels(run_id)
    if labels.run.kind != CHECKS or not labels.has(position, REVIEWED):
        raise not_found("There is no such case.")
    (case,) = history.cases_at(labels.run.id, [position])
    for check in case.checks:
        said = form.get(f"verdict-{check.check}", [""])[0]
        if said in (RIGHT, WRONG) and check.outcome in (FAIL, PASS, NOT_APPLICABLE):
            labels.store(position, check.check, person, _answer(check.outcome, said), blind=False)
    note = form.get("note", [""])[0].strip()
    labels.store(position, REVIEWED, person, YES, blind=False, note=note)
