"""Compare: two runs, what was measured differently, and how much better or worse the new one is."""

from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from synthesis.history import SavedRun
from synthesis.history.model import CHECKS, JUDGE
from synthesis.report.compare import Comparison, question_changes
from synthesis.report.judged.compare import JudgedComparison
from synthesis.run.evaluator import Evaluator
from synthesis.server.pages.changes import changes_of
from synthesis.server.pages.layout import page
from synthesis.server.saved_runs import compared
from synthesis.server.state import ServerState, server_state

if TYPE_CHECKING:
    pass

router = APIRouter(include_in_schema=False)
OFFERED = 100  # runs to choose from
MOST_AGAIN = 5_000  # cases of a run that are evaluated again while somebody waits
ACROSS, AGAIN = "across", "again"


class RateChange(NamedTuple):
    """The pass rates of both runs, their difference with its interval, and whether it is more than chance."""

    cases: int
    before: int
    after: int
    change: float
    low: float
    high: float
    p: float
    verdict: str


@router.get("/compare")
async def compare(request: Request) -> Response:
    """The form, and the comparison once two runs are chosen."""
    server = server_state(request)
    query = request.query_params
    picked = query.getlist("run")
    # The list has the newest run first, so the second ticked one is the run before.
    chosen = picked[1::-1] if picked else [query.get("before", ""), query.get("after", "")]
    asked = {name for name in (ACROSS, AGAIN) if query.get(name)}
    with server.slots.one():
        found = await server.in_thread(lambda: _compared(server, [one[:100] for one in chosen if one], asked))
    here = "/judged" if found["after"] and found["after"].kind == JUDGE else "/runs"
    return page(request, "compare.html", title="Compare", here=here, **found)


def _compared(server: ServerState, chosen: list[str], asked: set[str]) -> dict[str, Any]:
    history = server.history.open_if_present()
    offered = history.runs(limit=OFFERED) if history else []
    nothing: dict[str, Any] = {"offered": offered, "before": None, "after": None, "comparison": None, "problem": ""}
    if history is None or len(chosen) < 2:
        return nothing | {"problem": "Choose two runs." if chosen else ""}
    before, after = (history.run(one) for one in chosen)
    if before.kind != after.kind:
        return nothing | {"problem": "A run of the checks and a judged run cannot be compared."}
    can_repeat = _can_be_repeated(before, after)
    evaluator = Evaluator(server.rules, profile=after.profile) if AGAIN in asked and can_repeat else None
    comparison = compared(history, before.id, after.id, evaluator)
    shown = ACROSS in asked or not question_changes(comparison.conditions)
    groups = changes_of(server, history, (before, after), comparison, evaluator) if shown else ()
    return nothing | {
        "before": before,
        "after": after,
        "comparison": comparison,
        "shown": shown,
        "again": evaluator is not None,
        "can_repeat": can_repeat and evaluator is None,
        "most_again": MOST_AGAIN,
        "rate": _rate(comparison),
        "is_checks": before.kind == CHECKS,
        "groups": [group for group in groups if group.changes],
    }


def _can_be_repeated(before: SavedRun, after: SavedRun) -> bool:
    """Whether both runs hold texts, and few enough to be evaluated while somebody waits."""
    runs = (before, after)
    return before.kind == CHECKS and all(run.with_text and run.figures.total <= MOST_AGAIN for run in runs)


def _rate(comparison: Comparison | JudgedComparison) -> RateChange | None:
    if isinstance(comparison, Comparison):
        rate = comparison.pass_rate
        if rate is None:
            return None
        counts = rate.cases, rate.passed_before, rate.passed_after
        return RateChange(*counts, rate.change, *rate.interval, rate.p_value, rate.verdict)
    found = comparison.difference
    if found is None:
        return None
    counts = comparison.in_both, comparison.passed_before, comparison.passed_after
    return RateChange(*counts, *found[:3], found.p_value, comparison.verdict)
