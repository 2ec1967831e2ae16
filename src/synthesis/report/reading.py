"""Stored reports: opened, checked against the published schema, and read one record at a time."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import jsonschema_rs
import msgspec

from synthesis import io
from synthesis.errors import InputError, Place, shorten
from synthesis.io import open_binary
from synthesis.model import CaseResult
from synthesis.report.layout import LISTS, LineRange, find_layout

Record = dict[str, Any]
Results = Callable[[], Iterator[CaseResult]]
_HINT = "`synthesis schema report` prints what a report looks like."


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report as it was written. Its results are what a run gives, decoded again each time they are asked for.

    The list of failures is not kept: it says in short what the results say.
    """

    header: Record
    summary: Record
    _results: Results

    def results(self) -> Iterator[CaseResult]:
        return self._results()

    def changed(self, result: Callable[[CaseResult], CaseResult], header: Record | None = None) -> "StoredReport":
        """The same report with every result changed on its way."""
        return replace(self, header=self.header | (header or {}), _results=lambda: map(result, self._results()))


def open_report(path: str | Path) -> StoredReport:
    """The report in a file; InputError says where and why it is not one. Results beside the report are followed."""
    place = Path(path)
    try:
        layout = find_layout(place)
        whole = _decode_whole(place) if layout is None else None
    except OSError as error:
        raise _unreadable(error, place) from None
    fields = layout.header if layout else cast(Record, whole)
    lines = layout.ranges.get("results") if layout else None
    _require(_report_validator(), {**fields, "failures": [], "results": []}, Place(str(place)))
    listed = _from_lines(place, lines) if lines else _from_list(place, fields.get("results", ()))
    header = {key: value for key, value in fields.items() if key not in {"summary", *LISTS}}
    return StoredReport(header, fields["summary"], _beside(place, fields) or listed)


def from_dict(report: Record) -> StoredReport:
    """A report that is already in memory, in the published shape."""
    header = {key: value for key, value in report.items() if key not in {"summary", *LISTS}}
    return StoredReport(header, report["summary"], lambda: map(CaseResult.from_dict, report.get("results", ())))


def _decode_whole(path: Path) -> Record:
    try:
        report = msgspec.json.decode(path.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"is not valid JSON: {error}", place=Place(str(path)), hint=_HINT) from None
    if not isinstance(report, dict):
        raise InputError("is not a report: not a JSON object", place=Place(str(path)), hint=_HINT)
    return report


def _from_list(path: Path, records: Iterable[Any]) -> Results:
    def results() -> Iterator[CaseResult]:
        for number, record in enumerate(records, start=1):
            yield _checked(record, Place(f"{path} (results, record {number})"))

    return results


def _from_lines(path: Path, lines: LineRange) -> Results:
    def results() -> Iterator[CaseResult]:
        with path.open("rb") as file:
            file.seek(lines.offset)
            yield from _decoded((next(file) for _ in range(lines.lines)), str(path), lines.line)

    return results


def _beside(path: Path, fields: Record) -> Results | None:
    """The results of a small report, which names the file that they are in; a table holds too little to draw from."""
    if "results_table" in fields:
        return _in_a_table(path, str(fields["results_table"]))
    name = fields.get("results_file")
    if name is None:
        return None
    if not isinstance(name, str):
        raise InputError("'results_file' is not a text", place=Place(str(path)), hint=_HINT)
    return lambda: from_lines(path.parent / name)


def from_lines(file: Path) -> Iterator[CaseResult]:
    """The results in a file of their own (`--results`), as JSON Lines."""
    try:
        with open_binary(file, "rb") as lines:
            yield from _decoded(lines, str(file), 1)
    except OSError as error:
        raise _unreadable(error, file) from None


def _in_a_table(path: Path, name: str) -> Results:
    def results() -> Iterator[CaseResult]:
        raise InputError(
            f"its results are in a table ({shorten(name)}), without the evidence that this needs",
            place=Place(str(path)),
            hint="Query the table, or evaluate without --out-table.",
        )

    return results


def _decoded(lines: Iterable[bytes], file: str, first: int) -> Iterator[CaseResult]:
    for number, line in enumerate(lines, start=first):
        text = line.strip().removesuffix(b",")
        if text:
            yield _checked(_decode(text, Place(file, number)), Place(file, number))


def _decode(text: bytes, place: Place) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"is not valid JSON: {error}", place=place, hint=_HINT) from None


def _checked(record: Any, place: Place) -> CaseResult:
    _require(_result_validator(), record, place)
    return CaseResult.from_dict(record)


def _require(validator: jsonschema_rs.Validator, value: Any, place: Place) -> None:
    for error in validator.iter_errors(value):
        where = "/".join(str(part) for part in error.instance_path)
        what = error.message if len(error.message) <= 120 else f"{error.message[:60]} … {error.message[-50:]}"
        message = f"{where}: {what}" if where else what
        raise InputError(f"is not a report of ours: {message}", place=place, hint=_HINT)


@cache
def _schema() -> Record:
    return cast(Record, json.loads(io.REPORT_SCHEMA.read_text(encoding="utf-8")))


@cache
def _report_validator() -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(_schema())


@cache
def _result_validator() -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for({"$ref": "#/definitions/result", "definitions": _schema()["definitions"]})


def _unreadable(error: OSError, path: Path) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file", place=Place(str(path)), hint="Check the path.")
    if isinstance(error, IsADirectoryError):
        return InputError("is a folder, not a report", place=Place(str(path)), hint="Give the report's file.")
    return InputError(f"cannot be read: {error.strerror or error}", place=Place(str(path)))
