"""Test sets: rows of any file become the questions, answers and contexts that a judge is asked about.

A row that cannot be judged says why, and does not stop the others.
"""

import hashlib
import logging
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import msgspec

from synthesis.errors import SHOWN_PROBLEMS, InputError, OptionError, Place, Problem, TestSetError, shorten
from synthesis.io import replaced
from synthesis.judge.context import as_text, further_fields, parse_context
from synthesis.judge.model import TestCase, have_courses
from synthesis.read.inputs import JSON, PARQUET, Input, read_rows
from synthesis.read.lines import MOST_LINE, kind_of
from synthesis.read.mapping import MISSING, fold, value_at
from synthesis.report.judged.layout import COURSES, PASSAGES, told_fields

CASE_HINT = "A case has id, question, answer and context; cases are counted from 1."
JOIN_HINT = "Answers and contexts in two files are put together with `synthesis testset join`."
MAP_HINT = "Fields with other names are named with --map question=NAME,answer=NAME,context=NAME."
SHOWN_IDS = 5
Raw = Mapping[str, Any]
Placed = tuple[str, object]  # the position of a row in words, and the row: what is not an object cannot be judged
_log = logging.getLogger(__name__)


# Rows of a file, each with its position in words.


def placed_rows(path: str | os.PathLike[str], most_line: int, entry: str = "case") -> Iterator[Placed]:
    """The rows of a file; the elements of a JSON array are counted by what an `entry` is called."""
    source = Input.of(Path(path), os.fspath(path))
    with as_test_set_errors():
        for row in read_rows(source, most_line):
            if isinstance(row, Problem):
                yield _position(source, row.line, entry), row
            else:
                fields = plain(row.fields) if source.kind == PARQUET else dict(row.fields)
                yield _position(source, row.line, entry), fields


def _position(source: Input, number: int, entry: str) -> str:
    word = "line" if source.has_lines else entry if source.kind == JSON else "row"
    return f"{word} {number}"


@contextmanager
def as_test_set_errors() -> Iterator[None]:
    """What is wrong with a file, as this half of the library calls it."""
    try:
        yield
    except (OptionError, TestSetError):
        raise
    except InputError as error:
        raise TestSetError(error.message, place=error.place, hint=error.hint) from None


