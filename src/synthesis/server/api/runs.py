"""Saved runs: list, look into, tag, delete, save an upload as one."""

from typing import Annotated, Literal

import msgspec
from fastapi import Path, Query
from starlette.requests import Request
from starlette.responses import Response

from synthesis.history import CaseOutcome, Page, SampleOutcome
from synthesis.server.api.routing import PREFIX, api_router
from synthesis.server.json import Json, decode_as
from synthesis.server.limits import in_thread, read_body
from synthesis.server.saved_runs import (
    RunDetail,
    RunSummary,
    SaveOrder,
    TagChange,
    detail_of,
    save_upload,
    summary_of,
)
from synthesis.server.schema import described
from synthesis.server.workbench import workbench_of

router = api_router("runs")
MOST_WORDS = 200
RunId = Annotated[
    str, Path(description="Id of the run, the beginning of it, or `latest`.", examples=["latest"], max_length=100)
]
Kind = Annotated[Literal["checks", "judge"] | None, Query(description="Only runs of this half.")]
Tag = Annotated[str | None, Query(max_length=MOST_WORDS, description="Only runs with this tag.")]
NameOf = Annotated[str | None, Query(max_length=MOST_WORDS, description="Only runs of this name.")]
PageNumber = Annotated[int, Query(ge=1, le=1_000_000, description="Which page; they count from 1.")]
PerPage = Annotated[int, Query(ge=1, le=1000, description="How many on a page.")]
Words = Annotated[str | None, Query(max_length=MOST_WORDS, description="Words in the id, or in texts that were saved.")]


class RunList(msgspec.Struct, frozen=True):
    """Runs, the newest first; `next` goes into `before` for the page after."""

    runs: list[RunSummary]
    next: str | None


@router.get("/runs", **described(RunList, words="The runs that fit."))
async def list_runs(
    request: Request,
    kind: Kind = None,
    tag: Tag = None,
    name: NameOf = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="At most so many.")] = 50,
    before: Annotated[
        str | None, Query(max_length=100, description="Runs that are older than the one of this id.")
    ] = None,
) -> Response:
    """List saved runs. An empty list where nothing has been saved yet."""
    workbench = workbench_of(request)
    found = await in_thread(
        workbench.threads,
        workbench.settings.timeout,
        lambda: (
            history.runs(limit=limit + 1, before=before, kind=kind, tag=tag, name=name)
            if (history := workbench.shelf.found())
            else []
        ),
    )
    shown = found[:limit]
    return Json(RunList([summary_of(run) for run in shown], shown[-1].id if len(found) > limit else None))


@router.post("/runs", **described(RunDetail, words="The run.", takes=SaveOrder, status=201))
async def save(request: Request) -> Response:
    """Save an upload that is done as a run. Its texts are left out unless you ask for them."""
    workbench = workbench_of(request)
    settings = workbench.settings
    order = decode_as(SaveOrder, await read_body(request, settings.max_body, settings.timeout))
    folder = workbench.upload_store.folder(order.upload)
    with workbench.slots.one():
        run = await in_thread(
            workbench.threads,
            settings.timeout,
            lambda: save_upload(workbench.shelf.opened(create=True), folder, order),
        )
    return Json(detail_of(run), 201, {"Location": f"{PREFIX}/runs/{run.id}"})


@router.get("/runs/{run_id}", **described(RunDetail, words="The run."))
async def show(request: Request, run_id: RunId) -> Response:
    """One run with its conditions and its summary."""
    return Json(detail_of(await workbench_of(request).from_history(lambda history: history.run(run_id))))


@router.delete(
    "/runs/{run_id}", status_code=204, response_model=None, responses=described(RunDetail)["responses"] | {204: {}}
)
async def delete(
    request: Request,
    run_id: Annotated[
        str, Path(description="The whole id of the run.", examples=["0123456789ab"], pattern="^[0-9a-f]{12}$")
    ],
) -> Response:
    """Delete a run with all that belongs to it."""
    await workbench_of(request).from_history(lambda history: history.delete(run_id))
    return Response(status_code=204)


@router.post("/runs/{run_id}/tags", **described(RunDetail, words="The run as it is now.", takes=TagChange))
async def tag(request: Request, run_id: RunId) -> Response:
    """Put tags on a run, and take tags off."""
    workbench = workbench_of(request)
    change = decode_as(TagChange, await read_body(request, workbench.settings.max_body, workbench.settings.timeout))
    found = await workbench.from_history(lambda history: history.tag(run_id, change.add, change.remove))
    return Json(detail_of(found))


@router.get("/runs/{run_id}/outcomes", **described(Page[CaseOutcome], words="The cases that fit."))
async def outcomes(
    request: Request,
    run_id: RunId,
    check: Annotated[str | None, Query(max_length=MOST_WORDS, description="Only cases of this check.")] = None,
    outcome: Annotated[
        Literal["pass", "fail", "not_applicable", "error"] | None,
        Query(description="What came of the case; with `check`, what that check said."),
    ] = None,
    kind: Annotated[
        Literal["unexpected", "error", "missed", "expected", "not_applicable", "pass"] | None,
        Query(description="The outcome, weighed against what was expected."),
    ] = None,
    rule: Annotated[str | None, Query(max_length=MOST_WORDS, description="Only cases where this rule fired.")] = None,
    q: Words = None,
    page: PageNumber = 1,
    per_page: PerPage = 50,
) -> Response:
    """Cases of a run of the checks, by check, outcome, rule and words."""
    found = await workbench_of(request).from_history(
        lambda history: history.outcomes(
            run_id, check=check, outcome=outcome, kind=kind, rule=rule, search=q, page=page, per_page=per_page
        )
    )
    return Json(found)


@router.get("/runs/{run_id}/cases/{case_id:path}", **described(CaseOutcome, words="The case."))
async def case(
    request: Request,
    run_id: RunId,
    case_id: Annotated[str, Path(description="Id of the case.", examples=["LUV-001"])],
) -> Response:
    """One case of a run: its verdicts with their evidence; its texts if they were saved."""
    return Json(await workbench_of(request).from_history(lambda history: history.case(run_id, case_id)))


@router.get("/runs/{run_id}/samples", **described(Page[SampleOutcome], words="The samples that fit."))
async def samples(
    request: Request,
    run_id: RunId,
    iteration: Annotated[int | None, Query(ge=1, le=1_000_000, description="Only this iteration.")] = None,
    outcome: Annotated[Literal["pass", "fail", "error"] | None, Query(description="What came of it.")] = None,
    q: Words = None,
    page: PageNumber = 1,
    per_page: PerPage = 50,
) -> Response:
    """Samples of a judged run with their scores, and with claims and reasons if texts were saved."""
    found = await workbench_of(request).from_history(
        lambda history: history.samples(
            run_id, iteration=iteration, outcome=outcome, search=q, page=page, per_page=per_page
        )
    )
    return Json(found)
