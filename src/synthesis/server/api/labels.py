"""Labels of saved runs: read them as A, B, C, give one, and read what they say together."""

from typing import TYPE_CHECKING, Annotated

import msgspec
from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from synthesis.labels.summary import SKIP, Label, LabelSummary, Person, Place, checked_person, letters
from synthesis.server.api.routing import RunId, api_router, described
from synthesis.server.bodies import JsonResponse, decode_as, read_body
from synthesis.server.people import need_token
from synthesis.server.security import PERSON
from synthesis.server.state import server_state

if TYPE_CHECKING:
    from synthesis.history.store import RunLabels

router = api_router("labels")


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


@router.get("/runs/{run_id}/labels", **described(list[ShownLabel], words="The labels, by case and question."))
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


@router.post("/runs/{run_id}/labels", **described(ShownLabel, words="The label.", takes=NewLabel, status=201))
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


@router.get("/runs/{run_id}/labels/summary", **described(LabelSummary, words="What the labels say together."))
async def summary(request: Request, run_id: RunId) -> Response:
    """Agreement, disputes, and precision of each check; recall for a run that was drawn with known probabilities."""
    return JsonResponse(await server_state(request).from_history(lambda history: history.labels(run_id).summary()))


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
