"""Reports as files: written beside their place, then put there in one step; never half, never onto an input."""

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from synthesis.errors import OutputError, Place
from synthesis.model.report import Report

_encode = msgspec.json.Encoder().encode


def write_report(report: Report, path: str | Path) -> None:
    """Write a report as JSON: the summary to read, then one failure and one result per line."""
    with replaced(Path(path)) as file:
        file.writelines(_pieces(report))


def _pieces(report: Report) -> Iterable[bytes]:
    header = msgspec.json.format(_encode(report.header()), indent=2)
    yield header.removesuffix(b"\n}")
    yield from _list("failures", (msgspec.to_builtins(failure) for failure in report.failures))
    yield from _list("results", (result.to_dict() for result in report.results))
    yield b"\n}\n"


def _list(name: str, items: Iterable[Any]) -> Iterable[bytes]:
    yield f',\n  "{name}": ['.encode()
    separator = b"\n    "
    for item in items:
        yield separator + _encode(item)
        separator = b",\n    "
    yield b"]" if separator == b"\n    " else b"\n  ]"


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """A file to write beside `path`, which takes its place in one step; after an error nothing has changed."""
    if path.is_dir():
        raise OutputError("cannot be written: it is a folder", place=Place(str(path)), hint="Give a file's path.")
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")  # two may be at the same work
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            yield file
        beside.replace(path)
    except OSError as error:
        raise OutputError(
            f"cannot be written: {error.strerror}", place=Place(str(path)), hint="Choose another path with --out."
        ) from None
    finally:
        with suppress(OSError):
            beside.unlink()
