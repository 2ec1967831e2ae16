"""An answer set and a context set in two files become one test set, joined by queryLogId."""

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from synthesis.errors import Place, TestSetError
from synthesis.judge.model import TestCase
from synthesis.judge.testset.cases import id_text, parse_placed_cases
from synthesis.judge.testset.fields import Raw, find
from synthesis.judge.testset.files import Problems, kind_of, listing, named, read_array
from synthesis.judge.testset.tables import Unreadable, read_rows
from synthesis.read.lines import MOST_LINE

_log = logging.getLogger(__name__)


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
    """Every answer with the context of the same queryLogId, in the order of the answers.

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
    return Joined(loaded.cases, objects, (*notes, *loaded.notes))


class _Entries(msgspec.Struct, frozen=True):
    """The entries of a file by id, and what was left out."""

    entries: dict[str, Raw]
    notes: tuple[str, ...]


def _by_id(
    path: str | os.PathLike[str], what: str, needed: str, mapping: Mapping[str, str], most_line: int
) -> _Entries:
    """The entries of a file by their id; one without id or without the needed field is left out, with a note."""
    file = os.fspath(path)
    problems = Problems(file, hint="Every entry is an object with a queryLogId; entries are counted from 1.")
    found: dict[str, Raw] = {}
    for position, item in read_rows(Path(file), most_line) or _numbered(read_array(path, what)):
        key, reason = _key(item, needed, mapping)
        if reason is None and found.setdefault(key, cast(Raw, item)) != item:
            reason = "the same queryLogId appears before, with another text"
        if reason is not None:
            problems.add(named(position, key), reason)
    if not found:
        problems.raise_if_any()
        raise TestSetError("the set is empty", place=Place(file), hint=f"Put the {what} into it.")
    left_out = f"{file}: entries that cannot be used, left out: {problems.total} ({problems.first})"
    return _Entries(found, (left_out,) if problems.total else ())


def _numbered(items: Iterable[object]) -> Iterator[tuple[str, object]]:
    return ((f"entry {number}", item) for number, item in enumerate(items, 1))


def _key(item: object, needed: str, mapping: Mapping[str, str]) -> tuple[str, str | None]:
    """The id of an entry, and what is wrong with the entry, if anything is."""
    if not isinstance(item, dict):
        return "", item.reason if isinstance(item, Unreadable) else f"must be an object, not {kind_of(item)}"
    found = find(item, "id", mapping)
    key = id_text(found.value) if found else ""
    if not key:
        return "", "has no queryLogId"
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
