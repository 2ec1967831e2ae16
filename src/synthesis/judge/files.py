"""Files of a run: readable by their owner alone, replaced as a whole or not at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from synthesis.errors import OutputError, Place

OWNER_ONLY_FILE = 0o600
OWNER_ONLY_FOLDER = 0o700
BYTES_AS_THEY_ARE = getattr(os, "O_BINARY", 0)  # Windows would write a line break as two characters


def make_private_folder(folder: Path) -> None:
    """Create a folder and those above it that are missing, for the owner alone."""
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        with refused_writes(missing):
            missing.mkdir(mode=OWNER_ONLY_FOLDER, exist_ok=True)


def replace_file(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Put `content` in place of the file; a reader sees the old file or the new one, never a part."""
    make_private_folder(path.parent)
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    with refused_writes(path):
        try:
            _write(fresh, content, durable)
            os.replace(fresh, path)
        except BaseException:
            with contextlib.suppress(OSError):
                fresh.unlink()
            raise


@contextlib.contextmanager
def refused_writes(path: Path) -> Iterator[None]:
    """An operating system that refuses to write becomes an `OutputError` with the place."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot be written: {error.strerror or error}",
            place=Place(str(path)),
            hint="Make room or choose another --root. The journal is safe: the same command resumes.",
        ) from error


def _write(path: Path, content: bytes, durable: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | BYTES_AS_THEY_ARE, OWNER_ONLY_FILE)
    try:
        write_all(descriptor, content)
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, content: bytes) -> None:
    """Write every byte; a signal or a nearly full disk may take only a part at a time."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
