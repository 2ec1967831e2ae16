"""Compare: two runs side by side, what flipped first."""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from synthesis.history.model import CHECKS, JUDGE
from synthesis.report.compare import Comparison
from synthesis.report.judged.compare import JudgedComparison
from synthesis.server.limits import in_thread
from synthesis.server.pages.flips import changed_cases, changed_samples
from synthesis.server.pages.frame import page
from synthesis.server.saved_runs import compared
from synthesis.server.workbench import Workbench, workbench_of

router = APIRouter(include_in_schema=False)
OFFERED = 100  # runs to choose from


@router.get("/compare")
async def compare(request: Request) -> Response:
    """The form, and the comparison once two runs are chosen."""
    workbench = workbench_of(request)
    query = request.query_params
    picked = query.getlist("run")
    # Ticked in a list that has the newest first.
    chosen = picked[1::-1] if picked else [query.get("before", ""), query.get("after", "")]
    found = await in_thread(
        workbench.threads,
        workbench.settings.timeout,
        lambda: _compared(workbench, [one[:100] for one in chosen if one]),
    )
    here = "/judged" if found["after"] and found["after"].kind == JUDGE else "/runs"
    return page(request, "compare.html", title="Compare", here=here, **found)


def _compared(workbench: Workbench, chosen: list[str]) -> dict[str, Any]:
    history = workbench.shelf.found()
    offered = history.runs(limit=OFFERED) if history else []
    nothing: dict[str, Any] = {"offered": offered, "before": None, "after": None, "comparison": None, "problem": ""}
    if history is None or len(chosen) < 2:
        return nothing | {"problem": "Choose two runs." if chosen else ""}
    before, after = (history.run(one) for one in chosen)
    if before.kind != after.kind:
        return nothing | {"problem": "A run of the checks and a judged run cannot be compared."}
    comparison = compared(history, before.id, after.id)
    if isinstance(comparison, Comparison):
        groups = changed_cases(workbench, history, (before, after), comparison)
    else:
        groups = changed_samples(history, (before, after), comparison)
    return nothing | {
        "before": before,
        "after": after,
        "comparison": comparison,
        "rate": _rate(comparison),
        "is_checks": before.kind == CHECKS,
        "groups": [group for group in groups if group.flips],
    }


def _rate(comparison: Comparison | JudgedComparison) -> dict[str, Any] | None:
    """The pass rates of both runs, their difference, and whether it is more than chance."""
    if isinstance(comparison, Comparison):
        rate = comparison.pass_rate
        if rate is None:
            return None
        figures = (rate.cases, rate.passed_before, rate.passed_after, rate.change, *rate.interval, rate.p_value)
        verdict = rate.verdict
    else:
        found = comparison.difference
        if found is None:
            return None
        figures = (comparison.in_both, comparison.passed_before, comparison.passed_after, *found[:3], found.p_value)
        better = "better" if found.change > 0 else "worse"
        verdict = better if found.is_shown else "no difference shown"
    names = ("cases", "before", "after", "change", "low", "high", "p")
    return dict(zip(names, figures, strict=True)) | {"verdict": verdict}
