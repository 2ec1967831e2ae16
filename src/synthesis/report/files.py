"""Reports as JSON, one record per line, and files that are written whole or not at all."""

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from synthesis.errors import OutputError, Place
from synthesis.io import held, host
from synthesis.model import CaseResult
from synthesis.model.report import Failure, Report, failure_of
from synthesis.model.result import FAIL
from synthesis.report.glossary import Glossary
from synthesis.report.reading import StoredReport

_encode = msgspec.json.Encoder().encode


def write_report(report: Report, path: str | Path) -> None:
    """Write a report as JSON: the summary to read, then one failure and one result per line."""
    with replaced(Path(path)) as file:
        file.writelines(_pieces(report.header(), report.failures, report.results))


def render(report: StoredReport, glossary: Glossary) -> Iterator[str]:
    """A stored report as JSON again: to share a redacted one, or to bring results back into one file."""
    header = {key: value for key, value in report.header.items() if key != "results_file"}
    failed = (result for result in report.results() if result.outcome == FAIL)
    failures = (failure_of(result, glossary.failure_evidence) for result in failed)
    pieces = _pieces(header | {"summary": report.summary}, failures, report.results())
    return (piece.decode() for piece in pieces)


def _pieces(header: Any, failures: Iterable[Failure], results: Iterable[CaseResult]) -> Iterator[bytes]:
    yield msgspec.json.format(_encode(header), indent=2).removesuffix(b"\n}")
    yield from _list("failures", failures)
    yield from _list("results", (result.to_dict() for result in results))
    yield b"\n}\n"


def _list(name: str, items: Iterable[Any]) -> Iterator[bytes]:
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
    # Two may be at the same work; and a later run must be able to tell whether this one is still alive.
    beside = path.with_name(f".{path.name}.{host()}.{secrets.token_hex(6)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with held(beside):
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
