"""Uploaded case files: each in a folder of its own, evaluated one by one in a process beside the server."""

from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Any

import msgspec

from synthesis.errors import InputError
from synthesis.model.report import Report
from synthesis.run.files import Pace, evaluate_files
from synthesis.run.spec import InputFile, RunSpec
from synthesis.server.errors import ErrorDetail
from synthesis.server.job_queue import run_jobs
from synthesis.server.jobs import CANCELLED, DONE, FAILED, RUNNING, Job, JobFolder, failure
from synthesis.server.rulebook import loaded_rules
from synthesis.server.upload_words import in_page_words
from synthesis.settings import TRAFFIC

BLOCK = 128 << 10  # bytes between two looks at whether to cancel, and two counts of progress


class Upload(Job, frozen=True, omit_defaults=True):
    """An uploaded file and the progress of its evaluation."""

    size: Annotated[int, msgspec.Meta(description="Bytes of the file.")]
    read: Annotated[int, msgspec.Meta(description="Bytes evaluated so far.")] = 0
    cases: Annotated[int, msgspec.Meta(description="Cases evaluated so far.")] = 0
    cases_per_second: Annotated[float, msgspec.Meta(description="How fast it is lately; 0 before the first cases.")] = 0
    seconds_left: Annotated[
        float | None, msgspec.Meta(description="About how long it will still take; null where nobody can tell.")
    ] = None
    summary: Annotated[
        dict[str, Any] | None, msgspec.Meta(description="The report's summary, once it is finished.")
    ] = None
    error: Annotated[ErrorDetail | None, msgspec.Meta(description="Why it failed.")] = None


class UploadOptions(msgspec.Struct, frozen=True):
    """How to evaluate an uploaded file."""

    kind: str = "jsonl"
    checks: tuple[str, ...] = ()
    language: str | None = None
    on_bad_row: str | None = None
    columns: dict[str, str] = {}
    sort: bool = False
    profile: str = TRAFFIC
    folders: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    most_line: int = 1 << 20


class UploadFolder(JobFolder[Upload]):
    """The files of one upload."""

    kind = Upload
    noun = "upload"

    def input(self, kind: str) -> Path:
        return self.path / f"upload.{kind}"

    @property
    def report(self) -> Path:
        return self.path / "report.json"

    def clear(self) -> None:
        for path in self.path.glob("upload.*"):
            path.unlink(missing_ok=True)


class _Cancelled(Exception):  # noqa: N818 - not an error: a client asked for it
    """The upload was cancelled."""


def run_uploads(jobs: Connection) -> None:
    """The process beside the server: evaluates the uploads that come through the pipe."""
    run_jobs(jobs, lambda path, options: _run(UploadFolder(path), options))


def _run(folder: UploadFolder, options: UploadOptions) -> None:
    """Evaluate one upload. Its file is removed afterwards, also after an error: it holds what people wrote."""
    try:
        folder.change(state=RUNNING)
        summary = _evaluate(folder, options).summary
        size = folder.load().size
        folder.change(state=DONE, seconds_left=None, read=size, cases=summary["cases"], summary=summary)
    except _Cancelled:
        folder.change(state=CANCELLED)
    except Exception as error:  # this file has failed; the process goes on with the next
        folder.change(state=FAILED, error=_told(error, folder, options))
    finally:
        folder.input(options.kind).unlink(missing_ok=True)


def _told(error: Exception, folder: UploadFolder, options: UploadOptions) -> ErrorDetail:
    if isinstance(error, InputError):
        return in_page_words(error, folder.input(options.kind).name)
    return failure(error, "invalid_cases", folder.path, placed=True)


def _evaluate(folder: UploadFolder, options: UploadOptions) -> Report:
    pace = Pace()

    def note(cases: int, read: int, total: int) -> None:
        _require_wanted(folder)
        pace.note(cases, read, total)
        speed, left = round(pace.rows_per_second or 0, 1), pace.seconds_left
        left = None if left is None else round(left, 1)
        folder.note_progress(cases=cases, read=read, cases_per_second=speed, seconds_left=left)

    _require_wanted(folder)
    rules = loaded_rules(options.folders, options.disabled)
    return evaluate_files(_spec(folder, options), progress=note, rules=rules, block_size=BLOCK).report


def _require_wanted(folder: UploadFolder) -> None:
    if folder.is_cancelled:
        raise _Cancelled


def _spec(folder: UploadFolder, options: UploadOptions) -> RunSpec:
    return RunSpec(
        profile=options.profile,
        inputs=(InputFile(folder.input(options.kind), f"upload.{options.kind}"),),
        checks=options.checks,
        columns=options.columns,
        sort=options.sort,
        on_bad_row=options.on_bad_row,
        language=options.language,
        rules=options.folders,
        disabled=options.disabled,
        max_line=options.most_line,
        out=folder.report,
    )
