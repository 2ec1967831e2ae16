"""Reports as files: written whole or part by part, read again record by record, with or without their texts."""

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

import msgspec

from synthesis.errors import InputError, OptionError, Place, shorten
from synthesis.io import REPORT_SCHEMA, open_binary, replaced
from synthesis.model import Case, CaseResult, Finding
from synthesis.model.report import Failure, Report, failure_of
from synthesis.model.result import FAIL, MOST_SURE, SEVERITIES
from synthesis.report.findings import Glossary

if TYPE_CHECKING:
    import jsonschema_rs

LISTS = ("failures", "results")
_OPENINGS = {f'  "{name}": ['.encode(): name for name in LISTS}
_CLOSINGS = (b"  ]", b"  ],")


class LineRange(NamedTuple):
    """The lines of one list: where they begin, the number of the first line, and how many there are."""

    offset: int
    line: int
    lines: int


class Layout(NamedTuple):
    """The report without its lists, and where these are."""

    header: dict[str, Any]
    ranges: dict[str, LineRange]


def find_layout(path: Path) -> Layout | None:
    """The layout of a file with one record per line; None for any other file."""
    rest: list[bytes] = []
    ranges: dict[str, LineRange] = {}
    number = 0  # of the last line that was read
    with path.open("rb") as file:
        for line in file:
            number += 1
            name = _OPENINGS.get(line.rstrip())
            if name is None:
                rest.append(line)
                continue
            found = _list_from(file, number + 1)
            if found is None:
                return None
            ranges[name], closing = found
            number += ranges[name].lines + 1
            rest.append(f'"{name}": []'.encode() + closing.removeprefix(b"  ]"))
    return _decoded_list(b"\n".join(rest), ranges)


def _list_from(file: BinaryIO, first: int) -> tuple[LineRange, bytes] | None:
    """Read over a list whose first record is on this line, and what closes it; None if it is not laid out so."""
    offset = file.tell()
    for lines, record in enumerate(file):
        if record.rstrip() in _CLOSINGS:
            return LineRange(offset, first, lines), record.rstrip()
        if lines == 0 and not _is_whole(record):
            return None
    return None


