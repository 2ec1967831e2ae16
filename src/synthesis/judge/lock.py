"""One process at a time on a run folder; the operating system lets go of the lock when the process dies."""

import os
import sys
from pathlib import Path

from synthesis.errors import Place, RunFolderError
from synthesis.judge.files import OWNER_ONLY_FILE, refused_writes

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FolderLock:
    """Held from creation to `release`."""

    def __init__(self, folder: Path) -> None:
        path = folder / ".lock"
        with refused_writes(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, OWNER_ONLY_FILE)
        try:
            _lock(self._descriptor)
        except OSError:
            os.close(self._descriptor)
            raise RunFolderError(
                "another process is judging in this folder",
                place=Place(str(folder)),
                hint="Wait until it ends, or choose another folder with --output-dir.",
            ) from None

    def release(self) -> None:
        """Let the next process in."""
        os.close(self._descriptor)
