"""Jobs: work that takes longer than a request, with its state and its files.

Each job has a folder of its own with its state in a small file, because the next request about it may reach another
worker process of the server. The file is replaced as a whole, so a reader never sees half of it.
"""

import re
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

import msgspec

from synthesis.errors import SynthesisError
from synthesis.report.stored import replaced
from synthesis.server.errors import ApiError, ErrorDetail, as_api_error, not_found

PAUSE = 0.1  # seconds between two writes of a job's progress
KEPT = 20  # finished jobs; older ones are removed
WAITING: Final = "waiting"
RUNNING: Final = "running"
DONE: Final = "done"
FAILED: Final = "failed"
CANCELLED: Final = "cancelled"
OVER = {DONE, FAILED, CANCELLED}
State = Literal["waiting", "running", "done", "failed", "cancelled"]
_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_CANCEL = "cancel"


class Job(msgspec.Struct, frozen=True, omit_defaults=True):
    """What all jobs have: an id and a state."""

    id: str
    state: State


J = TypeVar("J", bound=Job)


def failure(error: Exception, code: str, folder: Path, *, placed: bool = False) -> ErrorDetail:
    """Why a job failed; `placed`: where in its file. An unexpected error is told without details: they may quote."""
    if not isinstance(error, SynthesisError):
        return as_api_error(error).detail
    message, hint = (str(error), "") if placed else (error.message, error.hint or "")
    return ErrorDetail(code, _told(message, folder), _told(hint, folder))


def _told(text: str, folder: Path) -> str:
    """Without a path of this machine; what was not UTF-8 in the file is spelled out, since JSON cannot hold it."""
    return text.replace(f"{folder}/", "").encode("utf-8", "backslashreplace").decode()


def no_such_job(noun: str) -> ApiError:
    return not_found(f"There is no such {noun}.", f"The latest {KEPT} are kept while the server runs.")


class JobFolder(Generic[J]):
    """The files of one job."""

    kind: ClassVar[type[Any]] = Job
    noun: ClassVar[str] = "job"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._saved = 0.0

    def load(self) -> J:
        try:
            found: J = msgspec.json.decode((self.path / "state.json").read_bytes(), type=self.kind)
        except FileNotFoundError:
            raise no_such_job(self.noun) from None
        return found

    def save(self, job: J) -> None:
        with replaced(self.path / "state.json") as file:
            file.write(msgspec.json.encode(job))
        self._saved = monotonic()

    def change(self, **fields: Any) -> J:
        changed = msgspec.structs.replace(self.load(), **fields)
        self.save(changed)
        return changed

    def note_progress(self, **fields: Any) -> None:
        """Change the state unless that was done a moment ago: progress comes faster than anybody reads it."""
        if monotonic() - self._saved > PAUSE:
            self.change(**fields)

    @property
    def is_cancelled(self) -> bool:
        return (self.path / _CANCEL).exists()

    def cancel(self) -> J:
        """Ask a job that waits or runs to end, and return its state; a finished one stays as it is."""
        if self.load().state not in OVER:
            (self.path / _CANCEL).touch()
        return self.load()

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def clear(self) -> None:
        """Remove the files that a finished job does not need."""


F = TypeVar("F", bound=JobFolder[Any])


class JobStore(Generic[F]):
    """All jobs of one kind. An id from a request becomes part of a path, so it must look like one of ours."""

    def __init__(self, root: Path, kind: type[F]) -> None:
        self._root = root / f"{kind.noun}s"
        self._kind = kind
        self._root.mkdir(mode=0o700, exist_ok=True)

    def new(self) -> tuple[str, F]:
        self._make_room()
        name = secrets.token_urlsafe(16)
        folder = self._kind(self._root / name)
        folder.path.mkdir(mode=0o700)
        return name, folder

    def has(self, name: str) -> bool:
        return bool(_ID.fullmatch(name)) and (self._root / name / "state.json").is_file()

    def folder(self, name: str) -> F:
        if not self.has(name):
            raise no_such_job(self._kind.noun)
        return self._kind(self._root / name)

    def _make_room(self) -> None:
        with suppress(OSError, ApiError):  # another worker may be removing it too
            states = sorted(self._root.glob("*/state.json"), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in states[KEPT - 1 :]:
                folder = self._kind(path.parent)
                if folder.load().state in OVER:
                    folder.remove()
