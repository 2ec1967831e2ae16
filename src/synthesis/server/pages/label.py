"""Label: go through verdicts one by one, agree or disagree, and download the labels as a file."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from synthesis.history import SavedRun
from synthesis.history.model import CHECKS, JUDGE
from synthesis.judge.results import read_run
from synthesis.model import Case, CaseResult
from synthesis.report.judged.run import JudgedRun
from synthesis.report.reading import open_report
from synthesis.rules.language import language_of
from synthesis.server.conversations import cases_by_language
from synthesis.server.errors import ApiError, not_found
from synthesis.server.jobs import DONE
from synthesis.server.pages.case_view import CONTENT_WARNING, needs_content_warning, with_texts_of
from synthesis.server.pages.label_items import LabelItem, case_items, sample_items
from synthesis.server.pages.layout import number_in, page
from synthesis.server.state import ServerState, server_state

if TYPE_CHECKING:
    from synthesis.history.store import History

router = APIRouter(include_in_schema=False)
AT_ONCE = 100  # cases on one page
OFFERED = 20  # runs to choose from
CAUTION = "These are conversations that people had. They may be about suicide, self-harm, violence or grief."


class LabelSet(NamedTuple):
    """What to label: its source, its title, and one part of its items."""

    source: str
    title: str
    items: list[LabelItem]
    parts: int
    home: str
    is_screened: bool = False  # items about a crisis are known, so no general caution is needed


@router.get("/label")
async def choose(request: Request) -> Response:
    """What there is to label."""
    server = server_state(request)

    def look() -> tuple[list[SavedRun], list[SavedRun]]:
        history = server.history.open_if_present()
        if history is None:
            return [], []
        kept = [[run for run in history.runs(limit=200, kind=kind) if run.with_text] for kind in (CHECKS, JUDGE)]
        return kept[0][:OFFERED], kept[1][:OFFERED]

    runs, judged = await server.in_thread(look)
    bundled = [(code, language_of(code).name, len(cases)) for code, cases in cases_by_language().items()]
    return page(request, "label.html", title="Label", runs=runs, judged=judged, bundled=bundled)


@router.get("/label/cases")
async def cases(request: Request) -> Response:
    """Cases of a run, of an upload, or bundled ones, with the verdict of each check."""
    server = server_state(request)
    query = request.query_params
    part = number_in(query.get("part"))
    with server.slots.one():
        found = await server.in_thread(
            lambda: _cases(server, dict(query), part),
        )
    return _bench(request, found, "cases", part)


@router.get("/label/samples")
async def samples(request: Request) -> Response:
    """Samples of a judged run with the judge's scores."""
    server = server_state(request)
    found = await server.in_thread(lambda: _samples(server, dict(request.query_params)))
    return _bench(request, found, "samples", 1)


def _bench(request: Request, found: LabelSet, mode: str, part: int) -> Response:
    is_crisis = any(item.content_warning for item in found.items)
    warning = CONTENT_WARNING if is_crisis else "" if found.is_screened else CAUTION
    return page(request, "label_bench.html", title="Label", set=found, mode=mode, part=part, warning=warning)


def _cases(server: ServerState, query: dict[str, str], part: int) -> LabelSet:
    first = (part - 1) * AT_ONCE + 1
    if "run" in query:
        history = server.history.open()
        return _of_run(server, history, history.run(query["run"]), part)
    if "upload" in query:
        uploaded, total = _uploaded(server, query["upload"])
        items = case_items(islice(uploaded, first - 1, first - 1 + AT_ONCE), server.glossary, first)
        return LabelSet(f"upload:{query['upload']}", "Uploaded file", items, -(-total // AT_ONCE), "/label")
    language = query.get("bundled", "")
    if language not in cases_by_language():
        raise not_found("There is nothing of that name to label.", "Choose on the page Label.")
    known = cases_by_language()[language]
    chosen = known[first - 1 : first - 1 + AT_ONCE]
    results = [with_texts_of(case, server.evaluate(case)) for case in chosen]
    title = f"Bundled cases: {language_of(language).name}"
    items = case_items(results, server.glossary, first)
    return LabelSet(f"bundled:{language}", title, items, -(-len(known) // AT_ONCE), "/label", is_screened=True)


def _of_run(server: ServerState, history: "History", run: SavedRun, part: int) -> LabelSet:
    if run.kind != CHECKS:
        raise not_found("A judged run has samples to label, not cases.")
    if not run.with_text:
        raise ApiError(409, "no_texts", "This run was saved without its texts.", "`synthesis --save-text` keeps them.")
    found = history.outcomes(run.id, page=part, per_page=AT_ONCE)
    items = case_items((case.result for case in found.items), server.glossary, (part - 1) * AT_ONCE + 1)
    return LabelSet(f"run:{run.id}", run.name, items, found.pages, f"/runs/{run.id}")


def _uploaded(server: ServerState, upload_id: str) -> tuple[Iterator[CaseResult], int]:
    folder = server.upload_store.folder(upload_id)
    upload = folder.load()
    if upload.state != DONE:
        raise ApiError(409, "not_done", "The upload is not finished.", "Try again in a moment.")
    return open_report(folder.report).results(), upload.cases


def _samples(server: ServerState, query: dict[str, str]) -> LabelSet:
    run, source, home = _judged(server, query)
    items = [item._replace(content_warning=_is_about_crisis(server, item)) for item in sample_items(run)]
    if not items:
        raise ApiError(409, "no_texts", "This run was saved without its texts.", "`--save-text` keeps them.")
    return LabelSet(source, run.name, items, 1, home, is_screened=True)


def _is_about_crisis(server: ServerState, sample: LabelItem) -> bool:
    """Whether question or answer mention a crisis; the rules for crisis cues decide."""
    said = Case("", ("crisis_response",), str(sample.body.striptags()), ".")
    return needs_content_warning(server.evaluate(said))


def _judged(server: ServerState, query: dict[str, str]) -> tuple[JudgedRun, str, str]:
    if "job" in query:
        folder = server.judge_store.folder(query["job"])
        if folder.load().state != DONE:
            raise ApiError(409, "not_done", "The run is not finished.", "Try again in a moment.")
        return read_run(folder.results), f"job:{query['job']}", f"/judged/{query['job']}"
    run_id = query.get("run", "")
    return server.history.open().judged(run_id), f"judged:{run_id}", f"/judged/{run_id}"
