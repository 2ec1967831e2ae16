"""Saved runs: the server's handle on the history, the shapes of the API, and what API and pages both ask."""

from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from synthesis.errors import InputError, NotInHistoryError
from synthesis.history import Figures, Provenance, SavedRun, open_history
from synthesis.history.model import CHECKS, JUDGE, RunFields
from synthesis.report.compare import Comparison, compare_reports
from synthesis.report.judged.compare import JudgedComparison, compare_runs
from synthesis.report.stored import open_report
from synthesis.run.evaluator import Evaluator
from synthesis.run.tally import reevaluated
from synthesis.server.jobs import REPORT, JobFolder, Upload

if TYPE_CHECKING:
    from synthesis.history.store import History

Name = Annotated[str, msgspec.Meta(max_length=200, description="Name of the run, instead of the file's name.")]


class HistoryHandle:
    """Opens the history on first use and keeps it open. Only saving creates one: looking at pages writes nothing."""

    def __init__(self, place: str | None) -> None:
        self._place = place
        self._lock = Lock()
        self._history: History | None = None

    def open(self, *, create: bool = False) -> "History":
        """The history; NotInHistoryError if there is none, MissingExtraError without the extra."""
        with self._lock:
            if self._history is None:
                self._history = open_history(self._place, create=create)
            return self._history

    def open_if_present(self) -> "History | None":
        try:
            return self.open()
        except NotInHistoryError:
            return None

    def close(self) -> None:
        if self._history is not None:
            self._history.close()


class RunSummary(RunFields, frozen=True):
    """A saved run of the checks or of the judge: its conditions in brief, and its figures."""

    tags: tuple[str, ...]
    profile: Annotated[str, msgspec.Meta(description="Profile of a run of the checks; empty for a judged run.")]
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
