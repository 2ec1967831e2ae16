"""Stored reports: opened, checked against the published schema, and read one record at a time."""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, cast

import jsonschema_rs
import msgspec

from synthesis import bundled
from synthesis.errors import InputError, MissingExtraError, Place, shorten
from synthesis.report.layout import LISTS, find_layout
from synthesis.report.verdicts import failed_checks

Record = dict[str, Any]
Records = Callable[[], Iterator[Record]]
_HINT = "`synthesis schema report` prints what a report looks like."


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report as it was written; the long lists are read anew each time they are asked for."""

    header: Record
    summary: Record
    _failures: Records
    _results: Records

    def failures(self) -> Iterator[Record]:
        return self._failures()

    def results(self) -> Iterator[Record]:
        return self._results()

    def changed(
        self,
        result: Callable[[Record], Record],
        failure: Callable[[Record], Record] | None = None,
        header: Record | None = None,
    ) -> "StoredReport":
        """The same report with every record changed on its way."""
        return replace(
            self,
            header=self.header | (header or {}),
            _failures=(lambda: map(failure, self._failures())) if failure else self._failures,
            _results=lambda: map(result, self._results()),
        )


def open_report(path: str | Path) -> StoredReport:
    """The report in a file; InputError says where and why it is none. Results beside the report are followed."""
    place = Path(path)
    try:
        layout = find_layout(place)
        whole = _decode_whole(place) if layout is None else None
    except OSError as error:
        raise _unreadable(error, place) from None
    fields = layout.header if layout else cast(Record, whole)
    lists = {
        name: _from_lines(place, *layout.stretches[name], name) if layout and name in layout.stretches else None
        for name in LISTS
    }
    _require(_report_validator(), {**fields, "failures": [], "results": []}, Place(str(place)))
    results = _beside(place, fields) or lists["results"] or _from_list(place, fields, "results")
    failures = lists["failures"] or (_from_list(place, fields, "failures") if "failures" in fields else None)
    header = {key: value for key, value in fields.items() if key not in {"summary", *LISTS}}
    return StoredReport(header, fields["summary"], failures or (lambda: _failures_of(results())), results)


def from_dict(report: Record) -> StoredReport:
    """A report that is already in memory, in the published shape."""
    header = {key: value for key, value in report.items() if key not in {"summary", *LISTS}}
    return StoredReport(
        header, report["summary"], lambda: iter(report.get("failures", ())), lambda: iter(report.get("results", ()))
    )


def _decode_whole(path: Path) -> Record:
    try:
        report = msgspec.json.decode(path.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"is no valid JSON: {error}", place=Place(str(path)), hint=_HINT) from None
    if not isinstance(report, dict):
        raise InputError("is no report: not a JSON object", place=Place(str(path)), hint=_HINT)
    return report


def _from_list(path: Path, fields: Record, name: str) -> Records:
    def records() -> Iterator[Record]:
        for number, record in enumerate(fields.get(name, ()), start=1):
            yield _checked(record, name, Place(f"{path} ({name}, record {number})"))

    return records


def _from_lines(path: Path, offset: int, line: int, count: int, name: str) -> Records:
    def records() -> Iterator[Record]:
        with path.open("rb") as file:
            file.seek(offset)
            yield from _records((next(file) for _ in range(count)), str(path), line, name)

    return records


def _beside(path: Path, fields: Record) -> Records | None:
    """The results of a small report, which names the file that they are in; a table holds too little to draw from."""
    if "results_table" in fields:
        return _in_a_table(path, str(fields["results_table"]))
    name = fields.get("results_file")
    if name is None:
        return None
    if not isinstance(name, str):
        raise InputError("'results_file' is no text", place=Place(str(path)), hint=_HINT)
    file = path.parent / name

    def records() -> Iterator[Record]:
        try:
            with _opened(file) as lines:
                yield from _records(lines, str(file), 1, "results")
        except (OSError, EOFError) as error:
            raise _unreadable(error, file) from None

    return records


def _in_a_table(path: Path, name: str) -> Records:
    def records() -> Iterator[Record]:
        raise InputError(
            f"its results lie in a table ({shorten(name)}), without the evidence that this needs",
            place=Place(str(path)),
            hint="Query the table, or evaluate without --out-table.",
        )

    return records


def _opened(path: Path) -> BinaryIO:
    """A plain or compressed file; one that several compressed parts were joined to is read to its end."""
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path))
    if path.suffix != ".zst":
        return path.open("rb")
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zst", f"reading {path.name}") from None
    reader = zstandard.ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True, closefd=True)
    return cast(BinaryIO, BufferedReader(reader))


def _records(lines: Iterable[bytes], file: str, first: int, name: str) -> Iterator[Record]:
    for number, line in enumerate(lines, start=first):
        text = line.strip().removesuffix(b",")
        if text:
            yield _checked(_decode(text, Place(file, number)), name, Place(file, number))


def _decode(text: bytes, place: Place) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"is no valid JSON: {error}", place=place, hint=_HINT) from None


def _checked(record: Any, name: str, place: Place) -> Record:
    _require(_record_validator(name), record, place)
    return cast(Record, record)


def _require(validator: jsonschema_rs.Validator, value: Any, place: Place) -> None:
    for error in validator.iter_errors(value):
        where = "/".join(str(part) for part in error.instance_path)
        what = error.message if len(error.message) <= 120 else f"{error.message[:60]} … {error.message[-50:]}"
        message = f"{where}: {what}" if where else what
        raise InputError(f"is no report of ours: {message}", place=place, hint=_HINT)


@cache
def _schema() -> Record:
    return cast(Record, json.loads(bundled.REPORT_SCHEMA.read_text(encoding="utf-8")))


@cache
def _report_validator() -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(_schema())


@cache
def _record_validator(name: str) -> jsonschema_rs.Validator:
    definitions = _schema()["definitions"]
    return jsonschema_rs.validator_for({"$ref": f"#/definitions/{name.removesuffix('s')}", "definitions": definitions})


def _failures_of(results: Iterable[Record]) -> Iterator[Record]:
    """The failures of a small report, which has no list of them."""
    for result in results:
        failed = failed_checks(result)
        if failed and result["outcome"] == "fail":
            evidence = {key: value for name in failed for key, value in result["checks"][name].items() if key != "pass"}
            negative = result["is_negative_example"]
            yield {"id": result["id"], "failed": failed, "evidence": evidence, "expected_failure": negative}


def _unreadable(error: Exception, path: Path) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file", place=Place(str(path)), hint="Check the path.")
    if isinstance(error, IsADirectoryError):
        return InputError("is a folder, not a report", place=Place(str(path)), hint="Give the report's file.")
    reason = getattr(error, "strerror", None) or str(error) or "it ends too early"
    return InputError(f"cannot be read: {reason}", place=Place(str(path)))
