"""Files of any size, compressed or not, or standard input, as blocks of whole lines; JSON Lines as rows."""

import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TextIO

import msgspec

from synthesis.errors import InputError, Place, Problem
from synthesis.io import SUFFIXES, open_binary
from synthesis.lazy import regex

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

STDIN = "-"
CHUNK = 1 << 20
MOST_LINE = 16 << 20
TOO_LONG = "line too long"  # a kind of problem
Seen = Callable[[bytes], object]


class Row(NamedTuple):
    """One record of a file: its number, the line where it starts, and its fields."""

    number: int
    line: int
    fields: Mapping[str, Any]


def unseen(_: bytes) -> None:
    """For files whose bytes are not hashed."""


class Block(msgspec.Struct, frozen=True):
    """Whole lines of one file: `content`, or the bytes from `start` to `end` of the file at `path`."""

    file: str  # what the cases call it
    first_line: int
    size: int
    path: str = ""
    start: int = 0
    content: bytes | None = None
    ready: bool = False  # `content` are cases, one a line, already made of the rows of a log

    def read(self) -> bytes:
        """Its lines, without a mark of the encoding before the first one."""
        content = self._read()
        return content.removeprefix(BYTE_ORDER_MARK) if self.first_line == 1 else content

    def _read(self) -> bytes:
        if self.content is not None:
            return self.content
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return file.read(self.size)


def blocks(
    path: Path,
    shown: str,
    *,
    size: int = 2 * CHUNK,
    most_line: int = MOST_LINE,
    seen: Seen = unseen,
    hold: bool = False,
) -> Iterator[Block | Problem]:
    """The blocks of a file in order, of about `size` bytes each; `seen` is shown every byte, for a hash.

    A block says where in the file it is. It holds its bytes itself with `hold`, if the file can be read only once, and
    if it is the whole file, so that a small file is not opened again.
    """
    again = "" if hold or _is_stream(path) else str(path.absolute())
    with opened(path) as file:
        yield from _Cutter(file, again, shown, size, most_line, seen).cut()


def _is_stream(path: Path) -> bool:
    """What cannot be read a second time from a place in the middle: compressed files, pipes, standard input."""
    return str(path) == STDIN or path.suffix in SUFFIXES or (path.exists() and not path.is_file() and not path.is_dir())


def input_size(path: Path) -> int:
    """How many bytes there are to read; 0 if unknown."""
    return 0 if _is_stream(path) or not path.is_file() else path.stat().st_size


class _Cutter:
    """Reads a file chunk by chunk and cuts it at line ends."""

    def __init__(self, file: BinaryIO, path: str, shown: str, size: int, most_line: int, seen: Seen) -> None:
        self._file = file
        self._path = path
        self._shown = shown
        self._size = size
        self._most_line = most_line
        self._seen = seen
        self._line = 1
        self._position = 0

    def cut(self) -> Iterator[Block | Problem]:
        held = b""
        while chunk := self._chunk():
            held += chunk
            end = held.rfind(b"\n") + 1
            if end >= self._size or (end and len(held) > self._size):
                yield self._block(held[:end])
                held = held[end:]
            if len(held) > self._most_line and b"\n" not in held:
                yield Problem(self._line, TOO_LONG, f"is longer than {self._most_line:,} bytes and was skipped")
                held = self._pass_over(len(held))
        if held:
            yield self._block(held, is_last=True)

    def _chunk(self) -> bytes:
        try:
            chunk = self._file.read(min(CHUNK, self._size))
            self._seen(chunk)
            return chunk
        except (OSError, EOFError, ValueError) as error:
            raise InputError(f"cannot be read: {error}", place=Place(self._shown), hint="Is it complete?") from None

    def _block(self, content: bytes, *, is_last: bool = False) -> Block:
        is_whole_file = is_last and self._position == 0
        kept = content if is_whole_file or not self._path else None
        block = Block(self._shown, self._line, len(content), self._path, self._position, kept)
        self._line += content.count(b"\n")
        self._position += len(content)
        return block

    def _pass_over(self, skipped: int) -> bytes:
        """Continue after the end of the current line; returns what was read of the next one."""
        while chunk := self._chunk():
            end = chunk.find(b"\n") + 1
            skipped += end or len(chunk)
            if end:
                self._line += 1
                self._position += skipped
                return chunk[end:]
        return b""


