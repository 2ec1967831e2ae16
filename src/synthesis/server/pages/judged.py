"""Judged runs: the saved ones, those being judged now, and the results of each."""

from typing import TYPE_CHECKING, get_args

import msgspec
from fastapi import APIRouter
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from synthesis.history import SavedRun
from synthesis.history.model import CHECKS, JUDGE
from synthesis.judge.results import read_run
from synthesis.report.judged.html import body
from synthesis.report.judged.run import JudgedRun
from synthesis.server.api.judging import MOST_ITERATIONS, BundledSet, start_bundled
from synthesis.server.errors import ApiError
from synthesis.server.jobs import DONE, OVER
from synthesis.server.judging import JudgeJob, JudgeOptions
from synthesis.server.pages.layout import page, read_form
from synthesis.server.pages.runs import runs_of
from synthesis.server.state import ServerState, server_state

if TYPE_CHECKING:
    from synthesis.history.store import History

router = APIRouter(include_in_schema=False)
SETS: tuple[BundledSet, ...] = get_args(BundledSet)


@router.get("/judged")
async def runs(request: Request) -> Response:
    """All judged runs, and a form to start one."""
    found = await runs_of(request, JUDGE)
    return page(request, "judged.html", title="Judged runs", sets=SETS, most=MOST_ITERATIONS, **found)


@router.post("/judged")
async def begin(request: Request) -> Response:
    """Have a bundled test set judged; works without script."""
    form = {name: values[0] for name, values in (await read_form(request)).items()}
    wanted = next((name for name in SETS if name == form.get("set")), None)
    iterations = form.get("iterations", "1")
    if wanted is None or not iterations.isdecimal() or not 1 <= int(iterations) <= MOST_ITERATIONS:
        raise ApiError(422, "invalid_form", "There is no such set, or the number of iterations is not valid.")
    server = server_state(request)
    options = JudgeOptions(wanted, int(iterations), save_text="save_text" in form, history=server.settings.history)
    return RedirectResponse(f"/judged/{start_bundled(server, wanted, options).id}", 303)


@router.get("/judged/{run_id}")
async def run(request: Request, run_id: str) -> Response:
    """One judged run: its progress or its results, from this server's own folder or from the history."""
    server = server_state(request)
    if server.judge_store.has(run_id):
        job = server.judge_store.folder(run_id).load()
        if job.state != DONE:
            title = "Judged run" if job.state in OVER else "Judging"
            return page(request, "judging.html", title=title, job=job, over=job.state in OVER)
        judged = await server.in_thread(lambda: _of_job(server, job))
        return _drawn(request, judged, job=job)
    found = await server.from_history(lambda history: _of_history(history, run_id))
    if found is None:
        return RedirectResponse(f"/runs/{run_id}", 303)
    return _drawn(request, found[1], saved=found[0], earlier=found[2])


def _of_job(server: ServerState, job: JudgeJob) -> JudgedRun:
    """The results in the folder know only the folder's name."""
    found = read_run(server.judge_store.folder(job.id).results)
    return msgspec.structs.replace(found, name=job.name)


def _of_history(history: "History", run_id: str) -> tuple[SavedRun, JudgedRun, SavedRun | None] | None:
    saved = history.run(run_id)
    if saved.kind == CHECKS:
        return None
    earlier = history.runs(limit=1, before=saved.id, kind=JUDGE, name=saved.name)
    return saved, history.judged(saved.id), earlier[0] if earlier else None


def _drawn(
    request: Request,
    judged: JudgedRun,
    *,
    job: JudgeJob | None = None,
    saved: SavedRun | None = None,
    earlier: SavedRun | None = None,
) -> Response:
    drawn = Markup("".join(body(judged)))  # every text in it is escaped by the report
    title = f"Judged run: {judged.name}"
    return page(
        request, "judged_run.html", title=title, name=judged.name, body=drawn, job=job, run=saved, earlier=earlier
    )
