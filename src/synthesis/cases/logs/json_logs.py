"""Logs in JSON: one conversation per line, a list of them, or a log of Inspect (.eval or .json)."""

import json
import re
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from synthesis.cases.blocks import blocks
from synthesis.cases.logs.conversion import LogRow
from synthesis.errors import InputError, MissingExtraError, Place, Problem, shorten

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SAMPLE = re.compile(r"samples/.*\.json", re.DOTALL)
_ZSTD = 93  # the number of this compression in a zip archive
_NAME_LENGTHS = 26  # where a member's own header says how long its name and its extra field are


def line_rows(path: Path) -> Iterator[LogRow | Problem]:
    """One JSON object per line, blank lines left out; a row's number is that of its line."""
    for block in blocks(path, str(path)):
        if isinstance(block, Problem):
            yield block
            continue
        for number, line in enumerate(block.read().split(b"\n"), start=block.first_line):
            content = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
            if content.strip():
                yield _decoded(content, number)


def _decoded(content: bytes, number: int, decode: Callable[[str], Any] = msgspec.json.decode) -> LogRow | Problem:
    name = f"ROW-{number}"
    try:
        return _as_row(decode(content.decode()), number)
    except UnicodeDecodeError:
        return Problem(number, "not UTF-8", "is not UTF-8", name)
    except (msgspec.DecodeError, ValueError) as error:
        return Problem(number, "invalid JSON", f"is not valid JSON: {error}", name)
    except RecursionError:
        return Problem(number, "invalid JSON", "is nested too deeply", name)


def _as_row(value: Any, number: int) -> LogRow | Problem:
    if isinstance(value, dict):
        return LogRow(number, number, value)
    return Problem(number, "not an object", "expected a JSON object", f"ROW-{number}")


def json_rows(path: Path) -> Iterator[LogRow | Problem]:
    """A list of conversations, or the samples of an Inspect log, from one JSON document."""
    place = Place(str(path))
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8-sig"))  # takes the NaN of Inspect's scores
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"is not valid JSON: {reason}", place=place) from None
    if isinstance(content, dict) and isinstance(content.get("samples"), list) and "eval" in content:
        for number, sample in enumerate(content["samples"], start=1):
            yield _sample(sample, number)
    elif isinstance(content, list):
        for number, value in enumerate(content, start=1):
            yield _as_row(value, number)
    else:
        hint = "A .json file is a list of conversations or an Inspect log; cases are JSON Lines (.jsonl)."
        raise InputError("is neither a list nor an Inspect log", place=place, hint=hint)


def inspect_rows(path: Path) -> Iterator[LogRow | Problem]:
    """The samples of an Inspect log (.eval), one at a time, in the order of the archive."""
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            members = [member for member in archive.infolist() if _SAMPLE.fullmatch(member.filename)]
            for number, member in enumerate(members, start=1):
                is_zstd = member.compress_type == _ZSTD
                content = _unpacked(file, member) if is_zstd else archive.read(member)
                row = _decoded(content, number, json.loads)
                yield _sample(row.fields, number) if isinstance(row, LogRow) else row
    except (zipfile.BadZipFile, EOFError):
        raise InputError("is not an Inspect log", place=Place(str(path)), hint="Give a .eval or .json log.") from None


def _unpacked(file: BinaryIO, member: zipfile.ZipInfo) -> bytes:
    """A member in the compression that Inspect uses, which `zipfile` does not know before Python 3.14."""
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zst", "reading a compressed Inspect log") from None
    file.seek(member.header_offset + _NAME_LENGTHS)
    name, extra = struct.unpack("<HH", file.read(4))
    file.seek(name + extra, 1)
    try:
        return bytes(zstandard.ZstdDecompressor().decompressobj().decompress(file.read(member.compress_size)))
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
    origin = f"Inspect sample {row.fields.get('id')}, epoch {row.fields.get('epoch')}"
    return LogRow(number, number, {"messages": row.fields.get("messages"), "notes": origin})