def plain(value: Any) -> Any:
    """A value of a database or of Parquet with nothing in it that JSON does not know; absent stays absent."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items() if not _is_absent(item)}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "replace")
    return str(value) if isinstance(value, UUID) else value


def _is_absent(value: object) -> bool:
    """Null, and the NaN that data frames write in its place."""
    return value is None or (isinstance(value, float) and math.isnan(value))


# Where the fields of a sample are: under the names of this project, of Ragas or of DeepEval, or where --map says.


# Field -> the names under which it is looked for; the first that holds something wins. DeepEval's `context` is the
# ideal one, so what was retrieved comes first.
NAMES = {
    "id": ("queryLogId", "id"),
    "question": ("question", "query", "user_input", "input"),
    "answer": ("answer", "answerText", "response", "actual_output"),
    "context": (
        *("retrieval_context", "retrieved_contexts", "context", "contexts"),
        *("rankedCourses", "passages", "documents"),
    ),
}


class Found(msgspec.Struct, frozen=True):
    """A field of a row: the key that it is under, empty for a mapped path, and its value."""

    key: str
    value: Any


_FOLDED_NAMES = {field: tuple(map(fold, names)) for field, names in NAMES.items()}


def find(raw: Raw, field: str, mapping: Mapping[str, str]) -> Found | None:
    """The field of a row. Null counts only where no other name holds something."""
    if field in mapping:
        path = mapping[field]
        value = value_at(raw, path, MISSING)
        return None if value is MISSING else Found(path if path in raw else "", value)
    keys = {fold(str(key)): key for key in reversed(list(raw))}
    present = [keys[name] for name in _FOLDED_NAMES[field] if name in keys]
    key = next((key for key in present if raw[key] is not None), present[0] if present else None)
    return None if key is None else Found(key, raw[key])


# Rows become cases.


class Loaded(msgspec.Struct, frozen=True):
    """The cases of a set, and what to tell the user about it."""

    cases: tuple[TestCase, ...]
    notes: tuple[str, ...] = ()


def load_test_set(
    path: str | os.PathLike[str], *, mapping: Mapping[str, str] | None = None, most_line: int = MOST_LINE
) -> tuple[TestCase, ...]:
    """The cases of a test-set file in JSON, JSON Lines, CSV or Parquet; notes go to the log."""
    loaded = read_test_set(path, mapping=mapping, most_line=most_line)
    for note in loaded.notes:
        _log.info("%s", note)
    return loaded.cases


def read_test_set(
    path: str | os.PathLike[str], *, mapping: Mapping[str, str] | None = None, most_line: int = MOST_LINE
) -> Loaded:
    """The same with notes. A row longer than `most_line` bytes is not held, and cannot be judged."""
    return parse_placed_cases(placed_rows(path, most_line), os.fspath(path), mapping)


def parse_test_cases(objects: Iterable[object], file: str) -> tuple[TestCase, ...]:
    """Test cases from JSON objects."""
    return parse_placed_cases(_numbered(objects), file).cases


def _numbered(objects: Iterable[object]) -> Iterable[Placed]:
    return ((f"case {number}", item) for number, item in enumerate(objects, 1))


def parse_placed_cases(placed: Iterable[Placed], file: str, mapping: Mapping[str, str] | None = None) -> Loaded:
    """Test cases from objects, each with its position in words. Refused is a set of which nothing can be judged."""
    parser = _Parser(mapping or {})
    cases = tuple(case for position, item in placed if (case := parser.parse(position, item)) is not None)
    if not cases:
        raise TestSetError("the set is empty", place=Place(file), hint="Put at least one case into it.")
    if all(case.problem for case in cases):
        problems = Problems(file, hint=f"{CASE_HINT} {MAP_HINT}{parser.first_keys}")
        for where, reasons in parser.refused:
            for reason in reasons:
                problems.add(where, reason)
        problems.raise_if_any()
    return Loaded(cases, tuple(parser.notes(len(cases))))


class _Parser:
    """Parses the objects of one file; remembers ids, what was refused, and what was left out."""

    def __init__(self, mapping: Mapping[str, str]) -> None:
        self._mapping = mapping
        self._ids = Ids()
        self._dropped: Counter[str] = Counter()
        self._samples: dict[str, list[str]] = {}
        self.refused: list[tuple[str, list[str]]] = []
        self.first_keys = ""

    def parse(self, position: str, item: object) -> TestCase | None:
        """The case; None for an exact repetition of an earlier one."""
        problems: list[str] = []
        reason = unusable(item)
        if reason or not isinstance(item, dict):
            return self._refused(TestCase(self._ids.new(position.replace(" ", "-")), "", "", ()), position, [reason])
        self.first_keys = self.first_keys or f" The first has: {', '.join(list(map(str, item))[:12])}."
        found = {field: find(item, field, self._mapping) for field in NAMES}
        question = _text(found["question"], "question", problems)
        answer = _answer(found["answer"], problems)
        name, note = self._ids.of(found["id"], question, position, item)
        if note:
            self._drop(note, name)
        if note == REPEATED:
            return None
        where = named(position, name)
        context = self._context(found["context"], name, problems)
        case = TestCase(name, question, answer, context, _meta(item, found))
        return self._refused(case, where, problems) if problems else case

    def _context(self, found: Found | None, name: str, problems: list[str]) -> Any:
        if found is None:
            problems.append(f"has no context. {JOIN_HINT}")
            return ()
        return parse_context(found.value, problems.append, lambda what: self._drop(what, name))

    def _refused(self, case: TestCase, where: str, reasons: list[str]) -> TestCase:
        self.refused.append((where, reasons))
        return msgspec.structs.replace(case, problem=f"cannot be judged: {'; '.join(reasons)}")

    def _drop(self, what: str, name: str) -> None:
        self._dropped[what] += 1
        samples = self._samples.setdefault(what, [])
        if name not in samples[-1:]:
            samples.append(name)

    def notes(self, total: int) -> Iterable[str]:
        for what, count in self._dropped.items():
            yield f"{what}: {count} (in {listing(self._samples[what], SHOWN_IDS)})"
        if self.refused:
            shown = "; ".join(f"{where}: {reasons[0]}" for where, reasons in self.refused[:SHOWN_IDS])
            more = f"; and {len(self.refused) - SHOWN_IDS} more" if len(self.refused) > SHOWN_IDS else ""
            yield f"{len(self.refused)} of {total} samples cannot be judged and end as errors: {shown}{more}"


REPEATED = "samples that appear twice word for word, judged once"
RENAMED = "samples whose id was taken by another, judged under an id with #2, #3, ..."
DERIVED = "samples without an id; it is derived from the question"


class Ids:
    """The id of every sample of a file: its own where it has one, and never the same twice."""

    def __init__(self) -> None:
        self._first: dict[str, object] = {}

    def of(self, found: Found | None, question: str, position: str, item: object) -> tuple[str, str]:
        """The id, and what to tell about it."""
        given = id_text(found.value) if found else ""
        name = given or (_derived(question) if question else position.replace(" ", "-"))
        if self._first.get(name) == item:
            return name, REPEATED
        taken = name in self._first
        return self.new(name, item), (RENAMED if taken else "") if given else DERIVED

    def new(self, name: str, item: object = None) -> str:
        """The name, with a number behind it where it is taken."""
        free, number = name, 1
        while free in self._first:
            number += 1
            free = f"{name}#{number}"
        self._first[free] = item
        return free


def id_text(value: object) -> str:
    """An id as text: 7 and the 7.0 of a data frame are "7"; empty where it is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = as_text(value) or ""
    return text if text.strip() else ""


