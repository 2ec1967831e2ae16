"""Locks that tell work in progress from what a dead process left: the system frees them when their holder ends."""

import os
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def host() -> str:
    """This machine's name, as a part of file names."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", socket.gethostname())[:32].strip("-") or "localhost"


if sys.platform == "win32":
    # An open file cannot be moved there, so nothing is locked, and nothing is taken for abandoned.
    @contextmanager
    def held(path: Path) -> Iterator[None]:  # noqa: ARG001
        yield

    @contextmanager
    def claimed(path: Path) -> Iterator[bool]:  # noqa: ARG001
        yield False

else:
    import fcntl

    @contextmanager
    def held(path: Path) -> Iterator[None]:
        """Keep a file, which is made if need be, under a lock; nobody may take it for abandoned meanwhile."""
        descriptor = _locked(path)
        try:
            yield
        finally:
            os.close(descriptor)

    def _locked(path: Path) -> int:
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            with suppress(OSError):  # a file system without locks; nobody can claim the file there, either
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:
                return descriptor
            os.close(descriptor)  # it was taken for abandoned between the two steps

    @contextmanager
    def claimed(path: Path) -> Iterator[bool]:
        """Whether nobody holds the file; if so, it is held from now on."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            yield _is_free(descriptor)
        finally:
            os.close(descriptor)

    def _is_free(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
