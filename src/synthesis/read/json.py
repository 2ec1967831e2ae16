"""Logs in JSON: a conversation per line, a list of them, or an Inspect log; documents are read value by value."""

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO

from synthesis.errors import InputError, MissingExtraError, Place, Problem, shorten
from synthesis.read.lines import BYTE_ORDER_MARK, blocks, decode_line, require_few_values
from synthesis.read.rows import LogRow

CHUNK = 1 << 20
_SPACE = re.compile(r"[ \t\r\n]*")
_decode = json.JSONDecoder().raw_decode


class TooLongError(ValueError):
    """A value that is longer than allowed."""


class JsonStream:
    """The place in a document that was read so far; ValueError where it is not JSON."""

    def __init__(self, file: TextIO, most: int) -> None:
        self._file = file
        self._most = most
        self._text = ""
        self._at = 0
        self._is_whole = False  # nothing is left to be read

    def peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text) or not self._more(CHUNK):
                return self._text[self._at : self._at + 1]

    def take(self, *wanted: str) -> str:
        """The next character, which must be one of these."""
        found = self.peek()
        if found not in wanted:
            raise ValueError(f"expected {' or '.join(wanted)}, found {found or 'the end of the file'}")
        self._at += 1
        return found

    def value(self) -> Any:
        """The next value, decoded."""
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._more(max(CHUNK, len(self._text))):
                    raise ValueError(error.msg) from None
            else:
                # A number that ends with the text may have more digits in the next chunk.
                if end < len(self._text) or not self._more(CHUNK):
                    if end - self._at > self._most:
                        raise TooLongError
                    self._at = end
                    return value

    def elements(self) -> Iterator[Any]:
        """The elements of the list that comes next."""
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        yield self.value()
        while self.take(",", "]") == ",":
            yield self.value()

    def keys(self) -> Iterator[str]:
        """The keys of the object that comes next; the caller reads the value of each."""
        self.take("{")
        if self.peek() == "}":
            self.take("}")
            return
        yield self._key()
        while self.take(",", "}") == ",":
            yield self._key()

    def _key(self) -> str:
        key = self.value()
        if not isinstance(key, str):
            raise ValueError("a key of an object is not a string")
        self.take(":")
        return key

    def _more(self, size: int) -> bool:
        """Read on; False at the end. Only a value that is allowed to be that long is ever held."""
        if self._is_whole:
            return False
        rest = self._text[self._at :]
        if len(rest) > self._most:
            raise TooLongError
        require_few_values(rest)
        chunk = self._file.read(size)
        self._is_whole = not chunk
        self._text, self._at = rest + chunk, 0
        return bool(chunk)


# Logs in JSON: one conversation per line, a list of them, or a log of Inspect (.eval or .json).


_SAMPLE = re.compile(r"samples/.*\.json", re.DOTALL)
_ZSTD = 93  # the number of this compression in a zip archive
_COMPRESSIONS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTD}
_NAME_LENGTHS = 26  # where a member's own header says how long its name and its extra field are


def line_rows(path: Path, most_line: int) -> Iterator[LogRow | Problem]:
    """One JSON object per line, blank lines left out; a row's number is that of its line."""
    for block in blocks(path, str(path), most_line=most_line):
        if isinstance(block, Problem):
            yield block
            continue
        for number, line in enumerate(block.read().split(b"\n"), start=block.first_line):
            content = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
            if content.strip():
                yield _as_row(decode_line(content, number, f"ROW-{number}"), number)


def _as_row(value: Any, number: int) -> LogRow | Problem:
    if isinstance(value, Problem):
        return value
    if isinstance(value, dict):
        return LogRow(number, number, value)
    return Problem(number, "not an object", "expected a JSON object", f"ROW-{number}")


