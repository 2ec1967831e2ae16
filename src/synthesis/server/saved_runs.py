"""Runs of the history as the API gives them, and what both API and pages ask of them."""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from synthesis.errors import InputError
from synthesis.history import Figures, Provenance, Run
from synthesis.history.model import CHECKS, JUDGE
from synthesis.report.compare import Comparison, compare_reports
from synthesis.report.judged.compare import JudgedComparison, compare_runs
from synthesis.report.reading import open_report
from synthesis.server.errors import ApiError
from synthesis.server.jobs import DONE
from synthesis.server.uploads.store import UploadFolder

if TYPE_CHECKING:
    from synthesis.history.store import History

Name = Annotated[str, msgspec.Meta(max_length=200, description="What the run is called, in place of the file's name.")]


class RunSummary(msgspec.Struct, frozen=True):
    """A saved run of the checks or of the judge: what was in force, and its figures."""

    id: str
    kind: str
    name: str
    started: str
    tool_version: str
    rules_hash: str | None
    input_hash: str | None
    revision: str | None
    with_text: Annotated[bool, msgspec.Meta(description="Whether what was said was saved as well.")]
    tags: tuple[str, ...]
    figures: Figures


class RunDetail(RunSummary, frozen=True):
    """The same with all conditions, and with the summary as it stands in the report."""

    conditions: dict[str, Any]
    summary: dict[str, Any]


class SaveOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An upload to be saved as a run."""

    upload: Annotated[str, msgspec.Meta(description="Id of an upload that is done.")]
    name: Name = ""
    save_text: Annotated[bool, msgspec.Meta(description="Save what was said as well, not only the verdicts.")] = False
    tags: tuple[str, ...] = ()


class TagChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tags to put on a run, and tags to take off."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


def summary_of(run: Run) -> RunSummary:
    return RunSummary(**{name: getattr(run, name) for name in RunSummary.__struct_fields__})


def detail_of(run: Run) -> RunDetail:
    return RunDetail(**{name: getattr(run, name) for name in RunDetail.__struct_fields__})


def save_upload(history: "History", folder: UploadFolder, order: SaveOrder) -> Run:
    """The run that an upload has become; ApiError while it is not done."""
    if folder.load().state != DONE:
        raise ApiError(409, "not_done", "There is nothing to save: the upload is not done.", "Its state says why.")
    known = Provenance(with_text=order.save_text, tags=order.tags, name=order.name.strip() or None)
    return history.run(history.add_report(open_report(folder.report), known))


def compared(history: "History", before: str, after: str) -> Comparison | JudgedComparison:
    """What changed from one run to the other, as `synthesis compare` tells it."""
    kinds = {history.run(run_id).kind for run_id in (before, after)}
    if kinds == {CHECKS}:
        return compare_reports(history.report(before), history.report(after))
    if kinds == {JUDGE}:
        return compare_runs(history.judged(before), history.judged(after))
    raise InputError("A run of the checks and a judged run cannot be compared.", hint="Choose two of one kind.")
