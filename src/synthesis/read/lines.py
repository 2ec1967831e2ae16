"""Files of any size as blocks of whole lines, compressed or not, or standard input; and a line of JSON as a value."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from synthesis.errors import InputError, Place, Problem
from synthesis.io import SUFFIXES, open_binary

STDIN = "-"
CHUNK = 1 << 20
MOST_LINE = 16 << 20
Seen = Callable[[bytes], object]


class Block(msgspec.Struct, frozen=True):
    """Whole lines of one file: `content`, or the bytes from `start` to `end` of the file at `path`."""

    file: str  # what the cases call it
    first_line: int
    size: int
    path: str = ""
    start: int = 0
    content: bytes | None = None
    ready: bool = False  # `content` is a list of cases, already made of the rows of a log

    def read(self) -> bytes:
        if self.content is not None:
            return self.content
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return file.read(self.size)


def blocks(
    path: Path, shown: str, *, size: int = 2 * CHUNK, most_line: int = MOST_LINE, seen: Seen = lambda _: None
) -> Iterator[Block | Problem]:
    """The blocks of a file in order, of about `size` bytes each; `seen` is shown every byte, for a hash."""
    with _opened(path) as file:
        yield from _Cutter(file, "" if _is_stream(path) else str(path.absolute()), shown, size, most_line, seen).cut()


def _is_stream(path: Path) -> bool:
    """What cannot be read a second time from a place in the middle: compressed files, pipes, standard input."""
    return str(path) == STDIN or path.suffix in SUFFIXES or (path.exists() and not path.is_file() and not path.is_dir())


def input_size(path: Path) -> int:
    """How many bytes there are to read; 0 where nobody knows."""
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
                yield Problem(self._line, "line too long", f"is longer than {self._most_line:,} bytes and was skipped")
                held = self._pass_over(len(held))
        if held:
            yield self._block(held)

    def _chunk(self) -> bytes:
        try:
            chunk = self._file.read(min(CHUNK, self._size))
            self._seen(chunk)
            return chunk
        except (OSError, EOFError, ValueError) as error:
            raise InputError(f"cannot be read: {error}", place=Place(self._shown), hint="Is it complete?") from None

    def _block(self, content: bytes) -> Block:
        block = Block(
            self._shown, self._line, len(content), self._path, self._position, None if self._path else content
        )
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


def _opened(path: Path) -> AbstractContextManager[BinaryIO]:
    if str(path) == STDIN:
        return nullcontext(sys.stdin.buffer)
    if path.is_dir():
        raise InputError("is a folder, not a file", place=Place(str(path)), hint="Give a file of JSON Lines.")
    try:
        return open_binary(path, "rb")
    except FileNotFoundError:
        raise InputError("there is no such file", place=Place(str(path)), hint="Check the path.") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=Place(str(path))) from None


# One line of JSON becomes a value, or the problem that says why it cannot.


BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# An object of seven bytes takes a kilobyte once it is decoded and validated: a long line of them would fill the memory.
MOST_NESTED = 200_000
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def decode_line(
    line: bytes, number: int, case_id: str | None = None, decode: Callable[[str], Any] = msgspec.json.decode
) -> Any:
    """What a line holds; a Problem if that cannot be told."""
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
