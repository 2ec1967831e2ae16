"""Bytes of a user's file become JSON values here, or an error that says where they fail to."""

import os
import re
from pathlib import Path

import msgspec

from synthesis.errors import Place, TestSetError

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
        hint="Put the objects between [ and ].",
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
    hint = "A test set is one JSON array; check brackets, commas and quotes near this place."
    return TestSetError(f"not valid JSON: {reason}", place=Place(file, line, column), hint=hint)
