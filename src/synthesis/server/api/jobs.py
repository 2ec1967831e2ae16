"""Jobs: send a case file or a test set, follow its progress by events, cancel it, read its report or results."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Path, Query
from sse_starlette import EventSourceResponse
from starlette.concurrency import iterate_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from synthesis.checks.registry import named_checks
from synthesis.errors import InputError, OptionError, Problem
from synthesis.io import TEST_SETS
from synthesis.judge.journal import read_ledger
from synthesis.judge.results import judged_run
from synthesis.read.cases import is_unicode, side_of
from synthesis.read.inputs import Input, preview
from synthesis.read.lines import Row
from synthesis.read.mapping import checked_columns, first_called, parse_case_map, with_message_columns
from synthesis.read.shapes import ASKED, REPLIED, Shape, shape_of
from synthesis.report.formats import get_format
from synthesis.report.judged.layout import told
from synthesis.report.judged.run import JudgedRun
from synthesis.report.stored import StoredReport, open_report
from synthesis.server.api import BINARY, EVENTS, JSON, api_router, described
from synthesis.server.conversations import language_code
from synthesis.server.http import ApiError, JsonResponse, StreamedResponse, require_length, write_body
from synthesis.server.jobs import (
    OVER,
    REPORT,
    RESULTS,
    Job,
    JobFolder,
    JobStore,
    JudgeJob,
    JudgeTask,
    Task,
    Upload,
    UploadTask,
    in_page_words,
    spelled_out,
    without_options,
)
from synthesis.server.state import ServerState, server_state

PAUSE = 0.1  # seconds between two reads of the state file
AN_ID = "wYx3b0m1xkJt8dM2T0n9Vg"  # an example
FILE = "application/octet-stream"


def new_job(words: str, kind: type[Job]) -> dict[str, Any]:
    """Arguments for the decorator of a route whose body is the file of a job."""
    return described(kind, words=words, takes=BINARY, takes_type=FILE, status=202)


async def receive(request: Request, store: JobStore[Any], task: Task) -> Response:
    """Create a job from the body; 202 with its state, 429 if too many wait."""
    server = server_state(request)
    settings = server.settings
    server.jobs.slots.require_free()
    require_length(request, settings.max_upload)
    with store.new() as folder:
        size = await write_body(request, folder.path / task.file, settings.max_upload, settings.timeout)
        job = server.jobs.add(folder, task, size)
    return JsonResponse(job, 202, {"Location": f"{request.url.path}/{job.id}"})


def add_job_routes(
    router: APIRouter, path: str, kind: type[Job], parameter: str, store: Callable[[ServerState], JobStore[Any]]
) -> None:
    """Progress, events and cancelling, which are the same for every kind of job. `parameter` is the id in the path."""

    def folder(request: Request, job_id: str) -> JobFolder[Any]:
        return store(server_state(request)).folder(job_id)

    noun = f"{'an' if kind.noun[0] in 'aeiou' else 'a'} {kind.noun}"
    one = f"{path}/{{{parameter}}}"
    named = Path(alias=parameter, description=f"Id of the {kind.noun}.", examples=[AN_ID])

    @router.get(one, **described(kind, words="Its progress."), description=f"The progress of {noun}.")
    async def progress(request: Request, job_id: str = named) -> Response:
        return JsonResponse(folder(request, job_id).load())

    @router.get(
        f"{one}/events",
        **described(BINARY, words="Events.", gives_type=EVENTS),
        description=f"Follow {noun}: events `progress`, and one `done` when it is over, all with its state.",
    )
    async def events(request: Request, job_id: str = named) -> Response:
        return follow(request, folder(request, job_id))

    @router.post(
        f"{one}/cancel",
        **described(kind, words="Its state; one that runs ends shortly."),
        description=f"Cancel {noun} that is waiting or running. A finished one stays as it is.",
    )
    async def cancel(request: Request, job_id: str = named) -> Response:
        return JsonResponse(folder(request, job_id).cancel())


def follow(request: Request, folder: JobFolder[Any]) -> Response:
    """Events `progress`, and one `done` when the job is over, all with its state; 429 if too many clients follow."""
    server = server_state(request)
    server.followers.require_free()

    async def events() -> AsyncIterator[dict[str, str]]:
        with server.followers.one():
            async for name, job in _changes(folder):
                yield {"event": name, "data": msgspec.json.encode(job).decode()}

    return EventSourceResponse(events(), sep="\n", send_timeout=server.settings.timeout)


async def _changes(folder: JobFolder[Any]) -> AsyncIterator[tuple[str, Job]]:
    last: Job | None = None
    while True:
        try:
            now: Job = folder.load()
        except ApiError:  # it was removed
            return
        if now.state in OVER:
            yield "done", now
            return
        if now != last:
            yield "progress", now
            last = now
        await asyncio.sleep(PAUSE)


# Uploads: case files, chat logs and tables.


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
Kind = Annotated[Literal["jsonl", "json", "csv", "tsv", "parquet"], Query(description="Type of the file.")]
UploadId = Annotated[str, Path(description="Id of the upload.", examples=[AN_ID])]


@router.post("/uploads", **new_job("It is waiting.", Upload))
async def upload(
    request: Request,
    kind: Kind = "jsonl",
    checks: Annotated[str, Query(description="Names of checks, separated by commas, for rows that name none.")] = "",
    lang: Annotated[str, Query(description="Language of rows that do not name one.")] = "",
    columns: Annotated[
        str,
        Query(alias="map", description="Columns of a log: user=prompt,assistant=reply, or the same as a JSON object."),
    ] = "",
    sort: Annotated[bool, Query(description="Sort rows by their conversation first.")] = False,
    profile: Annotated[
        Literal["traffic", "authored"], Query(description="Where the conversations come from: `traffic` or `authored`.")
    ] = "traffic",
    reader: Annotated[
        Literal["learned", "rules"] | None,
        Query(description="Rules and the learned reader, or rules alone. [default: that of the server]"),
    ] = None,
    on_bad_row: Annotated[
        Literal["stop", "error"] | None,
        Query(description="What to do with an invalid row: stop, or count it as an error."),
    ] = None,
) -> Response:
    """Upload a case file, a chat log or a table (the body is the file) and evaluate it."""
    server = server_state(request)
    task = UploadTask(
        kind=kind,
        checks=named_checks(checks),
        language=language_code(lang),
        on_bad_row=on_bad_row,
        columns=_columns(columns) if columns else {},
        sort=sort,
        profile=profile,
        reader=reader or server.settings.reader,
        folders=server.settings.folders,
        disabled=server.settings.disabled,
        most_line=server.settings.max_body,
    )
    return await receive(request, server.uploads, task)


def _columns(text: str) -> dict[str, str]:
    """A map in the syntax of --map, or JSON, since the name of a column may contain a comma."""
    try:
        if text.startswith("{"):
            return checked_columns(msgspec.json.decode(text, type=dict[str, str]))
        return parse_case_map(text)
    except OptionError as error:
        message, hint = error.message.replace("--map", "The map"), without_options(error.hint or "")
        raise ApiError(422, "invalid_map", message, hint) from None
    except msgspec.DecodeError as error:
        raise ApiError(422, "invalid_map", f"The map is not a JSON object of strings: {error}") from None


add_job_routes(router, "/uploads", Upload, "upload_id", lambda server: server.uploads)


@router.delete(
    "/uploads/{upload_id}", status_code=204, response_model=None, responses=described(Upload)["responses"] | {204: {}}
)
async def forget(request: Request, upload_id: UploadId) -> Response:
    """Delete a finished upload and its report."""
    folder = server_state(request).uploads.folder(upload_id)
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
    server = server_state(request)
    folder = server.uploads.folder(upload_id)
    folder.require_done("There is no report")
    if form == "json":
        return FileResponse(folder.path / REPORT, media_type=JSON)
    stored = await server.in_thread(lambda: open_report(folder.path / REPORT))
    return drawn_report(server, stored, form)


def drawn_report(
    server: ServerState, stored: StoredReport, form: str, headers: Mapping[str, str] | None = None
) -> Response:
    """A report in one of its formats, sent as it is drawn."""
    drawn = get_format(form).render(stored, server.glossary)
    pieces = (piece.encode("utf-8", "backslashreplace") for piece in drawn)
    policy = {"Content-Security-Policy": REPORT_POLICY} if form == "html" else {}
    seconds = server.settings.timeout
    return StreamedResponse(iterate_in_threadpool(_joined(pieces)), KINDS[form], seconds, {**policy, **(headers or {})})


def _joined(pieces: Iterator[bytes], size: int = 1 << 16) -> Iterator[bytes]:
    """Join small pieces: each one costs a switch between threads."""
    held: list[bytes] = []
    length = 0
    for piece in pieces:
        held.append(piece)
        length += len(piece)
        if length >= size:
            yield b"".join(held)
            held, length = [], 0
    yield b"".join(held)


# The beginning of a file: its first rows, and what its columns seem to be.


MOST_PREVIEW = 1 << 20  # bytes
ROWS = 5
MOST_CELL = 200  # characters that are shown of a cell
MOST_COLUMNS = 100
CASE, MESSAGE, EXCHANGE, CONVERSATION, KNOWN = "case", "message", "exchange", "conversation", "known"


class PreviewRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """The cells of a row in the order of the columns, or why it cannot be read."""

    line: int
    cells: list[str] = []
    problem: str = ""


class UploadPreview(msgspec.Struct, frozen=True):
    """The beginning of a file."""

    shape: Annotated[
        Literal["case", "message", "exchange", "conversation", "known"],
        msgspec.Meta(description="What a row seems to be; `known`: a shape that is read without a map."),
    ]
    columns: Annotated[list[str], msgspec.Meta(description="The names of its columns.")]
    map: Annotated[dict[str, str], msgspec.Meta(description="Field of a case -> column that seems to hold it.")]
    rows: Annotated[list[PreviewRow], msgspec.Meta(description="The first rows; none of a Parquet file.")]


@router.post("/previews", **described(UploadPreview, words="The preview.", takes=BINARY, takes_type=FILE))
async def beginning(request: Request, kind: Kind = "jsonl") -> Response:
    """The first rows of a file, and what its columns seem to be; nothing is stored.

    The body is the file or its beginning; of a Parquet file, its end.
    """
    server = server_state(request)
    with TemporaryDirectory(prefix="synthesis-preview-") as folder:
        path = FilePath(folder) / f"upload.{kind}"
        await write_body(request, path, MOST_PREVIEW, server.settings.timeout)
        try:
            return JsonResponse(await server.in_thread(lambda: previewed(path, MOST_PREVIEW)))
        except InputError as error:
            problem = in_page_words(error, path.name)
            raise ApiError(422, problem.code, problem.message, problem.hint) from None


def previewed(path: FilePath, most_line: int) -> UploadPreview:
    """A file, or the beginning of one; InputError says why it cannot be read."""
    source = Input.of(path)
    found = preview(source, most_line, ROWS)
    columns = found.columns[:MOST_COLUMNS]
    shape, fields = _meaning([name for name in columns if is_unicode(name)], found.rows)
    if "checks" in columns and source.looked_at(most_line).holds_cases(mapped=False):
        shape, fields = CASE, {}
    return UploadPreview(shape, [*map(spelled_out, columns)], fields, [_row(row, columns) for row in found.rows])


def _meaning(columns: list[str], rows: Sequence[Row | Problem]) -> tuple[Any, dict[str, str]]:
    of_messages = with_message_columns({}, columns)
    if of_messages:
        return MESSAGE, of_messages
    shape = shape_of(tuple(columns))
    if shape is not None:
        return _suggested(shape)
    sides = {
        side: first_called(names, columns) or next((name for name in columns if side_of(name) == side), None)
        for side, names in (("user", ASKED), ("assistant", REPLIED))
    }
    if not all(sides.values()) and (by_values := _by_values(columns, rows)):
        return MESSAGE, by_values
    return EXCHANGE, {side: name for side, name in sides.items() if name}


def _suggested(shape: Shape) -> tuple[Any, dict[str, str]]:
    """What can be chosen otherwise: two columns, or a list of messages."""
    if shape.pair:
        return EXCHANGE, dict(zip(("user", "assistant"), shape.pair, strict=True))
    return (CONVERSATION, {"messages": shape.columns[0]}) if shape.is_list else (KNOWN, {})


def _by_values(columns: list[str], rows: Sequence[Row | Problem]) -> dict[str, str]:
    """The columns of a message per row by what they hold: one says who speaks, another has the longest texts."""
    cells = {name: [row.fields.get(name) for row in rows if isinstance(row, Row)] for name in columns}
    texts = {name: [one for one in values if isinstance(one, str)] for name, values in cells.items()}
    role = next((name for name in columns if texts[name] and all(map(side_of, texts[name]))), None)
    others = sorted((name for name in columns if name != role), key=lambda name: -len("".join(texts[name])))
    if role is None or len(others) < 2:
        return {}
    rest = [name for name in columns if name in others[1:]]
    return {
        "conversation": next((name for name in rest if _repeats(cells[name])), rest[0]),
        "role": role,
        "text": others[0],
    }


def _repeats(values: Sequence[Any]) -> bool:
    return len({*map(str, values)}) < len(values)


def _row(row: Row | Problem, columns: list[str]) -> PreviewRow:
    if isinstance(row, Problem):
        return PreviewRow(row.line, problem=spelled_out(row.message))
    return PreviewRow(row.line, [_cell(row.fields.get(name)) for name in columns])


def _cell(value: Any) -> str:
    """A value as it can be shown; a long one is cut."""
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return spelled_out(f"{text[:MOST_CELL]} …" if len(text) > MOST_CELL else text)


# Judged runs: test sets, by the offline judge.


judging_router = api_router("judged runs")
MOST_ITERATIONS = 10
BundledSet = Literal["passages", "courses"]
BundledRubric = Literal["course", "rag", "relational"]


@judging_router.post("/judge/runs", **new_job("It is waiting.", JudgeJob))
async def start(
    request: Request,
    name: Annotated[str, Query(max_length=200, description="Name of the run in the history.")] = "",
    iterations: Annotated[
        int, Query(ge=1, le=MOST_ITERATIONS, description="How many times each sample is judged.")
    ] = 1,
    rubric: Annotated[
        BundledRubric | None, Query(description="Rubric; by default chosen by whether the samples have contexts.")
    ] = None,
    save: Annotated[bool, Query(description="Save it in the history.")] = True,
    save_text: Annotated[bool, Query(description="Save questions, answers and reasons too.")] = False,
) -> Response:
    """Judge a test set with the offline judge, which needs no API key. The body is the set: a JSON array of samples."""
    server = server_state(request)
    task = JudgeTask(name.strip() or "uploaded set", iterations, rubric, save, save_text, server.settings.history)
    return await receive(request, server.judged, task)


def start_bundled(server: ServerState, name: BundledSet, task: JudgeTask) -> Job:
    """Judge one of the bundled sets."""
    server.jobs.slots.require_free()
    with server.judged.new() as folder:
        size = (folder.path / task.file).write_bytes((TEST_SETS / f"{name}.json").read_bytes())
        return server.jobs.add(folder, task, size)


add_job_routes(judging_router, "/judge/runs", JudgeJob, "job_id", lambda server: server.judged)


@judging_router.get("/judge/runs/{job_id}/results", **described(JudgedRun, words="The results."))
async def results(
    request: Request, job_id: Annotated[str, Path(description="Id of the judged run.", examples=[AN_ID])]
) -> Response:
    """The results of a judged run: figures, costs, failure analysis and every sample, by iteration."""
    server = server_state(request)
    folder = server.judged.folder(job_id)
    folder.require_done("There are no results")
    return JsonResponse(await server.in_thread(lambda: _results(folder.path / RESULTS)))


def _results(folder: FilePath) -> Any:
    ledger = read_ledger(folder)
    return told(msgspec.to_builtins(judged_run(ledger)), ledger.present_run().layout)
