"""Uploaded case files: send one, follow its progress by events, read the report."""

from collections.abc import Iterator
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import msgspec
from fastapi import Path, Query
from starlette.concurrency import iterate_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from synthesis.errors import InputError, OptionError
from synthesis.read.rows import checked_columns, parse_map
from synthesis.report.formats import get_format
from synthesis.report.stored import open_report
from synthesis.server.api.routing import BINARY, EVENTS, JSON, PREFIX, api_router, described, follow
from synthesis.server.conversations import language_code
from synthesis.server.http import ApiError, JsonResponse, StreamedResponse, require_length, write_body
from synthesis.server.jobs import DONE, OVER, WAITING, Upload, UploadFolder, UploadOptions
from synthesis.server.state import known_checks, server_state
from synthesis.server.upload_view import UploadPreview, in_page_words, previewed

router = api_router("uploads")
KINDS = {
    "csv": "text/csv",
    "html": "text/html",
    "json": JSON,
    "junit": "application/xml",
    "markdown": "text/markdown",
    "sarif": "application/sarif+json",
}
# The report is one page with inline styles and no script, so this policy differs from that of the pages.
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; sandbox"
MOST_PREVIEW = 1 << 20  # bytes
Kind = Annotated[Literal["jsonl", "json", "csv", "tsv", "parquet"], Query(description="Type of the file.")]
UploadId = Annotated[str, Path(description="Id of the upload.", examples=["wYx3b0m1xkJt8dM2T0n9Vg"])]


@router.post(
    "/uploads",
    **described(Upload, words="It is waiting.", takes=BINARY, takes_type="application/octet-stream", status=202),
)
async def upload(
    request: Request,
    kind: Kind = "jsonl",
    checks: Annotated[str, Query(description="Names of checks, separated by commas, for rows that name none.")] = "",
    lang: Annotated[str, Query(description="Language of rows that do not name one.")] = "",
    columns: Annotated[
        str,
        Query(alias="map", description="Names in a log: user=prompt,assistant=reply, or the same as a JSON object."),
    ] = "",
    sort: Annotated[bool, Query(description="Sort rows by their conversation first.")] = False,
    profile: Annotated[Literal["traffic", "authored"], Query(description="Who asked.")] = "traffic",
    on_bad_row: Annotated[Literal["stop", "error"] | None, Query(description="What a bad row does.")] = None,
) -> Response:
    """Upload a case file, a chat log or a table (the body is the file) and evaluate it."""
    server = server_state(request)
    settings = server.settings
    server.uploads.slots.require_free()
    require_length(request, settings.max_upload)
    options = UploadOptions(
        kind=kind,
        checks=known_checks([name.strip() for name in checks.split(",")]) if checks.strip() else (),
        language=language_code(lang),
        on_bad_row=on_bad_row,
        columns=_columns(columns) if columns else {},
        sort=sort,
        profile=profile,
        folders=settings.folders,
        disabled=settings.disabled,
        most_line=settings.max_body,
    )
    name, folder = server.upload_store.new()
    try:
        size = await write_body(request, folder.input(kind), settings.max_upload, settings.timeout)
        waiting = Upload(name, WAITING, size)
        folder.save(waiting)
        server.uploads.add(folder, options)
    except BaseException:
        folder.remove()
        raise
    return JsonResponse(waiting, 202, {"Location": f"{PREFIX}/uploads/{name}"})


@router.post("/previews", **described(UploadPreview, words="It.", takes=BINARY, takes_type="application/octet-stream"))
async def beginning(request: Request, kind: Kind = "jsonl") -> Response:
    """The first rows of a file, and what its columns seem to be; nothing is kept of it.

    The body is the file or its beginning; of a Parquet file, its end.
    """
    server = server_state(request)
    with TemporaryDirectory(prefix="synthesis-preview-") as folder:
        path = FilePath(folder) / f"upload.{kind}"
        await write_body(request, path, MOST_PREVIEW, server.settings.timeout)
        try:
            return JsonResponse(await server.in_thread(lambda: previewed(path, MOST_PREVIEW)))
        except InputError as error:
            told = in_page_words(error, path.name)
            raise ApiError(422, told.code, told.message, told.hint) from None


def _columns(text: str) -> dict[str, str]:
    """A map as the command line takes it, or as JSON: the name of a column may hold a comma."""
    try:
        if text.startswith("{"):
            return checked_columns(msgspec.json.decode(text, type=dict[str, str]))
        return parse_map(text)
    except OptionError as error:
        raise ApiError(
            422, "invalid_map", error.message.replace("--map", "The map"), "Name each column once."
        ) from None
    except msgspec.DecodeError as error:
        raise ApiError(422, "invalid_map", f"The map is not an object of texts: {error}") from None


@router.get("/uploads/{upload_id}", **described(Upload, words="Its progress."))
async def progress(request: Request, upload_id: UploadId) -> Response:
    """The progress of an upload."""
    return JsonResponse(_folder(request, upload_id).load())


@router.get("/uploads/{upload_id}/events", **described(BINARY, words="Events.", gives_type=EVENTS))
async def events(request: Request, upload_id: UploadId) -> Response:
    """Follow an upload: events `progress`, and one `done` when it is done, failed or cancelled, all with its state."""
    return follow(request, _folder(request, upload_id))


@router.post("/uploads/{upload_id}/cancel", **described(Upload, words="Its state; it ends shortly."))
async def cancel(request: Request, upload_id: UploadId) -> Response:
    """Cancel an upload that is waiting or running. A finished one stays as it is."""
    return JsonResponse(_folder(request, upload_id).cancel())


@router.delete(
    "/uploads/{upload_id}", status_code=204, response_model=None, responses=described(Upload)["responses"] | {204: {}}
)
async def forget(request: Request, upload_id: UploadId) -> Response:
    """Delete a finished upload and its report."""
    folder = _folder(request, upload_id)
    if folder.load().state not in OVER:
        raise ApiError(409, "not_over", "The upload is not finished yet.", "Cancel it first.")
    folder.remove()
    return Response(status_code=204)


@router.get("/uploads/{upload_id}/report", **described(BINARY, words="The report."))
async def report(
    request: Request,
    upload_id: UploadId,
    form: Annotated[
        Literal["json", "html", "markdown", "csv", "junit", "sarif"], Query(alias="format", description="Its format.")
    ] = "json",
) -> Response:
    """The report of a finished upload, as JSON or in another format."""
    folder = _folder(request, upload_id)
    if folder.load().state != DONE:
        raise ApiError(409, "not_done", "There is no report: the upload is not finished.", "Its state says why.")
    if form == "json":
        return FileResponse(folder.report, media_type=JSON)
    server = server_state(request)
    seconds = server.settings.timeout
    stored = await server.in_thread(lambda: open_report(folder.report))
    drawn = get_format(form).render(stored, server.glossary)
    pieces = (piece.encode("utf-8", "backslashreplace") for piece in drawn)
    headers = {"Content-Security-Policy": REPORT_POLICY} if form == "html" else {}
    return StreamedResponse(iterate_in_threadpool(_joined(pieces)), KINDS[form], seconds, headers)


def _folder(request: Request, upload_id: str) -> UploadFolder:
    return server_state(request).upload_store.folder(upload_id)


def _joined(pieces: Iterator[bytes], size: int = 1 << 16) -> Iterator[bytes]:
    """Fewer, larger pieces: each one costs a switch between threads."""
    held: list[bytes] = []
    length = 0
    for piece in pieces:
        held.append(piece)
        length += len(piece)
        if length >= size:
            yield b"".join(held)
            held, length = [], 0
    yield b"".join(held)
