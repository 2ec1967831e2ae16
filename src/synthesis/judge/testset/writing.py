"""A test set is written whole or not at all, and for its owner's eyes: it holds what people asked."""

import contextlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import OutputError, Place


def write_test_set(objects: Sequence[Mapping[str, Any]], path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write the cases as a JSON array; an existing file stays unless `force` is given."""
    target = Path(path)
    check_target(target, force=force)
    data = msgspec.json.format(msgspec.json.encode(objects), indent=2) + b"\n"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, data, force)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"cannot be written: {reason}", place=Place(str(target))) from None


def check_target(path: str | os.PathLike[str], *, force: bool) -> None:
    """Refuse what would be refused anyway, before any work is done."""
    target = Path(path)
    if target.is_dir():
        raise OutputError("is a directory", place=Place(str(target)), hint="Give the name of a file.")
    if not force and os.path.lexists(target):
        raise _exists(target)


def _exists(target: Path) -> OutputError:
    return OutputError("already exists", place=Place(str(target)), hint="Give another name, or --force.")


def _replace(target: Path, data: bytes, force: bool) -> None:
    """By way of a new file beside it, which only the owner can read."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        _put(name, target, force)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _put(name: str, target: Path, force: bool) -> None:
    """`link` refuses to replace a file that has appeared meanwhile; not every file system has it."""
    try:
        if not force:
            os.link(name, target)
            return
    except FileExistsError:
        raise _exists(target) from None
    except OSError:
        check_target(target, force=force)
    os.replace(name, target)
