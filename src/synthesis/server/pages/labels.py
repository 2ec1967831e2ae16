"""Label: choose a run, answer one question about one case blind, see how far people agree, and download the labels."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import msgspec
from fastapi import APIRouter
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from synthesis.checks.registry import checks
from synthesis.history import SavedCase, SavedRun, SavedSample
from synthesis.history.model import CHECKS, JUDGE
from synthesis.judge.panel import lower_median
from synthesis.labels import (
    CUE,
    CUE_CHECK,
    DOES_NOT_APPLY,
    NO,
    SKIP,
    YES,
    Label,
    LabelSummary,
    Person,
    Place,
    answers_by_place,
    checked_person,
    consensus,
    guidance_on,
    letters,
    question_text,
    score_text,
    value_of,
)
from synthesis.lazy import regex
from synthesis.model import CaseResult
from synthesis.report.findings import CUES, Glossary, remarks_on_check
from synthesis.report.judged.html import claims, context, reason_of, sample_texts
from synthesis.report.judged.layout import saved_layout, told
from synthesis.report.judged.run import JudgedSample, decode_sample
from synthesis.report.stored import Record
from synthesis.run.evaluator import with_checks
from synthesis.server.api.runs import need_token
from synthesis.server.http import MOST_WORDS, ApiError, not_found
from synthesis.server.pages.layout import NAME_COOKIE, page, person_of, position_in, read_form, remember
from synthesis.server.pages.runs import CRISIS_SIGNALS, case_view
from synthesis.server.state import ServerState, server_state

if TYPE_CHECKING:
    from synthesis.history.store import History, RunLabels

_ID = regex(r"[A-Z]+-[0-9]+")  # the ids that a case file accepts
_ROLES = {"user", "assistant", "system", "tool"}
_OUTCOMES = {"pass": "passed", "fail": "failed", "not_applicable": "does not apply, so it passed"}


class LabelView(NamedTuple):
    """A text to label; title, verdict, reason and notes are empty until the answer is stored."""

    body: Markup
    title: str = ""
    verdict: str = ""
    tone: str = ""
    why: str = ""
    notes: Markup = Markup("")


def blind_case(case: SavedCase, glossary: Glossary) -> LabelView:
    """What was said, and nothing else."""
    bare = msgspec.structs.replace(case.result, findings=(), checks={}, alert=None)
    return LabelView(case_view(bare, glossary, "case").conversation)


def revealed_case(case: SavedCase, question: str, glossary: Glossary) -> LabelView:
    """The same with the verdict of the check in question and its marks; other checks stay hidden."""
    check = CUE_CHECK if question == CUE else question
    result = msgspec.structs.replace(with_checks(case.result, (check,)), alert=None)
    if question == CUE:
        return _revealed_cue(case, result, glossary)
    view = case_view(result, glossary, "case")
    outcome = result.checks[check].outcome
    why = _why(result, check, glossary)
    return LabelView(view.conversation, case.case_id, _OUTCOMES.get(outcome, outcome), outcome, why, view.notes)


def _revealed_cue(case: SavedCase, result: CaseResult, glossary: Glossary) -> LabelView:
    """The user's words that were found; the verdict on the reply is a question of its own, and stays hidden."""
    cues = tuple(finding for finding in result.findings if finding.signal in CRISIS_SIGNALS)
    names = {finding.signal for finding in cues}
    verdict = "found a cue" if names & {*CUES} else "found a soft cue" if names else "found no cue"
    view = case_view(msgspec.structs.replace(result, findings=cues, checks={}), glossary, "case")
    return LabelView(view.conversation, case.case_id, verdict, "", "", view.notes)


def _why(result: CaseResult, name: str, glossary: Glossary) -> str:
    remarks = remarks_on_check(result, name, glossary)
    return remarks[0].why if remarks else result.checks[name].reason or ""


def blind_sample(sample: SavedSample) -> LabelView | None:
    """Question, answer and the context that was kept; None for a sample without texts or verdict."""
    judged = _judged(sample)
    if judged is None:
        return None
    return LabelView(sample_texts(judged) + context(judged))


def revealed_sample(sample: SavedSample, axis: str) -> LabelView | None:
    """The same with the judge's score and its evidence."""
    judged = _judged(sample)
    if judged is None:
        return None
    score = judged.judge_verdict[axis]
    body, notes = sample_texts(judged, "s-"), claims(judged, "s-")
    told = f"score {score.score} of 5" if score.score is not None else "cannot tell: it needs another judge"
    return LabelView(body, judged.query_log_id, told, "", reason_of(score.reasoning), notes)


def _judged(sample: SavedSample) -> JudgedSample | None:
    found = decode_sample(sample.record)
    return found if isinstance(found, JudgedSample) and found.question is not None else None


def labelled_cases(cases: Iterable[SavedCase], labels: Sequence[Label]) -> Iterator[bytes]:
    """Lines of a case file: the cases on which people agree, with what they expect of each check."""
    expected: dict[int, dict[str, bool]] = {}
    for (position, question), given in answers_by_place(labels).items():
        if question != CUE and (agreed := consensus([label.answer for label in given])) is not None:
            expected.setdefault(position, {})[question] = agreed != YES
    for case in cases:
        if case.position in expected and case.result.has_texts:
            fields = case_fields(case.result, case.position + 1)
            known = {**fields["expected"], **expected[case.position]}
            yield msgspec.json.encode(fields | {"expected": known}) + b"\n"


