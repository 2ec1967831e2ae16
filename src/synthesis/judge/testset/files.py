"""Files of test sets: read with every problem named at once, written whole or not at all."""

import contextlib
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import SHOWN_PROBLEMS, OutputError, Place, TestSetError, shorten

_BYTE_POSITION = re.compile(r"\(byte (\d+)\)")
_BOM = b"\xef\xbb\xbf"


def read_json(path: str | os.PathLike[str]) -> object:
    """The JSON value in a file of UTF-8."""
    file = os.fspath(path)
    data = read_bytes(file)
    check_utf8(data, file)
    try:
        return msgspec.json.decode(data)
    except msgspec.MsgspecError as error:
        raise _malformed(data, file, str(error)) from None
    except RecursionError:
        raise TestSetError("not usable: it is nested too deeply", place=Place(file)) from None


def read_array(path: str | os.PathLike[str], what: str) -> list[object]:
    """The elements of a file that holds one JSON array."""
    value = read_json(path)
    if isinstance(value, list):
        return value
    raise TestSetError(
        f"expected a JSON array of {what}",
        place=Place(os.fspath(path)),
        hint="Put the objects between [ and ]. A file with one object per line is JSON Lines: name it .jsonl.",
    )


def read_bytes(file: str) -> bytes:
    """The whole file, without a byte order mark."""
    try:
        return Path(file).read_bytes().removeprefix(_BOM)
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from None


def unreadable(file: str, error: Exception) -> TestSetError:
    """The error for a path that cannot be read, in the words of a user."""
    if isinstance(error, FileNotFoundError):
        return TestSetError("no such file", place=Place(file), hint="Check the path.")
    if isinstance(error, IsADirectoryError):
        return TestSetError("is a directory", place=Place(file), hint="Give the path of a file in it.")
    reason = getattr(error, "strerror", None) or str(error)
    return TestSetError(f"cannot be read: {reason}", place=Place(file), hint="Check the path and its permissions.")


def check_utf8(data: bytes, file: str) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise not_utf8(file, data.count(b"\n", 0, error.start) + 1) from None


def not_utf8(file: str, line: int | None = None) -> TestSetError:
    return TestSetError("not UTF-8", place=Place(file, line), hint="Save the file in the encoding UTF-8.")


def _malformed(data: bytes, file: str, message: str) -> TestSetError:
    found = _BYTE_POSITION.search(message)
    offset = int(found[1]) if found else len(data)
    line = data.count(b"\n", 0, offset) + 1
    start = data.rfind(b"\n", 0, offset) + 1
    column = len(data[start:offset].decode("utf-8", "ignore")) + 1
    reason = _BYTE_POSITION.sub("", message).removeprefix("JSON is malformed:").strip()
    hint = (
        "A test set is one JSON array; check brackets, commas and quotes near this place. "
        "With one object per line it is JSON Lines: name it .jsonl."
    )
    return TestSetError(f"not valid JSON: {reason}", place=Place(file, line, column), hint=hint)


class Problems:
    """What is wrong with one file; raises it all together, the first hundred in words."""

    def __init__(self, file: str, *, hint: str) -> None:
        self.file = file
        self.hint = hint
        self.total = 0
        self._shown: list[str] = []

    def add(self, where: str, message: str) -> None:
        self.total += 1
        if len(self._shown) < SHOWN_PROBLEMS:
            self._shown.append(f"{where}: {message}" if where else message)

    @property
    def first(self) -> str:
        """The first one in words."""
        return self._shown[0] if self._shown else ""

    def raise_if_any(self) -> None:
        if not self.total:
            return
        raise TestSetError(self._message(), place=Place(self.file), hint=self.hint)

    def _message(self) -> str:
        if self.total == 1:
            return self._shown[0]
        more = [f"... and {self.total - len(self._shown)} more"] if self.total > len(self._shown) else []
        return "\n  ".join([f"{self.total} problems", *self._shown, *more])


def named(position: str, name: object) -> str:
    """`case 3 (q-17)`: a position, with the id of what is there if it has one."""
    return f"{position} ({shorten(name)})" if isinstance(name, str) and name.strip() else position


def listing(names: list[str], shown: int = 20) -> str:
    """The names, the first ones in full and the rest as a count."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(shorten(name) for name in names[:shown]) + more


def kind_of(value: object) -> str:
    """What a JSON reader calls this value."""
    kinds = {type(None): "null", bool: "a boolean", str: "a text", list: "an array", dict: "an object"}
    return kinds.get(type(value), "a number")


def as_text(value: object) -> str | None:
    """A text, or a number as text; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return str(value)
    except ValueError:  # Python writes no integer of thousands of digits
        return None


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
