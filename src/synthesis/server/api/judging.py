"""Judged runs by the offline judge: a test set comes in, is judged beside the server, and is followed by events."""

from typing import Annotated, Literal

from fastapi import Path, Query
from starlette.requests import Request
from starlette.responses import Response

from synthesis import bundled
from synthesis.judge.results import read_run
from synthesis.report.judged.run import JudgedRun
from synthesis.server.api.routing import PREFIX, api_router
from synthesis.server.errors import ApiError
from synthesis.server.events import follow
from synthesis.server.jobs import DONE, OVER, WAITING
from synthesis.server.json import Json
from synthesis.server.judging.store import JudgeFolder, JudgeJob, JudgeOrder
from synthesis.server.limits import in_thread, require_length, write_body
from synthesis.server.schema import EVENTS, described
from synthesis.server.workbench import Workbench, workbench_of

router = api_router("judged runs")
ANY = {"type": "string", "format": "binary"}
MOST_ITERATIONS = 10
JobId = Annotated[str, Path(description="Id of the judged run.", examples=["wYx3b0m1xkJt8dM2T0n9Vg"])]
BundledSet = Literal["passages", "courses"]
BundledRubric = Literal["course", "rag", "relational"]


@router.post(
    "/judge/runs",
    **described(JudgeJob, words="It waits.", takes=ANY, takes_type="application/octet-stream", status=202),
)
async def start(
    request: Request,
    name: Annotated[str, Query(max_length=200, description="What the run is called in the history.")] = "",
    iterations: Annotated[int, Query(ge=1, le=MOST_ITERATIONS, description="How often each sample is judged.")] = 1,
    rubric: Annotated[
        BundledRubric | None, Query(description="By what it is judged; left out, the set's contexts decide.")
    ] = None,
    save: Annotated[bool, Query(description="Save it in the history.")] = True,
    save_text: Annotated[bool, Query(description="Save questions, answers and reasons as well.")] = False,
) -> Response:
    """Have a test set judged by the offline judge (the body is the set: a JSON array of samples). It needs no key."""
    workbench = workbench_of(request)
    settings = workbench.settings
    workbench.judging.slots.require_free()
    require_length(request, settings.max_upload)
    order = JudgeOrder(name.strip() or "uploaded set", iterations, rubric, save, save_text, settings.history)
    job_id, folder = workbench.judge_store.new()
    try:
        await write_body(request, folder.input, settings.max_upload, settings.timeout)
        waiting = begin(workbench, job_id, folder, order)
    except BaseException:
        folder.remove()
        raise
    return Json(waiting, 202, {"Location": f"{PREFIX}/judge/runs/{job_id}"})


def start_bundled(workbench: Workbench, name: BundledSet, order: JudgeOrder) -> JudgeJob:
    """Have one of the sets judged that travel with the package."""
    workbench.judging.slots.require_free()
    job_id, folder = workbench.judge_store.new()
    folder.input.write_bytes((bundled.TEST_SETS / f"{name}.json").read_bytes())
    return begin(workbench, job_id, folder, order)


def begin(workbench: Workbench, job_id: str, folder: JudgeFolder, order: JudgeOrder) -> JudgeJob:
    waiting = JudgeJob(job_id, WAITING, order.name)
    folder.save(waiting)
    workbench.judging.add(folder, order)
    return waiting


@router.get("/judge/runs/{job_id}", **described(JudgeJob, words="How far it is."))
async def progress(request: Request, job_id: JobId) -> Response:
    """How far a judged run is."""
    return Json(_folder(request, job_id).load())


@router.get("/judge/runs/{job_id}/events", **described(ANY, words="Events.", gives_type=EVENTS))
async def events(request: Request, job_id: JobId) -> Response:
    """Follow a judged run: events `progress`, and one `done` when it is over, all with its state."""
    return follow(request, _folder(request, job_id))


@router.post("/judge/runs/{job_id}/cancel", **described(JudgeJob, words="As it is now; it ends within a moment."))
async def cancel(request: Request, job_id: JobId) -> Response:
    """Cancel a judged run that waits or is worked on. One that is over stays as it is."""
    folder = _folder(request, job_id)
    if folder.load().state not in OVER:
        folder.cancel()
    return Json(folder.load())


@router.get("/judge/runs/{job_id}/results", **described(JudgedRun, words="The results."))
async def results(request: Request, job_id: JobId) -> Response:
    """What a judged run says: figures, costs, failure analysis and every sample, by iteration."""
    folder = _folder(request, job_id)
    if folder.load().state != DONE:
        raise ApiError(409, "not_done", "There are no results: the run is not done.", "Its state says why.")
    workbench = workbench_of(request)
    return Json(await in_thread(workbench.threads, workbench.settings.timeout, lambda: read_run(folder.results)))


def _folder(request: Request, job_id: str) -> JudgeFolder:
    return workbench_of(request).judge_store.folder(job_id)
