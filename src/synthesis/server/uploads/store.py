"""The folder of each upload: its file while it is needed, its state, its report."""

from pathlib import Path
from typing import Annotated, Any

import msgspec

from synthesis.server.errors import ErrorDetail
from synthesis.server.jobs import Job, JobFolder


class Upload(Job, frozen=True, omit_defaults=True):
    """An uploaded file and how far its evaluation is."""

    size: Annotated[int, msgspec.Meta(description="Bytes of the file.")]
    read: Annotated[int, msgspec.Meta(description="Bytes evaluated so far.")] = 0
    cases: Annotated[int, msgspec.Meta(description="Cases evaluated so far.")] = 0
    summary: Annotated[dict[str, Any] | None, msgspec.Meta(description="The report's summary, once it is done.")] = None
    error: Annotated[ErrorDetail | None, msgspec.Meta(description="Why it failed.")] = None


class UploadOrder(msgspec.Struct, frozen=True):
    """How an uploaded file is to be evaluated."""

    kind: str = "jsonl"
    checks: tuple[str, ...] = ()
    language: str | None = None
    on_bad_row: str | None = None
    columns: dict[str, str] = {}
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
