"""JSON documents: a list of rows, alone or in an object, or an Inspect log (.eval or .json), read value by value."""

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
from synthesis.lazy import regex
from synthesis.read.cases import is_unicode, text_of
from synthesis.read.lines import (
    CHUNK,
    TOO_LONG,
    Row,
    Seen,
    as_row,
    decode_line,
    opened,
    require_few_values,
    text_stream,
    unseen,
)
from synthesis.read.shapes import recognised, shape_of

_SPACE = regex(r"[ \t\r\n]*")
# Inspect and data frames write NaN for a number that is missing.
_decoder = json.JSONDecoder(parse_constant=lambda _: None)
_LONGEST_TOKEN = 16  # characters: an error this near the end may come from a number or word that was cut in two


class TooLongError(ValueError):
    """A value that is longer than allowed."""


class _NotUtf8Error(ValueError):
    """Bytes that are not UTF-8."""


class JsonStream:
    """The place in a document that was read so far; ValueError where it is not JSON.

    Not ijson: it refuses the NaN in Inspect's logs, turns half a character into a question mark, and needs minutes for
    one long string.
    """

    def __init__(self, file: TextIO, most: int) -> None:
        self._file = file
        self._most = most
        self._text = ""
        self._at = 0
        self._line = 1  # where the text begins in the file
        self._column = 1
        self._passed = 0  # characters before the text
        self._is_whole = False  # nothing is left to be read

    @property
    def position(self) -> int:
        """How many characters were read."""
        return self._passed + self._at

    @property
    def place(self) -> tuple[int, int]:
        """Line and column of what comes next."""
        lines = self._text.count("\n", 0, self._at)
        start = self._text.rfind("\n", 0, self._at) + 1
        return self._line + lines, self._at - start + (1 if lines else self._column)

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
                value, end = _decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                offset = error.pos - self._at
                if not self._may_be_cut(error) or not self._more(max(CHUNK, len(self._text))):
                    self._at += offset
                    raise ValueError(error.msg) from None
            else:
                # A number that ends with the text may have more digits in the next chunk.
                if end < len(self._text) or not self._more(CHUNK):
                    if end - self._at > self._most:
                        raise TooLongError
                    self._at = end
                    return value

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether more text could make it valid: a string may be as long as it likes, everything else is short."""
        return error.msg.startswith("Unterminated string") or error.pos > len(self._text) - _LONGEST_TOKEN

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
        self._line, self._column = self.place
        self._passed += self._at
        self._text, self._at = rest + chunk, 0
        if not is_unicode(chunk):
            self._at = next(at for at, char in enumerate(self._text) if not is_unicode(char))
            raise _NotUtf8Error
        return bool(chunk)


# The rows of a document.


_SAMPLE = regex(r"samples/.*\.json", re.DOTALL)
_ZSTD = 93  # the number of this compression in a zip archive
_COMPRESSIONS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTD}
_NAME_LENGTHS = 26  # where a member's own header says how long its name and its extra field are


def json_rows(path: Path, most_line: int, seen: Seen = unseen) -> Iterator[Row | Problem]:
    """The elements of a list, or those of a list in an object, from one JSON document that is read as a stream."""
    with _opened_document(path, most_line, seen) as document:
        for number, row in enumerate(_document_rows(document, Place(str(path)), most_line), start=1):
            yield row(number)


def read_json(path: Path, most: int) -> Any:
    """The one value of a document that is not made of rows."""
    with _opened_document(path, most, unseen) as document:
        return document.value()


@contextmanager
def _opened_document(path: Path, most: int, seen: Seen) -> Iterator[JsonStream]:
    """InputError with line and column for what is wrong with it."""
    with opened(path) as file:
        document = JsonStream(text_stream(file, seen, errors="surrogateescape"), most)
        try:
            yield document
        except TooLongError:
            hint = "Raise --max-line, or save the file as JSON Lines, where one long row does not end the reading."
            raise _error(f"holds a value of more than {most:,} bytes", path, document, hint) from None
        except _NotUtf8Error:
            raise _error("is not UTF-8", path, document, "Save the file as UTF-8.") from None
        except RecursionError:
            raise _error("is nested too deeply", path, document, "Rows hold texts and lists of messages.") from None
        except ValueError as error:
            hint = "Check brackets, commas and quotes here. One object per line is JSON Lines: name the file .jsonl."
            raise _error(f"is not valid JSON: {error}", path, document, hint) from None


def _error(message: str, path: Path, document: JsonStream, hint: str) -> InputError:
    return InputError(message, place=Place(str(path), *document.place), hint=hint)


# Names of the one list in an object around it, which may be longer than a row.
_NAMES = (
    "data traces runs items rows records results observations logs entries spans requests chats threads examples "
    "generations resourceSpans"
)
_LISTS = frozenset(_NAMES.split())
_HINT = "A .json file is a list of objects, or an object with one in it. One object per line is JSON Lines: .jsonl."


def _document_rows(document: JsonStream, place: Place, most: int) -> Iterator[Callable[[int], Row | Problem]]:
    if document.peek() == "[":
        for value in document.elements():
            yield partial(as_row, value)
    elif not (yield from _object_rows(document, most)):
        raise InputError("is not a list, and no list of rows is in it", place=place, hint=_HINT)
    if document.peek():
        raise ValueError("there is more after its end")


def _object_rows(document: JsonStream, most: int) -> Generator[Callable[[int], Row | Problem], None, bool]:
    """The rows of a list in an object, the samples of an Inspect log, or the object as a row; False for none of them.

    A list with one of the usual names is read as a stream; another one is held, as long as the object is a row in size.
    """
    if document.peek() != "{":
        document.value()
        return False
    kept: dict[str, Any] = {}
    found = False
    start = document.position
    for key in document.keys():  # noqa: SIM118 - not a dictionary
        if key == "samples" and document.peek() == "[":
            kept[key] = True
            for sample in document.elements():
                yield partial(_sample, sample)
        elif key in _LISTS and document.peek() == "[" and not found:
            for element in document.elements():
                found = True
                yield partial(as_row, element)
        else:
            value = document.value()
            if document.position - start <= most:
                kept[key] = value
    if "samples" in kept:
        return kept.get("eval") is not None
    if not found:
        rows = _held_rows(kept)
        yield from (partial(as_row, row) for row in rows)
        found = bool(rows)
    return found


_DEEPEST = 3  # levels of objects around the rows


def _held_rows(kept: Mapping[str, Any], depth: int = 0) -> list[Any]:
    """The object itself, if it is a row of a known shape, else the one list of objects in it or below."""
    if of_promptfoo := _promptfoo_results(kept):
        return of_promptfoo
    lists = [value for value in kept.values() if isinstance(value, list) and any(isinstance(x, dict) for x in value)]
    named = [kept[name] for name in ("conversations", "messages") if name in kept]
    if recognised(kept) is not None and not any(_are_rows(value) for value in named):
        return [dict(kept)]
    if not lists and depth < _DEEPEST:
        lists = [_held_rows(value, depth + 1) for value in kept.values() if isinstance(value, dict)]
    found = [rows for rows in lists if rows]
    return found[0] if len(found) == 1 else []


def _promptfoo_results(kept: Mapping[str, Any]) -> list[Any]:
    """The results of a promptfoo export, which has other lists beside them: its prompts, and the tests of `config`."""
    around = kept.get("results")
    results = around.get("results") if isinstance(around, Mapping) else None
    return results if isinstance(results, list) else []


def _are_rows(value: Any) -> bool:
    """Whether a list under the name of messages holds whole conversations, as exports of chats call them."""
    return isinstance(value, list) and any(isinstance(one, dict) and shape_of(tuple(one)) is not None for one in value)


def inspect_rows(path: Path, most_line: int) -> Iterator[Row | Problem]:
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
        return Problem(number, TOO_LONG, f"is longer than {most_line:,} bytes and was skipped", name)
    return decode_line(content, number, name, _decoder.decode)


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


def _sample(sample: Any, number: int) -> Row | Problem:
    """The conversation of a sample; one that broke off has no reply to evaluate.

    Beside it what --map may name, and what a judge asks about: `input`, the last reply as `answer`, and `metadata`.
    """
    row = as_row(sample, number)
    if isinstance(row, Problem):
        return row
    error = row.fields.get("error")
    if error:
        reason = error.get("message", "") if isinstance(error, Mapping) else error
        message = f"the sample ended in error: {shorten(str(reason))}"
        return Problem(number, "sample in error", message, f"ROW-{number}")
    name, epoch = row.fields.get("id"), row.fields.get("epoch")
    fields = {
        "id": name if epoch == 1 else f"{name} epoch {epoch}",
        "messages": row.fields.get("messages"),
        "notes": f"Inspect sample {name}, epoch {epoch}",
        **{key: row.fields[key] for key in ("input", "target", "metadata") if key in row.fields},
        "answer": _last_reply(row.fields.get("messages")),
    }
    return Row(number, number, fields)


def _last_reply(messages: Any) -> str | None:
    said = [one for one in messages if isinstance(one, Mapping)] if isinstance(messages, list) else []
    replies = (text_of(one.get("content")) for one in reversed(said) if one.get("role") == "assistant")
    return next(replies, None)