def json_rows(path: Path, most_line: int) -> Iterator[LogRow | Problem]:
    """A list of conversations, or the samples of an Inspect log, from one JSON document that is read as a stream."""
    place = Place(str(path))
    number = 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, row in enumerate(_document_rows(JsonStream(file, most_line), place), start=1):
                yield row(number)
    except TooLongError:
        message = f"holds a value of more than {most_line:,} bytes after row {number}"
        hint = "Raise --max-line, or save the log as JSON Lines, where one long row does not end the reading."
        raise InputError(message, place=place, hint=hint) from None
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"is not valid JSON after row {number}: {reason}", place=place) from None


def _document_rows(document: JsonStream, place: Place) -> Iterator[Callable[[int], LogRow | Problem]]:
    if document.peek() == "[":
        for value in document.elements():
            yield partial(_as_row, value)
    elif not (yield from _sample_rows(document)):
        hint = "A .json file is a list of conversations or an Inspect log; cases are JSON Lines (.jsonl)."
        raise InputError("is neither a list nor an Inspect log", place=place, hint=hint)
    if document.peek():
        raise ValueError("there is more after its end")


def _sample_rows(document: JsonStream) -> Generator[Callable[[int], LogRow | Problem], None, bool]:
    """The samples of an Inspect log; False if it is not one."""
    if document.peek() != "{":
        document.value()
        return False
    seen = set()
    for key in document.keys():  # noqa: SIM118 - not a dictionary
        if key == "samples" and document.peek() == "[":
            seen.add(key)
            for sample in document.elements():
                yield partial(_sample, sample)
        elif document.value() is not None:
            seen.add(key)
    return {"samples", "eval"} <= seen


def inspect_rows(path: Path, most_line: int) -> Iterator[LogRow | Problem]:
    """The samples of an Inspect log (.eval), one at a time, in the order of the archive."""
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            members = [member for member in archive.infolist() if _SAMPLE.fullmatch(member.filename)]
            for number, member in enumerate(members, start=1):
                if member.compress_type not in _COMPRESSIONS:
                    raise zipfile.BadZipFile
                with _unpacked(file, member) if member.compress_type == _ZSTD else archive.open(member) as stream:
                    yield _sample(_decoded(stream, number, most_line), number)
    # What the module raises for archives that are encrypted, damaged or of a kind that it does not know.
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError):
        raise InputError(
            "is not an Inspect log, or is damaged", place=Place(str(path)), hint="Give a .eval or .json log."
        ) from None


def _decoded(stream: IO[bytes], number: int, most_line: int) -> Any:
    name = f"ROW-{number}"
    content = stream.read(most_line + 1)
    if len(content) > most_line:
        return Problem(number, "line too long", f"is longer than {most_line:,} bytes and was skipped", name)
    return decode_line(content, number, name, json.loads)  # which takes the NaN of Inspect's scores


@contextmanager
def _unpacked(file: BinaryIO, member: zipfile.ZipInfo) -> Iterator[BinaryIO]:
    """A member in the compression that Inspect uses, which `zipfile` does not know before Python 3.14."""
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zst", "reading a compressed Inspect log") from None
    file.seek(member.header_offset + _NAME_LENGTHS)
    name, extra = struct.unpack("<HH", file.read(4))
    file.seek(name + extra, 1)
    try:
        with zstandard.ZstdDecompressor().stream_reader(file, closefd=False) as stream:
            yield stream
    except zstandard.ZstdError:
        raise zipfile.BadZipFile from None


def _sample(sample: Any, number: int) -> LogRow | Problem:
    """The conversation of a sample; one that broke off has no reply to evaluate."""
    row = _as_row(sample, number)
    if isinstance(row, Problem):
        return row
    error = row.fields.get("error")
    if error:
        said = error.get("message", "") if isinstance(error, Mapping) else error
        message = f"the sample ended in error: {shorten(str(said))}"
        return Problem(number, "sample in error", message, f"ROW-{number}")
    name, epoch = row.fields.get("id"), row.fields.get("epoch")
    fields = {
        "id": name if epoch == 1 else f"{name} epoch {epoch}",
        "messages": row.fields.get("messages"),
        "notes": f"Inspect sample {name}, epoch {epoch}",
    }
    return LogRow(number, number, fields)