def _derived(question: str) -> str:
    """From the question alone: it stays when samples before it come or go, or when the answer changes."""
    return f"q-{hashlib.sha256(question.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _text(found: Found | None, field: str, problems: list[str]) -> str:
    text = as_text(found.value) if found else None
    if text and text.strip():
        return text
    if found is None:
        problems.append(f"has no {field}")
    elif text is not None or found.value is None:
        problems.append(f"the {field} is empty")
    else:
        problems.append(f"the {field} must be a text, not {kind_of(found.value)}")
    return ""


def _answer(found: Found | None, problems: list[str]) -> str:
    """An answer may be empty, which is judged; one that is not there is a field with another name."""
    if found and (found.value is None or (isinstance(found.value, str) and not found.value.strip())):
        return found.value or ""
    return _text(found, "answer", problems)


def _meta(item: dict[str, Any], found: Mapping[str, Found | None]) -> dict[str, Any]:
    """What a judge never sees; `contextFields` holds what the context's entries say beyond their evidence."""
    shown = {one.key for one in found.values() if one}
    meta = {name: value for name, value in item.items() if name not in shown}
    context = found["context"]
    extras = further_fields(context.value) if context else []
    return {**meta, "contextFields": extras} if extras else meta


def unusable(item: object) -> str:
    """Why a row is not an object that a sample can be made of; empty if it is."""
    if isinstance(item, Problem):
        return item.message
    if not isinstance(item, dict):
        return f"expected a JSON object, found {kind_of(item)}"
    try:
        msgspec.json.encode(item)
    except (UnicodeEncodeError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        return "is nested too deeply" if deep else "holds half a character (a lone surrogate)"
    return ""


# What is wrong with a file, reported all at once.


class Problems:
    """What is wrong with one file; raises it all together, the first hundred in words."""

    def __init__(self, file: str, *, hint: str) -> None:
        self.file = file
        self.hint = hint
        self.total = 0
        self._shown: list[str] = []

    def add(self, where: str, message: str) -> None:
        self.total += 1
        if len(self._shown) < SHOWN_PROBLEMS:
            self._shown.append(f"{where}: {message}" if where else message)

    @property
    def first(self) -> str:
        """The first one in words."""
        return self._shown[0] if self._shown else ""

    def raise_if_any(self) -> None:
        if not self.total:
            return
        raise TestSetError(self._message(), place=Place(self.file), hint=self.hint)

    def _message(self) -> str:
        if self.total == 1:
            return self._shown[0]
        more = [f"... and {self.total - len(self._shown)} more"] if self.total > len(self._shown) else []
        return "\n  ".join([f"{self.total} problems", *self._shown, *more])


def named(position: str, name: object) -> str:
    """`case 3 (q-17)`: a position, with the id of what is there if it has one."""
    return f"{position} ({shorten(name)})" if isinstance(name, str) and name.strip() else position


def listing(names: list[str], shown: int = 20) -> str:
    """The names, the first ones in full and the rest as a count."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(shorten(name) for name in names[:shown]) + more


# An answer set and a context set in two files become one test set, joined by id.


class Joined(msgspec.Struct, frozen=True):
    """The cases, the objects they were made from (with every further field), and what to tell the user."""

    cases: tuple[TestCase, ...]
    objects: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()


def join_files(answers_path: str | os.PathLike[str], contexts_path: str | os.PathLike[str]) -> tuple[TestCase, ...]:
    """The joined cases; notes go to the log (`join` returns them)."""
    joined = join(answers_path, contexts_path)
    for note in joined.notes:
        _log.info("%s", note)
    return joined.cases


def join(
    answers_path: str | os.PathLike[str],
    contexts_path: str | os.PathLike[str],
    *,
    mapping: Mapping[str, str] | None = None,
    most_line: int = MOST_LINE,
) -> Joined:
    """Every answer with the context of the same id, in the order of the answers.

    An answer without a context stays in the set as a sample that cannot be judged.
    """
    answers = _by_id(answers_path, "answers", "answer", mapping or {}, most_line)
    contexts = _by_id(contexts_path, "contexts", "context", mapping or {}, most_line)
    file = f"{os.fspath(answers_path)} with {os.fspath(contexts_path)}"
    if missing := [key for key in answers.entries if key not in contexts.entries]:
        count = f"{len(missing)} of {len(answers.entries)} answers have no context in {os.fspath(contexts_path)}"
        if len(missing) == len(answers.entries):
            hint = "Do both files use the same ids? --map id=NAME names the field."
            raise TestSetError(f"{count}: {listing(missing)}", place=Place(os.fspath(answers_path)), hint=hint)
    objects = tuple(
        _merged(key, answer, contexts.entries.get(key, {}), mapping or {}) for key, answer in answers.entries.items()
    )
    loaded = parse_placed_cases(((f"case {number}", item) for number, item in enumerate(objects, 1)), file)
    notes = [*answers.notes, *contexts.notes, *_notes(answers.entries, contexts.entries, mapping or {})]
    return Joined(loaded.cases, written(objects, loaded.cases), (*notes, *loaded.notes))


class _Entries(msgspec.Struct, frozen=True):
    """The entries of a file by id, and what was left out."""

    entries: dict[str, Raw]
    notes: tuple[str, ...]


def _by_id(
    path: str | os.PathLike[str], what: str, needed: str, mapping: Mapping[str, str], most_line: int
) -> _Entries:
    """The entries of a file by their id; one without id or without the needed field is left out, with a note."""
    file = os.fspath(path)
    problems = Problems(file, hint="Every entry is an object with an id; entries are counted from 1.")
    found: dict[str, Raw] = {}
    for position, item in placed_rows(path, most_line, "entry"):
        key, reason = _key(item, needed, mapping)
        if reason is None and found.setdefault(key, cast(Raw, item)) != item:
            reason = "the same id appears before, with another text"
        if reason is not None:
            problems.add(named(position, key), reason)
    if not found:
        problems.raise_if_any()
        raise TestSetError("the set is empty", place=Place(file), hint=f"Put the {what} into it.")
    left_out = f"{file}: entries that cannot be used, left out: {problems.total} ({problems.first})"
    return _Entries(found, (left_out,) if problems.total else ())


def _key(item: object, needed: str, mapping: Mapping[str, str]) -> tuple[str, str | None]:
    """The id of an entry, and what is wrong with the entry, if anything is."""
    reason = unusable(item)
    if reason or not isinstance(item, dict):
        return "", reason
    found = find(item, "id", mapping)
    key = id_text(found.value) if found else ""
    if not key:
        return "", "has no id"
    return key, None if find(item, needed, mapping) else f"has no {needed}"


def _merged(key: str, answer: Raw, context: Raw, mapping: Mapping[str, str]) -> dict[str, Any]:
    """One object under this project's names; a question that only the context's entry has is used."""
    fields = {name: find(answer, name, mapping) for name in ("id", "question", "answer")}
    fields["context"] = find(context, "context", mapping)
    fields["question"] = fields["question"] or find(context, "question", mapping)
    own = find(answer, "context", mapping)
    used = {found.key for found in (*fields.values(), own) if found}
    further = {name: value for name, value in answer.items() if name not in used}
    values = {name: found.value for name, found in fields.items() if found and name != "id"}
    return {"queryLogId": key, **values, **further}


def _notes(answers: Mapping[str, Raw], contexts: Mapping[str, Raw], mapping: Mapping[str, str]) -> list[str]:
    unused = [key for key in contexts if key not in answers]
    differing = [
        key
        for key, answer in answers.items()
        if (mine := find(answer, "question", mapping))
        and (theirs := find(contexts.get(key, {}), "question", mapping))
        and mine.value != theirs.value
    ]
    notes = []
    if unused:
        notes.append(f"{len(unused)} of {len(contexts)} contexts have no answer, left out: {listing(unused)}")
    if differing:
        count = f"{len(differing)} contexts have another question than their answers"
        notes.append(f"{count}; the answers' question is used: {listing(differing)}")
    return notes


# The objects of a set as they are written, whole or not at all.


def written(objects: Iterable[dict[str, Any]], cases: Sequence[TestCase]) -> tuple[dict[str, Any], ...]:
    """Sets of courses call the id of a sample as query logs of courses do, all others do not."""
    layout = COURSES if have_courses(cases) else PASSAGES
    return tuple(told_fields(item, layout) for item in objects)


def write_test_set(objects: Sequence[Mapping[str, Any]], path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write the cases as a JSON array; an existing file stays unless `force` is given."""
    target = Path(path)
    data = msgspec.json.format(msgspec.json.encode(objects), indent=2) + b"\n"
    with replaced(target, private=True, overwrite=force) as file:
        file.write(data)
