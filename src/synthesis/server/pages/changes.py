"""The cases or samples that changed from one run to another, side by side, changed verdicts first."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from synthesis.errors import NotInHistoryError
from synthesis.history import SavedRun
from synthesis.model import CaseResult
from synthesis.report.compare import Change, Comparison
from synthesis.report.findings import KINDS, kind_of
from synthesis.report.judged.compare import JudgedComparison
from synthesis.report.judged.html import sample_texts, sample_verdicts
from synthesis.report.judged.run import JudgedSample
from synthesis.run.evaluator import Evaluator
from synthesis.run.tally import stored_case
from synthesis.server.pages.case_view import case_view
from synthesis.server.state import ServerState

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


class ChangedCase(NamedTuple):
    """A case that changed, as it is in both runs; no sides if only its id is shown."""

    name: str
    words: str
    sides: tuple[Side | None, Side | None] | None


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

    def sides(name: str) -> tuple[Side | None, Side | None]:
        before, after = (_stored(history, run, name) for run in runs)
        if evaluator and before and after:
            cases = [stored_case(result, tuple(after.checks)) for result in (before, after)]
            before, after = evaluator.evaluate(cases)
        drawn = (_side(server, result, f"side{next(numbers)}") if result else None for result in (before, after))
        return next(drawn), next(drawn)

    def told(change: Change) -> tuple[str, str]:
        parts = [", ".join(change.checks), SAME_TEXTS[change.same_texts], "" if change.before else "a new case"]
        return change.id, "; ".join(part for part in parts if part)

    def kinds(change: Change) -> tuple[str, str]:
        return change.id, f"{KINDS.get(change.before or '', '')} → {KINDS.get(change.after or '', '')}"

    bad, good = _tones(comparison)
    yield _group("Newly failing", bad, map(told, comparison.newly_failing), sides)
    yield _group("Negative examples no longer caught", bad, _plain(comparison.no_longer_caught), sides)
    yield _group("Newly passing", good, map(told, comparison.newly_passing), sides)
    yield _group("Other changes", "", map(kinds, comparison.other_changes), sides)
    yield _group("Asked other checks", "", _plain(comparison.other_checks))
    yield _group("Same verdict on other evidence", "", _plain(comparison.changed_evidence))
    yield _group("Only in the run before", "", _plain(comparison.only_before))
    yield _group("Only in the run after", "", _plain(comparison.only_after))


def _changed_samples(
    history: "History", runs: tuple[SavedRun, SavedRun], comparison: JudgedComparison
) -> Iterator[ChangeGroup]:
    samples = [{sample.query_log_id: sample for sample in history.judged(run.id).last.records} for run in runs]

    def sides(name: str) -> tuple[Side | None, Side | None]:
        return _judged_side(samples[0].get(name)), _judged_side(samples[1].get(name))

    flipped = {*comparison.newly_failing, *comparison.newly_passing}
    others = [name for name in comparison.changed_scores if name not in flipped]
    bad, good = _tones(comparison)
    yield _group("Newly failing", bad, _plain(comparison.newly_failing), sides)
    yield _group("Newly passing", good, _plain(comparison.newly_passing), sides)
    yield _group("Other scores, same verdict", "", _plain(others), sides)
    yield _group("Only in the run before", "", _plain(comparison.only_before))
    yield _group("Only in the run after", "", _plain(comparison.only_after))


def _tones(comparison: Comparison | JudgedComparison) -> tuple[str, str]:
    """Red and green are praise, too: none where the runs were measured differently."""
    return ("", "") if comparison.ruler_changes else ("bad", "good")


def _plain(names: Iterable[str]) -> Iterable[tuple[str, str]]:
    return ((name, "") for name in names)


def _group(
    title: str,
    tone: str,
    entries: Iterable[tuple[str, str]],
    sides: Callable[[str], tuple[Side | None, Side | None]] | None = None,
) -> ChangeGroup:
    changes = [
        ChangedCase(name, words, sides(name) if sides and number < DRAWN else None)
        for number, (name, words) in enumerate(entries)
    ]
    return ChangeGroup(title, tone, changes)


def _stored(history: "History", run: SavedRun, name: str) -> CaseResult | None:
    """A case as it was saved; None if it is not in that run."""
    try:
        return history.case(run.id, name).result
    except NotInHistoryError:
        return None


def _side(server: ServerState, result: CaseResult, anchor: str) -> Side:
    view = case_view(result, server.glossary, anchor, with_text=result.has_texts)
    kind = kind_of(result)
    if not result.has_texts:
        return Side(kind, KINDS[kind], view.strips + view.check_list, "")
    return Side(kind, KINDS[kind], view.strips + view.check_list + view.conversation, view.content_warning)


def _judged_side(sample: JudgedSample | None) -> Side | None:
    if sample is None:
        return None
    badge, words = ("pass", "passed") if sample.passed else ("unexpected", "not passed")
    return Side(badge, words, Markup(f"<ul>{sample_verdicts(sample)}</ul>{sample_texts(sample)}"), "")
