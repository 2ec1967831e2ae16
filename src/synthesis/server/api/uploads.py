"""Uploaded case files: sent in one piece, evaluated beside the server, followed by events."""

from collections.abc import Iterator
from typing import Annotated, Literal

from fastapi import Path, Query
from starlette.concurrency import iterate_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from synthesis.cases.logs.options import parse_map
from synthesis.report.formats import get_format
from synthesis.report.reading import open_report
from synthesis.server.api.routing import PREFIX, api_router
from synthesis.server.conversation import language_code
from synthesis.server.errors import ApiError
from synthesis.server.events import follow
from synthesis.server.jobs import DONE, OVER, WAITING
from synthesis.server.json import Json
from synthesis.server.limits import in_thread, require_length, write_body
from synthesis.server.schema import EVENTS, JSON, described
from synthesis.server.streams import Stream
from synthesis.server.uploads.store import Upload, UploadFolder, UploadOrder
from synthesis.server.workbench import known_checks, workbench_of

router = api_router("uploads")
ANY = {"type": "string", "format": "binary"}
KINDS = {
    "csv": "text/csv",
    "html": "text/html",
    "json": JSON,
    "junit": "application/xml",
    "markdown": "text/markdown",
    "sarif": "application/sarif+json",
}
# The report is one page with its own styles and no script; it may do nothing else.
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; sandbox"
UploadId = Annotated[str, Path(description="Id of the upload.", examples=["wYx3b0m1xkJt8dM2T0n9Vg"])]


@router.post(
    "/uploads",
    **described(Upload, words="It waits.", takes=ANY, takes_type="application/octet-stream", status=202),
)
async def upload(
    request: Request,
    kind: Annotated[Literal["jsonl", "json", "csv", "tsv"], Query(description="What the file is.")] = "jsonl",
    checks: Annotated[str, Query(description="Names of checks, with commas, for rows that name none.")] = "",
    lang: Annotated[str, Query(description="Language of rows that do not say theirs.")] = "",
    columns: Annotated[str, Query(alias="map", description="Names in a log: user=prompt,assistant=reply.")] = "",
    on_bad_row: Annotated[Literal["stop", "error"] | None, Query(description="What a bad row does.")] = None,
) -> Response:
    """Upload a case file, a chat log or a table (the body is the file), and have it evaluated."""
    workbench = workbench_of(request)
    settings = workbench.settings
    workbench.uploads.slots.require_free()
    require_length(request, settings.max_upload)
    order = UploadOrder(
        kind=kind,
        checks=known_checks([name.strip() for name in checks.split(",")]) if checks.strip() else (),
        language=language_code(lang),
        on_bad_row=on_bad_row,
        columns=parse_map(columns) if columns else {},
        folders=settings.folders,
        disabled=settings.disabled,
        most_line=settings.max_body,
    )
    name, folder = workbench.upload_store.new()
    try:
        size = await write_body(request, folder.input(kind), settings.max_upload, settings.timeout)
        waiting = Upload(name, WAITING, size)
        folder.save(waiting)
        workbench.uploads.add(folder, order)
    except BaseException:
        folder.remove()
        raise
    return Json(waiting, 202, {"Location": f"{PREFIX}/uploads/{name}"})


@router.get("/uploads/{upload_id}", **described(Upload, words="How far it is."))
async def progress(request: Request, upload_id: UploadId) -> Response:
    """How far the evaluation of an upload is."""
    return Json(_folder(request, upload_id).load())


@router.get("/uploads/{upload_id}/events", **described(ANY, words="Events.", gives_type=EVENTS))
async def events(request: Request, upload_id: UploadId) -> Response:
    """Follow an upload: events `progress`, and one `done` when it is done, failed or cancelled, all with its state."""
    return follow(request, _folder(request, upload_id))


@router.post("/uploads/{upload_id}/cancel", **described(Upload, words="As it is now; it ends within a moment."))
async def cancel(request: Request, upload_id: UploadId) -> Response:
    """Cancel an upload that waits or is worked on. One that is over stays as it is."""
    folder = _folder(request, upload_id)
    if folder.load().state not in OVER:
        folder.cancel()
    return Json(folder.load())


@router.delete(
    "/uploads/{upload_id}", status_code=204, response_model=None, responses=described(Upload)["responses"] | {204: {}}
)
async def forget(request: Request, upload_id: UploadId) -> Response:
    """Forget an upload that is over: its report is removed."""
    folder = _folder(request, upload_id)
    if folder.load().state not in OVER:
        raise ApiError(409, "not_over", "The upload is not over yet.", "Cancel it first.")
    folder.remove()
    return Response(status_code=204)


@router.get("/uploads/{upload_id}/report", **described(ANY, words="The report."))
async def report(
    request: Request,
    upload_id: UploadId,
    form: Annotated[
        Literal["json", "html", "markdown", "csv", "junit", "sarif"], Query(alias="format", description="Its form.")
    ] = "json",
) -> Response:
    """The report on an upload that is done, as JSON or drawn in another form."""
    folder = _folder(request, upload_id)
    if folder.load().state != DONE:
        raise ApiError(409, "not_done", "There is no report: the upload is not done.", "Its state says why.")
    if form == "json":
        return FileResponse(folder.report, media_type=JSON)
    workbench = workbench_of(request)
    seconds = workbench.settings.timeout
    stored = await in_thread(workbench.threads, seconds, lambda: open_report(folder.report))
    drawn = get_format(form).render(stored, workbench.glossary)
    pieces = (piece.encode("utf-8", "backslashreplace") for piece in drawn)
    headers = {"Content-Security-Policy": REPORT_POLICY} if form == "html" else {}
    return Stream(iterate_in_threadpool(_joined(pieces)), KINDS[form], seconds, headers)


def _folder(request: Request, upload_id: str) -> UploadFolder:
    return workbench_of(request).upload_store.folder(upload_id)


def _joined(pieces: Iterator[bytes], size: int = 1 << 16) -> Iterator[bytes]:
    """Fewer, larger pieces: each one is a step between threads."""
    held: list[bytes] = []
    length = 0
    for piece in pieces:
        held.append(piece)
        length += len(piece)
        if length >= size:
            yield b"".join(held)
            held, length = [], 0
    yield b"".join(held)
