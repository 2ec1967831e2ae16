"""Label: choose a saved run, see how far people agree and what their labels say, and take them home as a file."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from synthesis.history import SavedCase, SavedRun, SavedSample
from synthesis.history.model import CHECKS, JUDGE
from synthesis.labels.summary import (
    SKIP,
    Label,
    LabelSummary,
    Person,
    Place,
    answers_by_place,
    checked_person,
    letters,
    question_text,
    score_text,
)
from synthesis.server.errors import ApiError
from synthesis.server.pages.label_items import labelled_cases, labelled_samples
from synthesis.server.pages.layout import page, read_form
from synthesis.server.people import NAME_COOKIE, name_cookie, need_token, person_of
from synthesis.server.state import server_state

if TYPE_CHECKING:
    from synthesis.history.store import History, RunLabels

router = APIRouter(include_in_schema=False)
OFFERED = 20  # runs to choose from
MOST_LISTED = 100  # disputed or skipped questions on the page
A_YEAR = 365 * 24 * 3600
NO_TEXTS = ApiError(409, "no_texts", "This run was saved without its texts.", "`--save-text` keeps them.")


class Listed(NamedTuple):
    """A question in a list; what people said is None for someone who has not answered it."""

    position: int
    question: str
    said: list[tuple[str, str]] | None


class RunPage(NamedTuple):
    """A run with what its page of labels shows."""

    run: SavedRun
    summary: LabelSummary
    disputed: list[Listed]
    skipped: list[Listed]
    progress: tuple[int, int]
    strata: dict[str, int]


@router.get("/label")
async def choose(request: Request) -> Response:
    """What there is to label."""

    def look(history: "History") -> list[list[SavedRun]]:
        kinds = (history.runs(limit=200, kind=kind) for kind in (CHECKS, JUDGE))
        return [[run for run in runs if run.with_text][:OFFERED] for runs in kinds]

    runs, judged = await server_state(request).from_history_if_any(look) or ([], [])
    return page(request, "label.html", title="Label", runs=runs, judged=judged)


@router.get("/label/runs/{run_id}")
async def run(request: Request, run_id: str) -> Response:
    """Who labels, how far they are, and what the labels say."""
    server = server_state(request)
    person = person_of(request)
    found = await server.from_history(lambda history: _run_page(labels_of(history, run_id), person))
    return page(
        request,
        "label_run.html",
        title=f"Label: {found.run.name}",
        found=found,
        person=person,
        verifies=bool(server.settings.people),
        is_judged=found.run.kind == JUDGE,
        question_text=score_text if found.run.kind == JUDGE else question_text,
        most=MOST_LISTED,
    )


@router.post("/label/runs/{run_id}/begin")
async def begin(request: Request, run_id: str) -> Response:
    """Remember the typed name, where people have no tokens of their own, and go to the first question."""
    server = server_state(request)
    one = await server.from_history(lambda history: labels_of(history, run_id).run)
    response = RedirectResponse(f"/label/runs/{one.id}/next", 303)
    if server.settings.people:
        if person_of(request) is None:
            raise need_token()
        return response
    form = await read_form(request)
    person = checked_person(form.get("name", [""])[0], verified=False)
    secure = request.url.scheme == "https"
    response.set_cookie(
        NAME_COOKIE, name_cookie(person), max_age=A_YEAR, httponly=True, samesite="strict", secure=secure, path="/label"
    )
    return response


@router.get("/label/runs/{run_id}/export")
async def export(request: Request, run_id: str) -> Response:
    """The labels as a file that `synthesis eval` or `synthesis judge calibrate` reads; nobody is named in it."""

    def read(history: "History") -> tuple[str, bytes]:
        labels = labels_of(history, run_id)
        every = labels.all()
        positions = sorted({label.position for label in every})
        if labels.run.kind == CHECKS:
            cases = (case_at(history, labels.run, position) for position in positions)
            return "labelled-cases.jsonl", b"".join(labelled_cases(cases, every))
        names = {position: sample_at(history, labels, position).query_log_id for position in positions}
        return "labels.json", msgspec.json.format(msgspec.json.encode(labelled_samples(names, every))) + b"\n"

    name, content = await server_state(request).from_history(read)
    if not content.strip(b"[]\n"):
        raise ApiError(409, "no_labels", "There is no label yet on which people agree.", "Label a case first.")
    kind = "application/x-ndjson" if name.endswith("jsonl") else "application/json"
    return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def labels_of(history: "History", run_id: str) -> "RunLabels":
    """The labels of a run that has texts."""
    labels = history.labels(run_id)
    if not labels.run.with_text:
        raise NO_TEXTS
    return labels


def case_at(history: "History", run: SavedRun, position: int) -> SavedCase:
    return history.cases_at(run.id, [position])[0]


def sample_at(history: "History", labels: "RunLabels", position: int) -> SavedSample:
    found = history.samples(labels.run.id, iteration=labels.last_iteration, page=position + 1, per_page=1)
    return found.items[0]


def _run_page(labels: "RunLabels", person: Person | None) -> RunPage:
    every, summary = labels.all(), labels.summary()
    own = {(label.position, label.question): label.answer for label in every if label.person == person}
    drawn = labels.sampling.rows if labels.sampling else ()
    return RunPage(
        labels.run,
        summary,
        list(_disputed(summary.disputed[:MOST_LISTED], every, own)),
        [Listed(*place, None) for place, answer in own.items() if answer == SKIP][:MOST_LISTED],
        labels.progress(person) if person else (0, 0),
        dict(sorted(Counter(row.stratum for row in drawn).items())),
    )


def _disputed(places: list[Place], labels: list[Label], own: dict[Place, str]) -> Iterator[Listed]:
    """With what people said, under their letters, where the person who looks has answered."""
    named, given = letters(labels), answers_by_place(labels)
    for place in places:
        said = [(named[label.person], label.answer) for label in given[place]]
        yield Listed(*place, None if own.get(place, SKIP) == SKIP else said)
