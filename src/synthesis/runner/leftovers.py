"""Where a run works until its output is whole, and what a run that was killed left there.

    out/.synthesis-<host>-<token>/      the results of blocks, and `lock`, which the run holds
    out/.report.json.<host>.<token>.part   a file on its way to its place, held by its writer

The next run removes what no process holds and this host wrote. Anything else is named: another host may be at work.
"""

import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import gettempdir
from types import TracebackType

from synthesis.errors import OutputError, Place
from synthesis.io import claimed, held, host

LOCK = "lock"
# Without a host: as version 0.1 named them.
_FOLDER = re.compile(r"\.synthesis-(?:(?P<host>.+)-[0-9a-f]{12}|[a-z0-9_]{8})")
_PART = re.compile(r"\..+?(?:\.(?P<host>[A-Za-z0-9_-]+))?\.[0-9a-f]{12}\.part")


class WorkFolder:
    """A folder of a run's own beside its output, removed at its end; in the system's place without an output."""

    def __init__(self, parent: Path | None) -> None:
        self._parent = parent or Path(gettempdir())
        self._path = Path()
        self._lock = ExitStack()

    def __enter__(self) -> Path:
        try:
            self._parent.mkdir(parents=True, exist_ok=True)
            while not self._made():
                pass
        except OSError as error:
            hint = "Choose another path with --out."
            message = f"cannot be written: {error.strerror or error}"
            raise OutputError(message, place=Place(str(self._parent)), hint=hint) from None
        return self._path

    def _made(self) -> bool:
        self._path = self._parent / f".synthesis-{host()}-{secrets.token_hex(6)}"
        self._path.mkdir(mode=0o700)
        try:
            self._lock.enter_context(held(self._path / LOCK))
        except FileNotFoundError:  # another run took it for abandoned before it was locked
            if self._path.exists():
                raise
            return False
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            shutil.rmtree(self._path, ignore_errors=True)


def sweep(folders: Iterable[Path]) -> list[str]:
    """Remove what dead runs of this host left in these folders; what may belong to others is returned."""
    candidates = [path for folder in dict.fromkeys(folders) if folder.is_dir() for path in sorted(folder.iterdir())]
    return [str(path) for path in candidates if _is_foreign(path)]


def sweep_table(table: Path) -> list[str]:
    """The same for the parts of a table, in all of its folders."""
    return [str(path) for path in sorted(table.rglob(".*.part")) if _is_foreign(path)]


def _is_foreign(path: Path) -> bool:
    """Whether a path is what a run leaves, and not one of this host; if it is of a dead run here, it is removed."""
    found = (_FOLDER if path.is_dir() else _PART).fullmatch(path.name)
    if found is None or found["host"] != host():
        return found is not None
    with suppress(OSError):  # gone meanwhile, or not ours to remove
        _remove_if_abandoned(path)
    return False


def _remove_if_abandoned(path: Path) -> None:
    is_folder = path.is_dir()
    with claimed(path / LOCK if is_folder else path) as is_free:
        if is_free and is_folder:
            shutil.rmtree(path)
        elif is_free:
            path.unlink()


def output_folders(paths: Iterable[Path | None]) -> Iterator[Path]:
    return (path.parent for path in paths if path is not None)