def opened(path: Path) -> AbstractContextManager[BinaryIO]:
    """The bytes of a file, unpacked, or of standard input; InputError if there is no such file."""
    if str(path) == STDIN:
        return nullcontext(sys.stdin.buffer)
    if path.is_dir():
        raise InputError("is a folder, not a file", place=Place(str(path)), hint="Give the path of a file in it.")
    try:
        return open_binary(path, "rb")
    except FileNotFoundError:
        raise InputError("there is no such file", place=Place(str(path)), hint="Check the path.") from None
    except (OSError, ValueError) as error:  # a ValueError: a path with a null byte
        reason = getattr(error, "strerror", None) or error
        hint = "Check the path and its permissions."
        raise InputError(f"cannot be read: {reason}", place=Place(str(path)), hint=hint) from None


class _Watched(io.RawIOBase):
    """The bytes of a file, each shown to `seen` as it is read."""

    def __init__(self, file: BinaryIO, seen: Seen) -> None:
        self._file = file
        self._seen = seen

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer).cast("B")
        content = self._file.read(len(view))
        self._seen(content)
        view[: len(content)] = content
        return len(content)


def text_stream(file: BinaryIO, seen: Seen, *, errors: str) -> TextIO:
    """The UTF-8 text of a file, without a byte order mark."""
    buffered = io.BufferedReader(_Watched(file, seen), CHUNK)
    return io.TextIOWrapper(buffered, encoding="utf-8-sig", errors=errors, newline="")


# One line of JSON becomes a value, or the problem that says why it cannot.


BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# An object of seven bytes takes a kilobyte once it is decoded and validated: a long line of them would fill the memory.
MOST_NESTED = 200_000
_STRING = regex(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def decode_line(
    line: bytes, number: int, case_id: str | None = None, decode: Callable[[str], Any] = msgspec.json.decode
) -> Any:
    """The value of a line; a Problem if it cannot be read."""
    try:
        text = line.decode()
        require_few_values(text)
        return decode(text)
    except UnicodeDecodeError as error:
        return Problem(number, "not UTF-8", f"is not UTF-8 (byte {error.start + 1} of the line)", case_id)
    except RecursionError:
        return Problem(number, "invalid JSON", "is nested too deeply", case_id)
    except ValueError as error:  # which the errors of msgspec and of json are, too
        return Problem(number, "invalid JSON", f"is not valid JSON: {error}", case_id)


def require_few_values(text: str) -> None:
    """ValueError for a text with more lists and objects than a conversation has; brackets in strings do not count."""
    if _brackets(text) > MOST_NESTED and _brackets(_STRING.sub("", text)) > MOST_NESTED:
        raise ValueError(f"it holds more than {MOST_NESTED:,} lists and objects")


def _brackets(text: str) -> int:
    return text.count("[") + text.count("{")


def line_rows(path: Path, most_line: int, seen: Seen = unseen) -> Iterator[Row | Problem]:
    """One JSON object per line, blank lines left out; a row's number is that of its line."""
    for block in blocks(path, str(path), most_line=most_line, seen=seen, hold=True):
        if isinstance(block, Problem):
            yield block
            continue
        for number, line in enumerate(block.read().split(b"\n"), start=block.first_line):
            if line.strip():
                yield as_row(decode_line(line, number, f"ROW-{number}"), number)


def as_row(value: Any, number: int, line: int = 0) -> Row | Problem:
    """A decoded value as a row, if it is an object."""
    if isinstance(value, Problem):
        return value
    if isinstance(value, dict):
        return Row(number, line or number, value)
    return Problem(line or number, "not an object", f"expected a JSON object, found {kind_of(value)}", f"ROW-{number}")


def kind_of(value: object) -> str:
    """What a JSON reader calls this value."""
    kinds = {type(None): "null", bool: "a boolean", str: "a string", list: "an array", dict: "an object"}
    return kinds.get(type(value), "a number")
