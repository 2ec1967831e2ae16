"""Judged runs: the saved ones, those that are running, the results of each, and several judges on the same samples."""

from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import msgspec
from fastapi import APIRouter
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from synthesis.errors import InputError
from synthesis.history import SavedRun
from synthesis.history.model import CHECKS, JUDGE
from synthesis.judge.ledger import Identity
from synthesis.judge.panel import Panel, PanelRun, PanelSample, build_panel
from synthesis.judge.results import read_run
from synthesis.report.judged.html import body, sample_texts, sample_verdicts
from synthesis.report.judged.run import JudgedRun, JudgedSample, axis_title
from synthesis.server.api.jobs import MOST_ITERATIONS, BundledSet, start_bundled
from synthesis.server.http import ApiError
from synthesis.server.jobs import DONE, OVER, RESULTS, JudgeJob, JudgeTask
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
    task = JudgeTask(wanted, int(iterations), save_text="save_text" in form, history=server.settings.history)
    return RedirectResponse(f"/judged/{start_bundled(server, wanted, task).id}", 303)


@router.get("/judged/{run_id}")
async def run(request: Request, run_id: str) -> Response:
    """One judged run: its progress or its results, from this server's own folder or from the history."""
    server = server_state(request)
    if server.judged.has(run_id):
        job = server.judged.folder(run_id).load()
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
    """The results in the folder are named after the folder, so the name comes from the job."""
    found = read_run(server.judged.folder(job.id).path / RESULTS)
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
    drawn = body(judged)
    title = f"Judged run: {judged.name}"
    return page(
        request, "judged_run.html", title=title, name=judged.name, body=drawn, job=job, run=saved, earlier=earlier
    )


# Panel: saved runs of several judges on the same samples, where they differ most first.


MOST_RUNS = 10  # all samples of every run are read for the page
DRAWN = 20  # samples that are shown with reasons and texts; only the ids of the others are listed


class JudgeColumn(NamedTuple):
    """One judge over the panel's samples: its run, and title and mean of each axis."""

    name: str
    run: SavedRun
    means: list[tuple[str, float | None]]
    passed: Any


class DifferingSample(NamedTuple):
    """A sample on which the judges differ; `verdicts` by judge, None where a judge has none."""

    sample: PanelSample
    texts: Markup
    verdicts: list[tuple[str, Markup | None]]


@router.get("/panel")
async def panel(request: Request) -> Response:
    """The panel of the runs that were ticked in the list of judged runs."""
    server = server_state(request)
    chosen = list(dict.fromkeys(one[:100] for one in request.query_params.getlist("run") if one))
    found = await server.in_thread(lambda: _found(server, chosen))
    return page(request, "panel.html", title="Panel", here="/judged", **found)


def _found(server: ServerState, chosen: list[str]) -> dict[str, Any]:
    history = server.history.open_if_present()
    if history is None or not 2 <= len(chosen) <= MOST_RUNS:
        return _problem(f"Tick two to {MOST_RUNS} runs of different judges on one test set.")
    saved = list({run.id: run for run in map(history.run, chosen)}.values())
    if any(run.kind != JUDGE for run in saved):
        return _problem("A run of the checks has no judge: choose judged runs only.")
    try:
        return _drawn_panel(history, saved)
    except InputError as error:
        return _problem(f"{error.message[0].upper()}{error.message[1:]}. {error.hint or ''}")


def _problem(problem: str) -> dict[str, Any]:
    return {"panel": None, "problem": problem}


def _drawn_panel(history: "History", saved: list[SavedRun]) -> dict[str, Any]:
    runs = _panel_runs(saved, [history.judged(run.id) for run in saved])
    found = build_panel(runs)
    most = found.most_different(DRAWN)
    return {
        "panel": found,
        "problem": "",
        "unsure": _may_differ(saved),
        "columns": [_column(found, number, run) for number, run in enumerate(saved)],
        "differing": _differing(most, runs),
        "rest": found.differ_most[DRAWN:],
    }


def _panel_runs(saved: list[SavedRun], judged: list[JudgedRun]) -> list[PanelRun]:
    """Runs are named by their judge, which says more than an id; by both where that is not enough."""
    judges = [run.judge for run in judged]
    names = [
        judge if judges.count(judge) == 1 else f"{judge}, run {run.id}"
        for judge, run in zip(judges, saved, strict=True)
    ]
    return [
        PanelRun(name, msgspec.convert(run.conditions["judge"], Identity), one, _texts(one))
        for name, run, one in zip(names, saved, judged, strict=True)
    ]


def _texts(judged: JudgedRun) -> dict[str, str]:
    """A history has no fingerprints: present questions and answers are compared, where they were saved."""
    texts = {error.query_log_id: "" for error in judged.last.errors}
    for sample in judged.last.records:
        known = not sample.stale and sample.question is not None and sample.system_answer is not None
        texts[sample.query_log_id] = repr((sample.question, sample.system_answer)) if known else ""
    return texts


def _may_differ(saved: list[SavedRun]) -> bool:
    """Whether samples of one id could have different texts without anyone noticing."""
    return len({run.input_hash for run in saved}) > 1 and not all(run.with_text for run in saved)


def _column(found: Panel, number: int, run: SavedRun) -> JudgeColumn:
    judge = found.judges[number]
    means = [(axis_title(judge.judge, axis), mean) for axis, mean in judge.means.items()]
    return JudgeColumn(judge.run, run, means, judge.passed)


def _differing(samples: list[PanelSample], runs: list[PanelRun]) -> list[DifferingSample]:
    found = [(run.run, run.verdicts()) for run in runs]
    drawn = []
    for sample in samples:
        judged = [(name, verdicts.get(sample.query_log_id)) for name, verdicts in found]
        with_text = next((one for _, one in judged if one is not None and one.question is not None), None)
        texts = sample_texts(with_text) if with_text else Markup()
        drawn.append(DifferingSample(sample, texts, [(name, _verdict(one)) for name, one in judged]))
    return drawn


def _verdict(sample: JudgedSample | None) -> Markup | None:
    return None if sample is None else sample_verdicts(sample)
