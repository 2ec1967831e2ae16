"""Saved runs and their labels: list, read, tag, delete, compare, label; figures over time."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from fastapi import Path, Query
from starlette.requests import Request
from starlette.responses import Response

from synthesis.errors import InputError
from synthesis.history import Figures, Page, Provenance, SavedCase, SavedRun, SavedSample, TrendPoint
from synthesis.history.model import CHECKS, JUDGE, RunFields
from synthesis.labels import SKIP, Label, LabelSummary, Person, Place, checked_person, letters
from synthesis.report.compare import Comparison, compare_reports, require_one_question
from synthesis.report.judged.layout import saved_layout, told
from synthesis.report.judged.run import JudgedComparison, compare_runs
from synthesis.report.stored import open_report
from synthesis.run.evaluator import Evaluator
from synthesis.run.tally import reevaluated
from synthesis.server.api import PREFIX, RunId, api_router, described
from synthesis.server.http import MOST_WORDS, ApiError, JsonResponse, decode_as, read_body
from synthesis.server.jobs import REPORT, JobFolder, Upload
from synthesis.server.security import PERSON
from synthesis.server.state import server_state

if TYPE_CHECKING:
    from synthesis.history.store import History, RunLabels

router = api_router("runs")
Kind = Annotated[Literal["checks", "judge"] | None, Query(description="Only runs of this kind.")]
Tag = Annotated[str | None, Query(max_length=MOST_WORDS, description="Only runs with this tag.")]
NameOf = Annotated[str | None, Query(max_length=MOST_WORDS, description="Only runs with this name.")]
PageNumber = Annotated[int, Query(ge=1, le=1_000_000, description="Page number, from 1.")]
PerPage = Annotated[int, Query(ge=1, le=1000, description="Items per page.")]
Words = Annotated[str | None, Query(max_length=MOST_WORDS, description="Words in the id or in the saved texts.")]


Name = Annotated[str, msgspec.Meta(max_length=200, description="Name of the run, instead of the file's name.")]


class RunSummary(RunFields, frozen=True):
    """A saved run of the checks or of the judge: its conditions in brief, and its figures."""

    tags: tuple[str, ...]
    profile: Annotated[str, msgspec.Meta(description="Profile of a run of the checks; empty for a judged run.")]
    reader: Annotated[str, msgspec.Meta(description="The learned reader, or `rules`; empty for a judged run.")]
    checks: Annotated[tuple[str, ...], msgspec.Meta(description="The checks that ran; none in a judged run.")]
    alerts: Annotated[int, msgspec.Meta(description="Cases with an explicit cue of a crisis.")]
    by_severity: Annotated[
        dict[str, int],
        msgspec.Meta(description="Failed cases: critical, serious, minor. Empty where it is not recorded."),
    ]
    figures: Figures


class RunDetail(RunSummary, frozen=True):
    """The same with all conditions, and the summary as the report has it."""

    conditions: dict[str, Any]
    summary: dict[str, Any]


class SaveRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which upload to save as a run, and how."""

    upload: Annotated[str, msgspec.Meta(description="Id of a finished upload.")]
    name: Name = ""
    save_text: Annotated[bool, msgspec.Meta(description="Save the texts too, not only the verdicts.")] = False
    tags: tuple[str, ...] = ()


class TagChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tags to add to a run, and tags to remove."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class RunList(msgspec.Struct, frozen=True):
    """Runs, newest first; pass `next` as `before` for the next page."""

    runs: list[RunSummary]
    next: str | None


@router.get("/runs", **described(RunList, words="The runs that match."))
async def list_runs(
    request: Request,
    kind: Kind = None,
    tag: Tag = None,
    name: NameOf = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Maximum number of runs.")] = 50,
    before: Annotated[
        str | None, Query(max_length=100, description="Only runs older than the run with this id.")
    ] = None,
) -> Response:
    """List saved runs; the list is empty if nothing has been saved yet."""
    listed = await server_state(request).from_history_if_any(
        lambda history: history.runs(limit=limit + 1, before=before, kind=kind, tag=tag, name=name)
    )
    found = listed or []
    shown = found[:limit]
    return JsonResponse(RunList([summary_of(run) for run in shown], shown[-1].id if len(found) > limit else None))


@router.post("/runs", **described(RunDetail, words="The run.", takes=SaveRequest, status=201))
async def save(request: Request) -> Response:
    """Save a finished upload as a run, without its texts unless you ask for them."""
    server = server_state(request)
    settings = server.settings
    order = decode_as(SaveRequest, await read_body(request, settings.max_body, settings.timeout))
    folder = server.uploads.folder(order.upload)
    with server.slots.one():
        run = await server.in_thread(lambda: save_upload(server.history.open(create=True), folder, order))
    return JsonResponse(detail_of(run), 201, {"Location": f"{PREFIX}/runs/{run.id}"})


@router.get("/runs/{run_id}", **described(RunDetail, words="The run."))
async def show(request: Request, run_id: RunId) -> Response:
    """One run with its conditions and its summary."""
    return JsonResponse(detail_of(await server_state(request).from_history(lambda history: history.run(run_id))))


