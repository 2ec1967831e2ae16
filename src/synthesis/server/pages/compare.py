"""Compare: two runs side by side, changed verdicts first, and how much better or worse the new one is."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import APIRouter
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from synthesis.errors import NotInHistoryError
from synthesis.history import SavedRun
from synthesis.history.model import CHECKS, JUDGE
from synthesis.model import CaseResult
from synthesis.report.compare import (
    Change,
    Comparison,
    Piece,
    called,
    changed_reply,
    headline,
    question_changes,
    reader_of,
)
from synthesis.report.findings import KINDS, kind_of, kinds_in_words
from synthesis.report.judged.html import sample_texts, sample_verdicts
from synthesis.report.judged.run import JudgedComparison, JudgedSample
from synthesis.run.evaluator import Evaluator
from synthesis.run.tally import stored_case
from synthesis.server.api.runs import compared
from synthesis.server.pages.layout import page
from synthesis.server.pages.runs import case_view
from synthesis.server.state import ServerState, server_state

if TYPE_CHECKING:
    from synthesis.history.store import History

DRAWN = 40  # changed cases of one kind that are shown side by side; only the ids of the others are listed
SAME_TEXTS = {True: "the texts are the same", False: "the texts changed", None: ""}


class Side(NamedTuple):
    """A case in one of the two runs."""

    badge: str
    words: str
    body: Markup
    warning: str


class Drawn(NamedTuple):
    """A case as it is in both runs, and how the reply that decides changed, word by word."""

    sides: tuple[Side | None, Side | None]
    pieces: list[Piece]  # none where a warning comes before the texts


class ChangedCase(NamedTuple):
    """A case that changed, as it is in both runs; no sides if only its id is shown."""

    name: str
    words: str
    sides: tuple[Side | None, Side | None] | None
    pieces: list[Piece]


class ChangeGroup(NamedTuple):
    """Changes of one kind."""

    title: str
    tone: str
    changes: list[ChangedCase]


def changes_of(
    server: ServerState,
    history: "History",
    runs: tuple[SavedRun, SavedRun],
    comparison: Comparison | JudgedComparison,
    evaluator: Evaluator | None = None,
) -> Iterator[ChangeGroup]:
    """Changes between two runs of one kind, what fails now first; as an evaluator sees them if there is one."""
    if isinstance(comparison, Comparison):
        return _changed_cases(server, history, runs, comparison, evaluator)
    return _changed_samples(history, runs, comparison)


def _changed_cases(
    server: ServerState,
    history: "History",
    runs: tuple[SavedRun, SavedRun],
    comparison: Comparison,
    evaluator: Evaluator | None,
) -> Iterator[ChangeGroup]:
    numbers = count()

    was = {
        change.id: change.was
        for change in (*comparison.newly_failing, *comparison.newly_passing, *comparison.other_changes)
    }

    def sides(name: str) -> Drawn:
        before, after = (
            _stored(history, run, own) for run, own in zip(runs, (was.get(name) or name, name), strict=True)
        )
        if evaluator and before and after:
            cases = [stored_case(result, tuple(after.checks)) for result in (before, after)]
            before, after = evaluator.evaluate(cases)
        drawn = [
            _side(server, result, runs[1].profile, f"side{next(numbers)}") if result else None
            for result in (before, after)
        ]
        reply = None if any(side and side.warning for side in drawn) else changed_reply(before, after)
        return Drawn((drawn[0], drawn[1]), reply.pieces if reply else [])

    def described(change: Change) -> tuple[str, str]:
        parts = [
            change.severity or "",
            ", ".join(change.checks),
            SAME_TEXTS[change.same_texts],
            "" if change.before else "a new case",
            f"was {called(change.was)}" if change.was else "",
        ]
        return change.id, "; ".join(part for part in parts if part)

    def kinds(change: Change) -> tuple[str, str]:
        return change.id, f"{KINDS.get(change.before or '', '')} → {KINDS.get(change.after or '', '')}"

    bad, good = _tones(comparison)
    yield _group("Newly failing", bad, map(described, comparison.newly_failing), sides)
    yield _group("Negative examples no longer caught", bad, _plain(comparison.no_longer_caught), sides)
    yield _group("Newly passing", good, map(described, comparison.newly_passing), sides)
    yield _group("Other changes", "", map(kinds, comparison.other_changes), sides)
    yield _group("Asked other checks", "", _plain(comparison.other_checks))
    yield _group("Same verdict on other evidence", "", _plain(comparison.changed_evidence))
    yield _group("Only in the run before", "", _plain(comparison.only_before))
    yield _group("Only in the run after", "", _plain(comparison.only_after))


def _changed_samples(
    history: "History", runs: tuple[SavedRun, SavedRun], comparison: JudgedComparison
) -> Iterator[ChangeGroup]:
    samples = [{sample.query_log_id: sample for sample in history.judged(run.id).last.judged} for run in runs]

    def sides(name: str) -> Drawn:
        return Drawn((_judged_side(samples[0].get(name)), _judged_side(samples[1].get(name))), [])

    flipped = {*comparison.newly_failing, *comparison.newly_passing}
    others = [name for name in comparison.changed_scores if name not in flipped]
    bad, good = _tones(comparison)
    yield _group("Newly failing", bad, _plain(comparison.newly_failing), sides)
    yield _group("Newly passing", good, _plain(comparison.newly_passing), sides)
    yield _group("Other scores, same verdict", "", _plain(others), sides)
    yield _group("Only in the run before", "", _plain(comparison.only_before))
    yield _group("Only in the run after", "", _plain(comparison.only_after))


def _tones(comparison: Comparison | JudgedComparison) -> tuple[str, str]:
    """No red and green where the runs were measured differently: the colours would judge."""
    return ("", "") if comparison.ruler_changes else ("bad", "good")


def _plain(names: Iterable[str]) -> Iterable[tuple[str, str]]:
    return ((name, "") for name in names)


def _group(
    title: str,
    tone: str,
    entries: Iterable[tuple[str, str]],
    sides: Callable[[str], Drawn] | None = None,
) -> ChangeGroup:
    changes = [
        ChangedCase(called(name), words, *(sides(name) if sides and number < DRAWN else (None, [])))
        for number, (name, words) in enumerate(entries)
    ]
    return ChangeGroup(title, tone, changes)


def _stored(history: "History", run: SavedRun, name: str) -> CaseResult | None:
    """A case as it was saved; None if it is not in that run."""
    try:
        return history.case(run.id, name).result
    except NotInHistoryError:
        return None


def _side(server: ServerState, result: CaseResult, profile: str, anchor: str) -> Side:
    view = case_view(result, server.glossary, anchor, with_text=result.has_texts)
    kind = kind_of(result)
    words = kinds_in_words(profile)[kind]
    if not result.has_texts:
        return Side(kind, words, view.strips + view.check_list, "")
    return Side(kind, words, view.strips + view.check_list + view.conversation, view.content_warning)


def _judged_side(sample: JudgedSample | None) -> Side | None:
    if sample is None:
        return None
    badge, words = ("pass", "passed") if sample.passed else ("unexpected", "not passed")
    return Side(badge, words, sample_verdicts(sample) + sample_texts(sample), "")


# Compare: two runs, what was measured differently, and how much better or worse the new one is.


router = APIRouter(include_in_schema=False)
OFFERED = 100  # runs to choose from
MOST_AGAIN = 5_000  # cases of a run that are evaluated again while somebody waits
ACROSS, AGAIN = "across", "again"


class RateChange(NamedTuple):
    """The pass rates of both runs, their difference with its interval, and whether it is significant."""

    cases: int
    before: int
    after: int
    change: float
    low: float
    high: float
    p: float
    verdict: str


@router.get("/compare")
async def compare(request: Request) -> Response:
    """The form, and the comparison once two runs are chosen."""
    server = server_state(request)
    query = request.query_params
    picked = query.getlist("run")
    # The list has the newest run first, so the second ticked one is the run before.
    chosen = picked[1::-1] if picked else [query.get("before", ""), query.get("after", "")]
    asked = {name for name in (ACROSS, AGAIN) if query.get(name)}
    with server.slots.one():
        found = await server.in_thread(lambda: _compared(server, [one[:100] for one in chosen if one], asked))
    here = "/judged" if found["after"] and found["after"].kind == JUDGE else "/runs"
    return page(request, "compare.html", title="Compare", here=here, **found)


def newest_pair(offered: Sequence[SavedRun]) -> tuple[SavedRun | None, SavedRun | None]:
    """The newest run that has an earlier one of its name, and that one; else the two newest."""
    for place, after in enumerate(offered):
        for before in offered[place + 1 :]:
            if (before.name, before.kind) == (after.name, after.kind):
                return before, after
    return (offered[1], offered[0]) if len(offered) > 1 else (None, None)


def _compared(server: ServerState, chosen: list[str], asked: set[str]) -> dict[str, Any]:
    history = server.history.open_if_present()
    offered = history.runs(limit=OFFERED) if history else []
    nothing: dict[str, Any] = {"offered": offered, "before": None, "after": None, "comparison": None, "problem": ""}
    nothing["suggested"] = newest_pair(offered)
    if history is None or len(chosen) < 2:
        return nothing | {"problem": "Choose two runs." if chosen else ""}
    before, after = (history.run(one) for one in chosen)
    if before.kind != after.kind:
        return nothing | {"problem": "A run of the checks and a judged run cannot be compared."}
    can_repeat = _can_be_repeated(before, after)
    rules = server.rules_for(reader_of(after.conditions))
    evaluator = Evaluator(rules, profile=after.profile) if AGAIN in asked and can_repeat else None
    comparison = compared(history, before.id, after.id, evaluator)
    shown = ACROSS in asked or not question_changes(comparison.conditions)
    groups = changes_of(server, history, (before, after), comparison, evaluator) if shown else ()
    return nothing | {
        "before": before,
        "after": after,
        "comparison": comparison,
        "shown": shown,
        "again": evaluator is not None,
        "can_repeat": can_repeat and evaluator is None,
        "most_again": MOST_AGAIN,
        "headline": headline(comparison) if isinstance(comparison, Comparison) else _judged_headline(comparison),
        "rate": _rate(comparison),
        "is_checks": before.kind == CHECKS,
        "groups": [group for group in groups if group.changes],
    }


def _judged_headline(comparison: JudgedComparison) -> str:
    lost, won = len(comparison.newly_failing), len(comparison.newly_passing)
    parts = [f"{lost:,} newly failing" if lost else "", f"{won:,} newly passing" if won else ""]
    return "; ".join(filter(None, parts)) or "No verdict changed"


def _can_be_repeated(before: SavedRun, after: SavedRun) -> bool:
    """Whether both runs hold texts, and few enough to be evaluated while somebody waits."""
    runs = (before, after)
    return before.kind == CHECKS and all(run.with_text and run.figures.total <= MOST_AGAIN for run in runs)


def _rate(comparison: Comparison | JudgedComparison) -> RateChange | None:
    if isinstance(comparison, Comparison):
        rate = comparison.pass_rate
        if rate is None:
            return None
        counts = rate.cases, rate.passed_before, rate.passed_after
        return RateChange(*counts, rate.change, *rate.interval, rate.p_value, rate.verdict)
    found = comparison.difference
    if found is None:
        return None
    counts = comparison.in_both, comparison.passed_before, comparison.passed_after
    return RateChange(*counts, *found[:3], found.p_value, comparison.verdict)