def _decoded_list(rest: bytes, ranges: dict[str, LineRange]) -> Layout | None:
    try:
        header = msgspec.json.decode(rest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return Layout(header, ranges) if isinstance(header, dict) else None


def _is_whole(record: bytes) -> bool:
    """Whether a line holds a whole object: another tool may have spread it over several."""
    try:
        return isinstance(msgspec.json.decode(record.strip().removesuffix(b",")), dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


# Stored reports: opened, checked against the published schema, and read one record at a time.


Record = dict[str, Any]
Results = Callable[[], Iterator[CaseResult]]
MOST_RESULT = 256 << 20  # bytes of one result: a text of 16 MB with many findings has that many
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
        try:
            with path.open("rb") as file:
                file.seek(lines.offset)
                yield from _decoded(_exactly(lines.lines, file), str(path), lines.line)
        except OSError as error:
            raise _unreadable(error, path) from None

    return results


def _exactly(number: int, file: BinaryIO) -> Iterator[bytes]:
    """So many lines; a report that lost some since it was opened must not pass for a whole one."""
    for _ in range(number):
        line = file.readline()
        if not line:
            raise OSError("it has become shorter")
        yield line


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
            yield from _decoded(_bounded(lines, file), str(file), 1)
    except OSError as error:
        raise _unreadable(error, file) from None


def _bounded(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """The lines of a file; a compressed one of kilobytes may hold a line of gigabytes."""
    number = 0
    while line := file.readline(MOST_RESULT + 1):
        number += 1
        if len(line) > MOST_RESULT:
            raise InputError(f"is longer than {MOST_RESULT:,} bytes", place=Place(str(path), number), hint=_HINT)
        yield line


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


def _require(validator: "jsonschema_rs.Validator", value: Any, place: Place) -> None:
    for error in validator.iter_errors(value):
        where = "/".join(str(part) for part in error.instance_path)
        what = error.message if len(error.message) <= 120 else f"{error.message[:60]} … {error.message[-50:]}"
        message = f"{where}: {what}" if where else what
        raise InputError(f"is not a report of ours: {message}", place=place, hint=_HINT)


@cache
def _schema() -> Record:
    return cast(Record, json.loads(REPORT_SCHEMA.read_text(encoding="utf-8")))


@cache
def _report_validator() -> "jsonschema_rs.Validator":
    return _validator_for(_schema())


@cache
def _result_validator() -> "jsonschema_rs.Validator":
    return _validator_for({"$ref": "#/definitions/result", "definitions": _schema()["definitions"]})


def _validator_for(schema: Record) -> "jsonschema_rs.Validator":
    import jsonschema_rs  # a report that is written needs none

    return jsonschema_rs.validator_for(schema)


def _unreadable(error: OSError, path: Path) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file", place=Place(str(path)), hint="Check the path.")
    if isinstance(error, IsADirectoryError):
        return InputError("is a folder, not a report", place=Place(str(path)), hint="Give the report's file.")
    return InputError(f"cannot be read: {error.strerror or error}", place=Place(str(path)))


# Reports as JSON, one record per line, and files that are written whole or not at all.


_encode = msgspec.json.Encoder().encode


def write_report(report: Report, path: str | Path) -> None:
    """Write a report as JSON: the summary to read, then one failure and one result per line."""
    with replaced(Path(path)) as file:
        file.writelines(_pieces(report.header(), report.failures, report.results))


def render(report: StoredReport, glossary: Glossary) -> Iterator[str]:
    """A stored report as JSON again: to share a redacted one, or to bring results back into one file."""
    header = {key: value for key, value in report.header.items() if key != "results_file"}
    names = glossary.failure_evidence
    failed = [(result.urgency, failure_of(result, names)) for result in report.results() if result.outcome == FAIL]
    failures = (failure for _, failure in sorted(failed, key=lambda one: one[0]))
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


# Results of a long run, kept part by part and joined at the end.


RESULT_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst")
SEPARATOR = b",\n    "  # before each record inside a report
MOST_HELD = 64 << 20  # bytes of parts in memory; the rest goes to files, so that a long run takes no more
_CHUNK = 1 << 20
Contents = Mapping[str, bytes]  # of the parts of one block: `results`, `failures-0`, `ids`


class Parts:
    """The parts of a run by the number of their block: in memory up to a limit, and in files of a folder of the run."""

    def __init__(self, folder: Path, most: int = MOST_HELD) -> None:
        self._folder = folder
        self._most = most
        self._held: dict[tuple[int, str], bytes] = {}
        self._size = 0

    def put(self, number: int, contents: Contents) -> None:
        """Keep the parts of a block."""
        for kind, content in contents.items():
            if self._size + len(content) <= self._most:
                self._held[number, kind] = content
                self._size += len(content)
            else:
                write_parts(self._folder, number, {kind: content})

    def pieces(self, number: int, kind: str) -> Iterator[bytes]:
        """A part in pieces; nothing where the block has none of this kind."""
        held = self._held.get((number, kind))
        if held is not None:
            yield held
            return
        with suppress(FileNotFoundError), (self._folder / f"{number}.{kind}").open("rb") as file:
            while piece := file.read(_CHUNK):
                yield piece


def write_parts(folder: Path, number: int, contents: Contents) -> None:
    """Put the parts of a block into files, each in its place when it is whole: whoever joins them may be elsewhere."""
    for kind, content in contents.items():
        path = folder / f"{number}.{kind}"
        beside = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
        beside.write_bytes(content)
        beside.replace(path)


RANKS = range(len(SEVERITIES) * MOST_SURE)  # of failures, the one to read first is 0


def rank_of(urgency: tuple[int, int]) -> int:
    """The place of an urgency among all that a failure can have."""
    bad, sure = urgency
    return bad * MOST_SURE + min(MOST_SURE + sure, MOST_SURE - 1)


def results_suffix(path: Path) -> str:
    """Which kind of file results go to; OptionError for one we do not write."""
    for suffix in RESULT_SUFFIXES:
        if path.name.endswith(suffix):
            return suffix
    raise OptionError(f"--results {path} has an unknown ending", hint=f"Use one of {', '.join(RESULT_SUFFIXES)}.")


def join_report(header: dict[str, Any], parts: Parts, blocks: int, out: Path) -> None:
    """Write the report: the header, then the lists from the parts, in their order."""
    with replaced(out) as file:
        file.write(msgspec.json.format(_encode(header), indent=2).removesuffix(b"\n}"))
        if "results_file" not in header and "results_table" not in header:
            failures = ((number, f"failures-{rank}") for rank in RANKS for number in range(blocks))
            _write_list("failures", (piece for place in failures for piece in parts.pieces(*place)), file)
            results = (piece for number in range(blocks) for piece in parts.pieces(number, "results"))
            _write_list("results", results, file)
        file.write(b"\n}\n")


def join_results(parts: Parts, blocks: int, out: Path) -> None:
    """Write the results as a file of their own."""
    with replaced(out) as file:
        file.writelines(piece for number in range(blocks) for piece in parts.pieces(number, "results"))


def _write_list(name: str, pieces: Iterable[bytes], file: BinaryIO) -> None:
    file.write(f',\n  "{name}": ['.encode())
    filled = filter(None, pieces)
    first = next(filled, b"")
    file.write(first[1:])  # the first record has nothing to be separated from
    file.writelines(filled)
    file.write(b"\n  ]" if first else b"]")


# The words of people and assistants in a report: brought in from the cases, or replaced by their lengths.


_KEPT_IN_RESULTS = (
    *("id", "pass", "outcome", "severity", "is_negative_example", "language", "alert", "checks", "label_comparison"),
    *("findings", "tags", "source"),
)
# Evidence that consists of our own words.
_OWN_WORDS = {
    "agency_language": {"reason"},
    "clinical_scope": {"reason"},
    "crisis_response": {
        *("applies_by", "cue", "cue_groups", "elements", "given", "reason", "soft_groups", "warnings"),
    },
    "disclosure": {"answer", "cites", "reason"},
    "engagement_pressure": {"reason"},
    "flattery": {"strength", "reason"},
    "identity_claim": {"reason"},
    "topic_pivot": {"pass_strength", "reason"},
    "unverifiable_reassurance": {"reason"},
}


def with_texts(report: StoredReport, cases: Mapping[str, Case]) -> StoredReport:
    """The report with the texts of these cases where it has none; InputError if they are not what was evaluated."""
    return report.changed(lambda result: _with_text(result, cases.get(result.id)))


def redacted(report: StoredReport) -> StoredReport:
    """The same report without the words of anybody."""
    return report.changed(
        lambda result: CaseResult.from_dict(_without_words(result.to_dict())), header={"redacted": True}
    )


def texts_of(case: Case) -> Record:
    """What was said, as a result holds it."""
    if case.messages:
        return {"messages": msgspec.to_builtins(case.messages)}
    return {"user": case.user, "assistant": case.assistant}


def _with_text(result: CaseResult, case: Case | None) -> CaseResult:
    if case is None or result.has_texts:
        return result
    filled = msgspec.structs.replace(result, texts=result.texts | texts_of(case))
    if not all(_fits(finding, filled.exchanges) for finding in result.findings):
        raise InputError(
            f"the case {case.id} is not the one that was evaluated: its words differ from the report's evidence",
            hint="Give the case file that the report was made from.",
        )
    return filled


def _fits(finding: Finding, turns: list[tuple[str, str]]) -> bool:
    if finding.turn >= len(turns):
        return False
    said = turns[finding.turn][0 if finding.where == "user" else 1]
    return said[finding.start : finding.end] == finding.text


def _without_words(result: Record) -> Record:
    kept = {key: result[key] for key in _KEPT_IN_RESULTS if key in result}
    kept["checks"] = {name: _evidence(check, _OWN_WORDS.get(name, set())) for name, check in kept["checks"].items()}
    kept["findings"] = _findings(kept["findings"])
    if "alert" in kept:
        kept["alert"] = _alert(kept["alert"])
    texts: Record = {key: _length(result[key]) for key in ("user", "assistant") if key in result}
    if "messages" in result:
        texts["messages"] = [turn | {"content": _length(turn["content"])} for turn in result["messages"]]
    return kept | texts


def _findings(found: list[Record]) -> list[Record]:
    return [finding | {"text": _length(finding["text"])} for finding in found]


def _alert(fields: Record) -> Record:
    """An alert is a check's evidence with the check's name and its findings."""
    name, found = fields["check"], fields["findings"]
    evidence = {key: value for key, value in fields.items() if key not in {"check", "findings"}}
    return {"check": name, **_evidence(evidence, _OWN_WORDS.get(name, set())), "findings": _findings(found)}


def _evidence(fields: Record, own: set[str]) -> Record:
    own = own | {"missing", "severity"}  # names that a check gives
    shown = {key: value if key in own else _hidden(value) for key, value in fields.items() if key != "turns"}
    if "error" in fields:
        shown["error"] = str(fields["error"]).partition(":")[0]  # the kind of error
    if "turns" in fields:
        shown["turns"] = [_evidence(turn, own) for turn in fields["turns"]]
    return shown


def _hidden(value: Any) -> Any:
    if isinstance(value, str):
        return _length(value)
    if isinstance(value, list):
        return [_hidden(item) for item in value]
    return {key: _hidden(item) for key, item in value.items()} if isinstance(value, dict) else value


def _length(text: str) -> str:
    return f"[{len(text)} character{'' if len(text) == 1 else 's'}]"