@router.delete(
    "/runs/{run_id}", status_code=204, response_model=None, responses=described(RunDetail)["responses"] | {204: {}}
)
async def delete(
    request: Request,
    run_id: Annotated[
        str, Path(description="The whole id of the run.", examples=["0123456789ab"], pattern="^[0-9a-f]{12}$")
    ],
) -> Response:
    """Delete a run and everything that belongs to it."""
    await server_state(request).from_history(lambda history: history.delete(run_id))
    return Response(status_code=204)


@router.post("/runs/{run_id}/tags", **described(RunDetail, words="The changed run.", takes=TagChange))
async def tag(request: Request, run_id: RunId) -> Response:
    """Add tags to a run, and remove tags."""
    server = server_state(request)
    change = decode_as(TagChange, await read_body(request, server.settings.max_body, server.settings.timeout))
    found = await server.from_history(lambda history: history.tag(run_id, change.add, change.remove))
    return JsonResponse(detail_of(found))


@router.get("/runs/{run_id}/outcomes", **described(Page[SavedCase], words="The cases that match."))
async def outcomes(
    request: Request,
    run_id: RunId,
    check: Annotated[str | None, Query(max_length=MOST_WORDS, description="Only cases of this check.")] = None,
    outcome: Annotated[
        Literal["pass", "fail", "not_applicable", "error"] | None,
        Query(description="Outcome of the case; with `check`, the outcome of that check."),
    ] = None,
    kind: Annotated[
        Literal["unexpected", "error", "missed", "expected", "not_applicable", "pass"] | None,
        Query(description="The outcome compared with what was expected."),
    ] = None,
    rule: Annotated[str | None, Query(max_length=MOST_WORDS, description="Only cases where this rule fired.")] = None,
    q: Words = None,
    page: PageNumber = 1,
    per_page: PerPage = 50,
) -> Response:
    """Cases of a run of the checks, by check, outcome, rule and words."""
    found = await server_state(request).from_history(
        lambda history: history.outcomes(
            run_id, check=check, outcome=outcome, kind=kind, rule=rule, search=q, page=page, per_page=per_page
        )
    )
    return JsonResponse(found)


@router.get("/runs/{run_id}/cases/{case_id:path}", **described(SavedCase, words="The case."))
async def case(
    request: Request,
    run_id: RunId,
    case_id: Annotated[str, Path(description="Id of the case.", examples=["LUV-001"])],
) -> Response:
    """One case of a run: its verdicts with their evidence; its texts if they were saved."""
    return JsonResponse(await server_state(request).from_history(lambda history: history.case(run_id, case_id)))


@router.get("/runs/{run_id}/samples", **described(Page[SavedSample], words="The samples that match."))
async def samples(
    request: Request,
    run_id: RunId,
    iteration: Annotated[int | None, Query(ge=1, le=1_000_000, description="Only this iteration.")] = None,
    outcome: Annotated[
        Literal["pass", "fail", "error", "needs_judge"] | None, Query(description="Outcome of the sample.")
    ] = None,
    q: Words = None,
    page: PageNumber = 1,
    per_page: PerPage = 50,
) -> Response:
    """Samples of a judged run with their scores, and with claims and reasons if texts were saved."""

    def ask(history: "History") -> Any:
        found = history.samples(run_id, iteration=iteration, outcome=outcome, search=q, page=page, per_page=per_page)
        return told(msgspec.to_builtins(found), saved_layout(history.run(run_id).conditions))

    return JsonResponse(await server_state(request).from_history(ask))


@router.get("/trend", **described(list[TrendPoint], words="The figures, oldest first."))
async def trend(
    request: Request,
    kind: Annotated[Literal["checks", "judge"], Query(description="Kind of run.")] = "checks",
    name: NameOf = None,
    tag: Tag = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Maximum number of runs, the newest.")] = 50,
) -> Response:
    """How the figures of runs change over time."""
    points = await server_state(request).from_history_if_any(
        lambda history: history.trend(kind, name=name, tag=tag, limit=limit)
    )
    return JsonResponse(points or [])


@router.get("/compare", **described((Comparison, JudgedComparison), words="What changed."))
async def compare(
    request: Request,
    before: Annotated[str, Query(max_length=100, description="Id of a run.", examples=["latest"])],
    after: Annotated[str, Query(max_length=100, description="Id of another run.", examples=["latest"])],
    across: Annotated[
        bool, Query(description="List changes between different profiles, readers or checks, too.")
    ] = False,
) -> Response:
    """Compare two runs of one kind, as `synthesis compare` does: newly failing, newly passing, other changes."""
    server = server_state(request)

    def ask(history: "History") -> Comparison | JudgedComparison:
        found = compared(history, before, after)
        if not across:
            require_one_question(found.conditions)
        return found

    with server.slots.one():
        return JsonResponse(await server.from_history(ask))


