"""Judged runs by the offline judge: send a test set, follow its progress by events, read the results."""

from typing import Annotated, Literal

from fastapi import Path, Query
from starlette.requests import Request
from starlette.responses import Response

from synthesis.io import TEST_SETS
from synthesis.judge.results import read_run
from synthesis.report.judged.run import JudgedRun
from synthesis.server.api.routing import BINARY, EVENTS, PREFIX, api_router, described, follow
from synthesis.server.http import ApiError, JsonResponse, require_length, write_body
from synthesis.server.jobs import DONE, WAITING, JudgeFolder, JudgeJob, JudgeOptions
from synthesis.server.state import ServerState, server_state

router = api_router("judged runs")
MOST_ITERATIONS = 10
JobId = Annotated[str, Path(description="Id of the judged run.", examples=["wYx3b0m1xkJt8dM2T0n9Vg"])]
BundledSet = Literal["passages", "courses"]
BundledRubric = Literal["course", "rag", "relational"]


@router.post(
    "/judge/runs",
    **described(JudgeJob, words="It is waiting.", takes=BINARY, takes_type="application/octet-stream", status=202),
)
async def start(
    request: Request,
    name: Annotated[str, Query(max_length=200, description="Name of the run in the history.")] = "",
    iterations: Annotated[int, Query(ge=1, le=MOST_ITERATIONS, description="How often each sample is judged.")] = 1,
    rubric: Annotated[
        BundledRubric | None, Query(description="The rubric; by default the set's contexts decide.")
    ] = None,
    save: Annotated[bool, Query(description="Save it in the history.")] = True,
    save_text: Annotated[bool, Query(description="Save questions, answers and reasons too.")] = False,
) -> Response:
    """Judge a test set with the offline judge, which needs no key. The body is the set: a JSON array of samples."""
    server = server_state(request)
    settings = server.settings
    server.judging.slots.require_free()
    require_length(request, settings.max_upload)
    options = JudgeOptions(name.strip() or "uploaded set", iterations, rubric, save, save_text, settings.history)
    job_id, folder = server.judge_store.new()
    try:
        await write_body(request, folder.input, settings.max_upload, settings.timeout)
        waiting = begin(server, job_id, folder, options)
    except BaseException:
        folder.remove()
        raise
    return JsonResponse(waiting, 202, {"Location": f"{PREFIX}/judge/runs/{job_id}"})


def start_bundled(server: ServerState, name: BundledSet, options: JudgeOptions) -> JudgeJob:
    """Judge one of the bundled sets."""
    server.judging.slots.require_free()
    job_id, folder = server.judge_store.new()
    folder.input.write_bytes((TEST_SETS / f"{name}.json").read_bytes())
    return begin(server, job_id, folder, options)


def begin(server: ServerState, job_id: str, folder: JudgeFolder, options: JudgeOptions) -> JudgeJob:
    waiting = JudgeJob(job_id, WAITING, options.name)
    folder.save(waiting)
    server.judging.add(folder, options)
    return waiting


@router.get("/judge/runs/{job_id}", **described(JudgeJob, words="Its progress."))
async def progress(request: Request, job_id: JobId) -> Response:
    """The progress of a judged run."""
    return JsonResponse(_folder(request, job_id).load())


@router.get("/judge/runs/{job_id}/events", **described(BINARY, words="Events.", gives_type=EVENTS))
async def events(request: Request, job_id: JobId) -> Response:
    """Follow a judged run: events `progress`, and one `done` when it is over, all with its state."""
    return follow(request, _folder(request, job_id))


@router.post("/judge/runs/{job_id}/cancel", **described(JudgeJob, words="Its state; it ends shortly."))
async def cancel(request: Request, job_id: JobId) -> Response:
    """Cancel a judged run that is waiting or running. A finished one stays as it is."""
    return JsonResponse(_folder(request, job_id).cancel())


@router.get("/judge/runs/{job_id}/results", **described(JudgedRun, words="The results."))
async def results(request: Request, job_id: JobId) -> Response:
    """The results of a judged run: figures, costs, failure analysis and every sample, by iteration."""
    folder = _folder(request, job_id)
    if folder.load().state != DONE:
        raise ApiError(409, "not_done", "There are no results: the run is not finished.", "Its state says why.")
    server = server_state(request)
    return JsonResponse(await server.in_thread(lambda: read_run(folder.results)))


def _folder(request: Request, job_id: str) -> JudgeFolder:
    return server_state(request).judge_store.folder(job_id)