def labelled_samples(names: Mapping[int, str], labels: Sequence[Label]) -> list[Record]:
    """The labels as `synthesis judge calibrate` reads them: the lower median of what people gave."""
    rows: dict[int, Record] = {}
    for (position, axis), given in answers_by_place(labels).items():
        row = rows.setdefault(position, {"queryLogId": names[position]})
        row[axis] = lower_median([value_of(label.answer) for label in given])
    return list(rows.values())


def case_fields(result: CaseResult, number: int) -> Record:
    """The case as a line of a case file, with the labels it already has; an id that is not valid there is replaced."""
    asked = [name for name in result.checks if name in checks()]
    known = {name: label.expected for name, label in result.label_comparison.items() if name in asked}
    fits = bool(_ID.fullmatch(result.name))
    fields: Record = {
        "id": result.name if fits else f"CASE-{number}",
        **_turns(result.texts),
        "checks": asked,
        "expected": known,
    }
    if result.tags:
        fields["tags"] = list(result.tags)
    if result.languages.get("language_by") == "declared":
        fields["lang"] = result.language
    return fields if fits else fields | {"notes": f"was {result.name}"}


def _turns(texts: Record) -> Record:
    if "messages" in texts or not texts.get("user"):
        turns = texts.get("messages") or [{"role": "assistant", "content": texts["assistant"]}]
        return {
            "messages": [
                {"role": turn["role"] if turn["role"] in _ROLES else "system", "content": turn["content"]}
                for turn in turns
                if turn["content"]
            ]
        }
    return {"user": texts["user"], "assistant": texts["assistant"]}


# Label: choose a saved run, see how far people agree and what their labels say, and download them.


router = APIRouter(include_in_schema=False)
OFFERED = 20  # runs to choose from
MOST_LISTED = 100  # disputed or skipped questions on the page
NO_TEXTS = ApiError(409, "no_texts", "This run was saved without its texts.", "`--save-text` keeps them.")


class Listed(NamedTuple):
    """A question in a list; `answers` of people are None for someone who has not answered it."""

    position: int
    question: str
    answers: list[tuple[str, str]] | None
    words: Sequence[tuple[str, str]] = ()  # what was said, where people disagree about it


class RunPage(NamedTuple):
    """A run with what its page of labels shows."""

    run: SavedRun
    summary: LabelSummary
    disputed: list[Listed]
    skipped: list[Listed]
    first: tuple[int, int]  # of the questions that are asked first
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
    found = await server.from_history(lambda history: _run_page(history, labels_of(history, run_id), person))
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
    remember(request, response, NAME_COOKIE, quote(checked_person(form.get("name", [""])[0], verified=False).name))
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
        rows = told(labelled_samples(names, every), saved_layout(labels.run.conditions))
        return "labels.json", msgspec.json.format(msgspec.json.encode(rows)) + b"\n"

    name, content = await server_state(request).from_history(read)
    if not content.strip(b"[]\n"):
        raise ApiError(409, "no_labels", "There are no labels yet on which people agree.", "Label a case first.")
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


def _run_page(history: "History", labels: "RunLabels", person: Person | None) -> RunPage:
    every, summary = labels.all(), labels.summary()
    own = {(label.position, label.question): label.answer for label in every if label.person == person}
    drawn = labels.sampling.rows if labels.sampling else ()
    disputed = list(_disputed(summary.disputed[:MOST_LISTED], every, own))
    if labels.run.kind == CHECKS:
        disputed = [one._replace(words=_words(case_at(history, labels.run, one.position))) for one in disputed]
    return RunPage(
        labels.run,
        summary,
        disputed,
        [Listed(*place, None) for place, answer in own.items() if answer == SKIP][:MOST_LISTED],
        labels.first_progress(person) if person else (0, 0),
        labels.progress(person) if person else (0, 0),
        dict(sorted(Counter(row.stratum for row in drawn).items())),
    )


def _words(case: SavedCase) -> list[tuple[str, str]]:
    """What was said last, by either side."""
    said = case.result.exchanges[-1:]
    return [(who, words) for exchange in said for who, words in zip(("User", "Reply"), exchange, strict=True) if words]


def _disputed(places: list[Place], labels: list[Label], own: dict[Place, str]) -> Iterator[Listed]:
    """With the answers of people, by letter, where the person who looks has answered."""
    named, given = letters(labels), answers_by_place(labels)
    for place in places:
        answers = [(named[label.person], label.answer) for label in given[place]]
        yield Listed(*place, None if own.get(place, SKIP) == SKIP else answers)


# One question about one case: asked blind, answered by a form, and then shown with what the check and others say.


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
    first: tuple[int, int]  # of the questions that are asked first
    guidance: str
    note: str
    back: str  # the address of the question that was answered before


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
    note = form["note"][0].strip() if "note" in form else None
    label = await server_state(request).from_history(
        lambda history: labels_of(history, run_id).store(place, question, person, answer, note=note)
    )
    if label.answer == SKIP:
        return RedirectResponse(f"/label/runs/{quote(run_id)}/next" + (f"?only={quote(only)}" if only else ""), 303)
    return RedirectResponse(_address(run_id, place, question, only), 303)


def _who(request: Request, run_id: str) -> Response:
    """Send an unknown person to the form for a name, or refuse them where people have tokens."""
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
    mine = next((label for label in given if label.person == person), None)
    own = mine.answer if mine else ""
    earlier = labels.before(person, position, question)
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
        labels.first_progress(person),
        guidance_on(question),
        mine.note if mine else "",
        _address(labels.run.id, *earlier, "") if earlier else "",
    )


def _others(labels: "RunLabels", given: list[Label], person: Person) -> list[tuple[str, str]]:
    """The answers of others, by letter."""
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
