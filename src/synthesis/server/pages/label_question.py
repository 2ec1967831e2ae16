"""One question about one case: asked blind, answered by a form, and then shown with what the check and others say."""

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from synthesis.history.model import CHECKS
from synthesis.labels.summary import (
    CUE,
    DOES_NOT_APPLY,
    NO,
    SKIP,
    YES,
    Label,
    Person,
    letters,
    question_text,
    score_text,
)
from synthesis.server.errors import not_found
from synthesis.server.limits import MOST_WORDS
from synthesis.server.pages.label import NO_TEXTS, case_at, labels_of, sample_at
from synthesis.server.pages.label_items import LabelView, blind_case, blind_sample, revealed_case, revealed_sample
from synthesis.server.pages.layout import page, position_in, read_form
from synthesis.server.people import need_token, person_of
from synthesis.server.state import ServerState, server_state

if TYPE_CHECKING:
    from synthesis.history.store import History, RunLabels

router = APIRouter(include_in_schema=False)
WORDS = {YES: "Yes", NO: "No", DOES_NOT_APPLY: "Does not apply", SKIP: "Skip"}
KEYS = {YES: "y", NO: "n", DOES_NOT_APPLY: "x", SKIP: "s"}


class QuestionPage(NamedTuple):
    """A question with what its page shows; `own` is the stored answer, empty before it."""

    run_id: str
    run_name: str
    view: LabelView
    text: str
    own: str
    others: list[tuple[str, str]]
    answers: list[tuple[str, str, str]]  # value, words, key
    progress: tuple[int, int]


@router.get("/label/runs/{run_id}/next")
async def next_question(request: Request, run_id: str) -> Response:
    """Go to the next question that is open; to the page of the run if there is none."""
    person, only = person_of(request), _only(request)
    if person is None:
        return _who(request, run_id)

    def ask(history: "History") -> tuple[str, tuple[int, str] | None]:
        labels = labels_of(history, run_id)
        return labels.run.id, labels.next(person, only or None)

    found, question = await server_state(request).from_history(ask)
    if question is None:
        return RedirectResponse(f"/label/runs/{found}?done=1", 303)
    return RedirectResponse(_address(found, *question, only), 303)


@router.get("/label/runs/{run_id}/{position}/{question}")
async def ask(request: Request, run_id: str, position: str, question: str) -> Response:
    """The question, blind; or, once it is answered, with the verdict and what others say."""
    server, person = server_state(request), person_of(request)
    if person is None:
        return _who(request, run_id)
    place = position_in(position, "The run asks no such question.")
    found = await server.from_history(lambda history: _question(server, history, run_id, place, question, person))
    return page(
        request,
        "label_question.html",
        title=f"Label: {found.run_name}",
        found=found,
        position=place,
        question=question,
        person=person,
        only=_only(request),
        words=WORDS,
        cue=CUE,
    )


@router.post("/label/runs/{run_id}/{position}/{question}")
async def store(request: Request, run_id: str, position: str, question: str) -> Response:
    """Store the answer; then show the verdict, or go on if it was skipped."""
    person, form = person_of(request), await read_form(request)
    if person is None:
        return _who(request, run_id)
    answer, only = form.get("answer", [""])[0], form.get("only", [""])[0][:MOST_WORDS]
    place = position_in(position, "The run asks no such question.")
    label = await server_state(request).from_history(
        lambda history: labels_of(history, run_id).store(place, question, person, answer)
    )
    if label.answer == SKIP:
        return RedirectResponse(f"/label/runs/{quote(run_id)}/next" + (f"?only={quote(only)}" if only else ""), 303)
    return RedirectResponse(_address(run_id, place, question, only), 303)


def _who(request: Request, run_id: str) -> Response:
    """Nobody knows who asks: to the form for a name, where names are typed."""
    if server_state(request).settings.people:
        raise need_token()
    return RedirectResponse(f"/label/runs/{quote(run_id)}", 303)


def _question(
    server: ServerState, history: "History", run_id: str, position: int, question: str, person: Person
) -> QuestionPage:
    labels = labels_of(history, run_id)
    if not labels.has(position, question):
        raise not_found("The run asks no such question.")
    given = labels.at(position, question)
    own = next((label.answer for label in given if label.person == person), "")
    is_open = own in ("", SKIP)
    others = [] if is_open else _others(labels, given, person)
    return QuestionPage(
        labels.run.id,
        labels.run.name,
        _view(server, history, labels, position, question, is_open=is_open),
        question_text(question) if labels.run.kind == CHECKS else score_text(question),
        own,
        others,
        [(answer, WORDS.get(answer, answer), KEYS.get(answer, answer)) for answer in labels.answers],
        labels.progress(person),
    )


def _others(labels: "RunLabels", given: list[Label], person: Person) -> list[tuple[str, str]]:
    """What the others say, under their letters."""
    named = letters(labels.all())
    others = [label for label in given if label.person != person and label.answer != SKIP]
    return sorted((named[label.person], WORDS.get(label.answer, label.answer)) for label in others)


def _view(
    server: ServerState, history: "History", labels: "RunLabels", position: int, question: str, *, is_open: bool
) -> LabelView:
    if labels.run.kind == CHECKS:
        case = case_at(history, labels.run, position)
        if not case.result.has_texts:
            raise NO_TEXTS
        return blind_case(case, server.glossary) if is_open else revealed_case(case, question, server.glossary)
    sample = sample_at(history, labels, position)
    view = blind_sample(sample) if is_open else revealed_sample(sample, question)
    if view is None:
        raise NO_TEXTS
    return view


def _only(request: Request) -> str:
    """The one check that a person wants to label; empty for all."""
    return request.query_params.get("only", "")[:MOST_WORDS]


def _address(run_id: str, position: int, question: str, only: str) -> str:
    path = f"/label/runs/{quote(run_id)}/{position}/{quote(question, safe='')}"
    return f"{path}?only={quote(only)}" if only else path
