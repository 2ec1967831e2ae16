"""Objects of a test-set file become test cases. One that cannot be judged says why, and does not stop the others."""

import hashlib
import logging
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import Place, TestSetError
from synthesis.judge.model import TestCase
from synthesis.judge.testset.context import further_fields, parse_context
from synthesis.judge.testset.fields import NAMES, Found, find
from synthesis.judge.testset.files import Problems, as_text, kind_of, listing, named, read_array
from synthesis.judge.testset.tables import Unreadable, read_rows
from synthesis.read.lines import MOST_LINE

CASE_HINT = "A case has queryLogId, question, answer and context; cases are counted from 1."
JOIN_HINT = "Answers and contexts in two files are put together with `synthesis testset join`."
MAP_HINT = "Fields with other names are named with --map question=NAME,answer=NAME,context=NAME."
SHOWN_IDS = 5
_log = logging.getLogger(__name__)


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
    file = os.fspath(path)
    rows = read_rows(Path(file), most_line)
    placed = _numbered(read_array(path, "cases")) if rows is None else rows
    return parse_placed_cases(placed, file, mapping)


def parse_test_cases(objects: Iterable[object], file: str) -> tuple[TestCase, ...]:
    """Test cases from JSON objects."""
    return parse_placed_cases(_numbered(objects), file).cases


def _numbered(objects: Iterable[object]) -> Iterable[tuple[str, object]]:
    return ((f"case {number}", item) for number, item in enumerate(objects, 1))


def parse_placed_cases(
    placed: Iterable[tuple[str, object]], file: str, mapping: Mapping[str, str] | None = None
) -> Loaded:
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
        if not isinstance(item, dict):
            reason = item.reason if isinstance(item, Unreadable) else f"must be an object, not {kind_of(item)}"
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