def summary_of(run: SavedRun) -> RunSummary:
    return RunSummary(**{name: getattr(run, name) for name in RunSummary.__struct_fields__})


def detail_of(run: SavedRun) -> RunDetail:
    return RunDetail(**{name: getattr(run, name) for name in RunDetail.__struct_fields__})


def save_upload(history: "History", folder: JobFolder[Upload], asked: SaveRequest) -> SavedRun:
    """Save a finished upload as a run; ApiError if it is not finished."""
    folder.require_done("There is nothing to save")
    known = Provenance(with_text=asked.save_text, tags=asked.tags, name=asked.name.strip() or None)
    return history.run(history.add_report(open_report(folder.path / REPORT), known))


def compared(
    history: "History", before: str, after: str, evaluator: Evaluator | None = None
) -> Comparison | JudgedComparison:
    """What changed from one run to the other, as `synthesis compare` reports it; with an evaluator, of the stored texts
    as it judges them."""
    kinds = {history.run(run_id).kind for run_id in (before, after)}
    if kinds == {CHECKS}:
        reports = history.report(before), history.report(after)
        return compare_reports(*(reevaluated(*reports, evaluator) if evaluator else reports))
    if kinds == {JUDGE}:
        return compare_runs(history.judged(before), history.judged(after))
    raise InputError("A run of the checks and a judged run cannot be compared.", hint="Choose two of one kind.")


# Labels of saved runs: read them as A, B, C, give one, and read what they say together.


labels_router = api_router("labels")


class NewLabel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer to one question about one case; the same person's earlier answer is replaced."""

    position: Annotated[int, msgspec.Meta(ge=0, le=1 << 53, description="Position of the case in the run, from 0.")]
    question: Annotated[str, msgspec.Meta(max_length=200, description="Name of a check, or an axis of a judged run.")]
    answer: Annotated[
        str,
        msgspec.Meta(max_length=20, description="`yes`, `no`, `does_not_apply` or `skip`; a score for an axis."),
    ]
    person: Annotated[
        str, msgspec.Meta(max_length=200, description="Who says so, unless people have tokens of their own.")
    ] = ""


class ShownLabel(msgspec.Struct, frozen=True):
    """A label as it leaves the server: `person` is a letter, or a name if you ask for names."""

    position: int
    question: str
    person: str
    verified: bool
    answer: str
    first_answer: Annotated[str, msgspec.Meta(description="Given before anything was shown.")]


@labels_router.get("/runs/{run_id}/labels", **described(list[ShownLabel], words="The labels, by case and question."))
async def list_labels(
    request: Request,
    run_id: RunId,
    names: Annotated[bool, Query(description="Names instead of letters.")] = False,
) -> Response:
    """The labels of a run. Someone with a token of their own gets the labels of others where they gave one."""
    person = _person(request)
    found = await server_state(request).from_history(lambda history: history.labels(run_id).all())
    shown = found if person is None else _seen_by(person, found)
    known = letters(found)
    return JsonResponse([_shown(label, label.person.name if names else known[label.person]) for label in shown])


@labels_router.post("/runs/{run_id}/labels", **described(ShownLabel, words="The label.", takes=NewLabel, status=201))
async def give(request: Request, run_id: RunId) -> Response:
    """Store an answer at once; your first one stays known."""
    server = server_state(request)
    new = decode_as(NewLabel, await read_body(request, server.settings.max_body, server.settings.timeout))
    person = _person(request)
    if person is None:
        if server.settings.people:
            raise need_token()
        person = checked_person(new.person, verified=False)

    def store(labels: "RunLabels") -> tuple[Label, str]:
        label = labels.store(new.position, new.question, person, new.answer)
        return label, letters(labels.all())[person]

    label, letter = await server.from_history(lambda history: store(history.labels(run_id)))
    return JsonResponse(_shown(label, letter), 201)


@labels_router.get("/runs/{run_id}/labels/summary", **described(LabelSummary, words="What the labels say together."))
async def summary(request: Request, run_id: RunId) -> Response:
    """Agreement, disputes, and precision of each check; recall for a run that was drawn with known probabilities."""
    return JsonResponse(await server_state(request).from_history(lambda history: history.labels(run_id).summary()))


def need_token() -> ApiError:
    """The refusal of someone who came in by the shared token, or without one, where people have their own."""
    message = "Labels are given by people with a token of their own."
    return ApiError(403, "own_token_needed", message, "Log out, and log in with your own token.")


def _person(request: Request) -> Person | None:
    found: Person | None = request.scope.get(PERSON)
    return found


def _seen_by(person: Person, labels: list[Label]) -> list[Label]:
    """Their own labels, and those of others on the same questions: nobody sees an answer before giving one."""
    own: set[Place] = {
        (label.position, label.question) for label in labels if label.person == person and label.answer != SKIP
    }
    return [label for label in labels if label.person == person or (label.position, label.question) in own]


def _shown(label: Label, person: str) -> ShownLabel:
    verified = label.person.verified
    return ShownLabel(label.position, label.question, person, verified, label.answer, label.first_answer)
