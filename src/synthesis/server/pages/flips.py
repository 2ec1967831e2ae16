"""Two runs side by side: which verdicts changed, and each changed case as it is in both."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from synthesis.errors import NotInHistoryError
from synthesis.history import Run
from synthesis.report.compare import Change, Comparison
from synthesis.report.html.case import check_list
from synthesis.report.html.marks import Marks, SignalStyles
from synthesis.report.judged.compare import JudgedComparison
from synthesis.report.judged.samples import sample_texts, sample_verdicts
from synthesis.report.verdicts import KINDS, kind_of
from synthesis.server.painful import WARNING, is_painful
from synthesis.server.workbench import Workbench

if TYPE_CHECKING:
    from synthesis.history.store import History

DRAWN = 40  # changed cases of a sort that are shown side by side; of the others only the ids
SAME_TEXTS = {True: "the texts are the same", False: "the texts changed", None: ""}


class Side(NamedTuple):
    """A case in one of the two runs."""

    badge: str
    words: str
    body: Markup
    warning: str


class Flip(NamedTuple):
    """A case whose verdict changed, in both runs; no sides where it is not drawn."""

    name: str
    words: str
    sides: tuple[Side | None, Side | None] | None


class Group(NamedTuple):
    """Changes of one sort."""

    title: str
    tone: str
    flips: list[Flip]


def changed_cases(
    workbench: Workbench, history: "History", runs: tuple[Run, Run], comparison: Comparison
) -> Iterator[Group]:
    """Changes between two runs of the checks, what fails now first."""

    numbers = count()

    def sides(name: str) -> tuple[Side | None, Side | None]:
        before, after = (_side(workbench, history, run, name, f"side{next(numbers)}") for run in runs)
        return before, after

    def told(change: Change) -> tuple[str, str]:
        parts = [", ".join(change.checks), SAME_TEXTS[change.same_texts], "" if change.before else "a new case"]
        return change.id, "; ".join(part for part in parts if part)

    def kinds(change: Change) -> tuple[str, str]:
        return change.id, f"{KINDS.get(change.before or '', '')} → {KINDS.get(change.after or '', '')}"

    yield _group("Newly failing", "bad", map(told, comparison.newly_failing), sides)
    yield _group("Negative examples no longer caught", "bad", _plain(comparison.no_longer_caught), sides)
    yield _group("Newly passing", "good", map(told, comparison.newly_passing), sides)
    yield _group("Other changes", "", map(kinds, comparison.other_changes), sides)
    yield _group("Same verdict on other evidence", "", _plain(comparison.changed_evidence))
    yield _group("Only in the run before", "", _plain(comparison.only_before))
    yield _group("Only in the run after", "", _plain(comparison.only_after))


def changed_samples(history: "History", runs: tuple[Run, Run], comparison: JudgedComparison) -> Iterator[Group]:
    """The same of two judged runs."""
    records = [{record["queryLogId"]: record for record in history.judged(run.id).last.records} for run in runs]

    def sides(name: str) -> tuple[Side | None, Side | None]:
        return _judged_side(records[0].get(name)), _judged_side(records[1].get(name))

    flipped = {*comparison.newly_failing, *comparison.newly_passing}
    others = [name for name in comparison.changed_scores if name not in flipped]
    yield _group("Newly failing", "bad", _plain(comparison.newly_failing), sides)
    yield _group("Newly passing", "good", _plain(comparison.newly_passing), sides)
    yield _group("Other scores, same verdict", "", _plain(others), sides)
    yield _group("Only in the run before", "", _plain(comparison.only_before))
    yield _group("Only in the run after", "", _plain(comparison.only_after))


def _plain(names: Iterable[str]) -> Iterable[tuple[str, str]]:
    return ((name, "") for name in names)


def _group(
    title: str,
    tone: str,
    entries: Iterable[tuple[str, str]],
    sides: Callable[[str], tuple[Side | None, Side | None]] | None = None,
) -> Group:
    flips = [
        Flip(name, words, sides(name) if sides and number < DRAWN else None)
        for number, (name, words) in enumerate(entries)
    ]
    return Group(title, tone, flips)


def _side(workbench: Workbench, history: "History", run: Run, name: str, anchor: str) -> Side | None:
    """A case in one run, its notes named by `anchor`; None where it is not there, or one of several of its id."""
    try:
        result = history.case(run.id, name).result
    except NotInHistoryError:
        return None
    marks = Marks(result, SignalStyles.of(result.findings), workbench.glossary, anchor, rule_pages="/rules")
    said = marks.conversation() if run.with_text else ""
    kind = kind_of(result)
    body = Markup(check_list(result, workbench.glossary) + said)
    return Side(kind, KINDS[kind], body, WARNING if said and is_painful(result) else "")


def _judged_side(record: dict[str, Any] | None) -> Side | None:
    if record is None:
        return None
    badge, words = ("pass", "passed") if record["passed"] else ("unexpected", "not passed")
    return Side(badge, words, Markup(f"<ul>{sample_verdicts(record)}</ul>{sample_texts(record)}"), "")
