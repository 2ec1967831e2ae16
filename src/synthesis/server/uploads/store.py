"""The folder of each upload: its file while it is needed, its state, its report."""

import re
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from synthesis.report.files import replaced
from synthesis.server.errors import ApiError, ErrorDetail, not_found

KEPT = 20  # uploads that are over; older ones are removed
WAITING: Final = "waiting"
RUNNING: Final = "running"
DONE: Final = "done"
FAILED: Final = "failed"
CANCELLED: Final = "cancelled"
OVER = {DONE, FAILED, CANCELLED}
_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_CANCEL = "cancel"


class Upload(msgspec.Struct, frozen=True, omit_defaults=True):
    """An uploaded file and how far its evaluation is."""

    id: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
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


def no_such_upload() -> ApiError:
    return not_found("There is no such upload.", f"The latest {KEPT} are kept while the server runs.")


class UploadFolder:
    """The files of one upload."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def input(self, kind: str) -> Path:
        return self.path / f"upload.{kind}"

    @property
    def report(self) -> Path:
        return self.path / "report.json"

    @property
    def parts(self) -> Path:
        return self.path / "parts"

    def load(self) -> Upload:
        try:
            return msgspec.json.decode((self.path / "state.json").read_bytes(), type=Upload)
        except FileNotFoundError:
            raise no_such_upload() from None

    def save(self, upload: Upload) -> None:
        with replaced(self.path / "state.json") as file:
            file.write(msgspec.json.encode(upload))

    def change(self, **fields: Any) -> Upload:
        changed = msgspec.structs.replace(self.load(), **fields)
        self.save(changed)
        return changed

    @property
    def is_cancelled(self) -> bool:
        return (self.path / _CANCEL).exists()

    def cancel(self) -> None:
        (self.path / _CANCEL).touch()

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


class UploadStore:
    """All uploads of a server. Ids are drawn here; a request's id is looked up only if it looks like one."""

    def __init__(self, root: Path) -> None:
        self._root = root / "uploads"
        self._root.mkdir(mode=0o700, exist_ok=True)

    def new(self) -> tuple[str, UploadFolder]:
        self._make_room()
        name = secrets.token_urlsafe(16)
        folder = UploadFolder(self._root / name)
        folder.path.mkdir(mode=0o700)
        return name, folder

    def folder(self, upload_id: str) -> UploadFolder:
        path = self._root / upload_id if _ID.fullmatch(upload_id) else None
        if path is None or not (path / "state.json").is_file():
            raise no_such_upload()
        return UploadFolder(path)

    def _make_room(self) -> None:
        with suppress(OSError, ApiError):  # another worker may be at it too
            states = sorted(self._root.glob("*/state.json"), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in states[KEPT - 1 :]:
                folder = UploadFolder(path.parent)
                if folder.load().state in OVER:
                    folder.remove()
