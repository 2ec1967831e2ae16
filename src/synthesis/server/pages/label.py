"""Label: go through verdicts one by one, agree or disagree, and take the labels home as a file."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from synthesis.history import Run
from synthesis.history.model import CHECKS, JUDGE
from synthesis.judge.judged_runs import read_run
from synthesis.model import Case, CaseResult
from synthesis.report.judged.run import JudgedRun
from synthesis.report.reading import open_report
from synthesis.rules.language import language_of
from synthesis.server.bundled_cases import cases_by_language
from synthesis.server.errors import ApiError, not_found
from synthesis.server.jobs import DONE
from synthesis.server.labelling import Item, case_items, sample_items
from synthesis.server.limits import in_thread
from synthesis.server.pages.frame import page
from synthesis.server.painful import WARNING, is_painful
from synthesis.server.workbench import Workbench, workbench_of

if TYPE_CHECKING:
    from synthesis.history.store import History

router = APIRouter(include_in_schema=False)
AT_ONCE = 100  # cases on one page
OFFERED = 20  # runs to choose from
CAUTION = "These are conversations that people had. They may be about suicide, self-harm, violence or grief."


class LabelSet(NamedTuple):
    """What is to be labelled: where it is from, what it is called, and one part of it."""

    source: str
    title: str
    items: list[Item]
    parts: int
    home: str
    is_known: bool = False  # what is painful in it is marked as such


@router.get("/label")
async def choose(request: Request) -> Response:
    """What there is to label."""
    workbench = workbench_of(request)

    def look() -> tuple[list[Run], list[Run]]:
        history = workbench.shelf.found()
        if history is None:
            return [], []
        kept = [[run for run in history.runs(limit=200, kind=kind) if run.with_text] for kind in (CHECKS, JUDGE)]
        return kept[0][:OFFERED], kept[1][:OFFERED]

    runs, judged = await in_thread(workbench.threads, workbench.settings.timeout, look)
    bundled = [(code, language_of(code).name, len(cases)) for code, cases in cases_by_language().items()]
    return page(request, "label.html", title="Label", runs=runs, judged=judged, bundled=bundled)


@router.get("/label/cases")
async def cases(request: Request) -> Response:
    """Cases of a run, of an upload or of those that travel with the package, with the verdict of each check."""
    workbench = workbench_of(request)
    query = request.query_params
    part = int(query.get("part", "1")) if query.get("part", "1").isdecimal() else 1
    with workbench.slots.one():
        found = await in_thread(
            workbench.threads,
            workbench.settings.timeout,
            lambda: _cases(workbench, dict(query), min(max(part, 1), 10**6)),
        )
    return _bench(request, found, "cases", part)


@router.get("/label/samples")
async def samples(request: Request) -> Response:
    """Samples of a judged run with the judge's scores."""
    workbench = workbench_of(request)
    found = await in_thread(
        workbench.threads, workbench.settings.timeout, lambda: _samples(workbench, dict(request.query_params))
    )
    return _bench(request, found, "samples", 1)


def _bench(request: Request, found: LabelSet, mode: str, part: int) -> Response:
    painful = any(item.painful for item in found.items)
    warning = WARNING if painful else "" if found.is_known else CAUTION
    return page(request, "label_bench.html", title="Label", set=found, mode=mode, part=part, warning=warning)


def _cases(workbench: Workbench, query: dict[str, str], part: int) -> LabelSet:
    first = (part - 1) * AT_ONCE + 1
    if "run" in query:
        history = workbench.shelf.opened()
        return _of_run(workbench, history, history.run(query["run"]), part)
    if "upload" in query:
        uploaded, total = _uploaded(workbench, query["upload"])
        items = case_items(islice(uploaded, first - 1, first - 1 + AT_ONCE), workbench.glossary, first)
        return LabelSet(f"upload:{query['upload']}", "Uploaded file", items, -(-total // AT_ONCE), "/label")
    language = query.get("bundled", "")
    if language not in cases_by_language():
        raise not_found("There is nothing of that name to label.", "Choose on the page Label.")
    known = cases_by_language()[language]
    chosen = known[first - 1 : first - 1 + AT_ONCE]
    results = [msgspec.structs.replace(workbench.evaluate(case), texts=_texts(case)) for case in chosen]
    title = f"Bundled cases: {language_of(language).name}"
    items = case_items(results, workbench.glossary, first)
    return LabelSet(f"bundled:{language}", title, items, -(-len(known) // AT_ONCE), "/label", is_known=True)


def _of_run(workbench: Workbench, history: "History", run: Run, part: int) -> LabelSet:
    if run.kind != CHECKS:
        raise not_found("A judged run has samples to label, not cases.")
    if not run.with_text:
        raise ApiError(409, "no_texts", "This run was saved without its texts.", "`synthesis --save-text` keeps them.")
    found = history.outcomes(run.id, page=part, per_page=AT_ONCE)
    items = case_items((case.result for case in found.items), workbench.glossary, (part - 1) * AT_ONCE + 1)
    return LabelSet(f"run:{run.id}", run.name, items, found.pages, f"/runs/{run.id}")


def _uploaded(workbench: Workbench, upload_id: str) -> tuple[Iterator[CaseResult], int]:
    folder = workbench.upload_store.folder(upload_id)
    upload = folder.load()
    if upload.state != DONE:
        raise ApiError(409, "not_done", "The upload is not done.", "Try again in a moment.")
    return open_report(folder.report).results(), upload.cases


def _texts(case: Case) -> dict[str, Any]:
    if case.messages:
        return {"messages": [{"role": turn.role, "content": turn.content} for turn in case.messages]}
    return {"user": case.user, "assistant": case.assistant}


def _samples(workbench: Workbench, query: dict[str, str]) -> LabelSet:
    run, source, home = _judged(workbench, query)
    items = [item._replace(painful=_is_painful(workbench, item)) for item in sample_items(run)]
    if not items:
        raise ApiError(409, "no_texts", "This run was saved without its texts.", "`--save-text` keeps them.")
    return LabelSet(source, run.name, items, 1, home, is_known=True)


def _is_painful(workbench: Workbench, sample: Item) -> bool:
    """Whether question or answer speak of a crisis; the rules know the words for it."""
    said = Case("", ("crisis_response",), str(sample.body.striptags()), ".")
    return is_painful(workbench.evaluate(said))


def _judged(workbench: Workbench, query: dict[str, str]) -> tuple[JudgedRun, str, str]:
    if "job" in query:
        folder = workbench.judge_store.folder(query["job"])
        if folder.load().state != DONE:
            raise ApiError(409, "not_done", "The run is not done.", "Try again in a moment.")
        return read_run(folder.results), f"job:{query['job']}", f"/judged/{query['job']}"
    run_id = query.get("run", "")
    return workbench.shelf.opened().judged(run_id), f"judged:{run_id}", f"/judged/{run_id}"
