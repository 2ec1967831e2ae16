"""An answer set and a context set in two files become one test set, joined by queryLogId."""

import logging
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from synthesis.errors import Place, TestSetError
from synthesis.judge.model import TestCase
from synthesis.judge.testset.cases import parse_test_cases, unique_id
from synthesis.judge.testset.files import Problems, kind_of, listing, named, read_array

CONTEXT_FIELDS = ("rankedCourses", "context")
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


def join(answers_path: str | os.PathLike[str], contexts_path: str | os.PathLike[str]) -> Joined:
    """Every answer with the context of the same queryLogId, in the order of the answers."""
    answers = _by_id(answers_path, "answers", ("answer",))
    contexts = _by_id(contexts_path, "contexts", CONTEXT_FIELDS)
    if missing := [query_log_id for query_log_id in answers if query_log_id not in contexts]:
        count = f"{len(missing)} of {len(answers)} answers have no context in {os.fspath(contexts_path)}"
        hint = "Add their contexts, or take these answers out."
        raise TestSetError(f"{count}: {listing(missing)}", place=Place(os.fspath(answers_path)), hint=hint)
    objects = tuple(_merge(answer, contexts[key]) for key, answer in answers.items())
    cases = parse_test_cases(objects, f"{os.fspath(answers_path)} with {os.fspath(contexts_path)}")
    return Joined(cases, objects, tuple(_notes(answers, contexts)))


def _by_id(path: str | os.PathLike[str], what: str, needed: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """The entries of a file by their queryLogId; each must have one of the needed fields."""
    file = os.fspath(path)
    problems = Problems(file, hint="Every entry is an object with a queryLogId; entries are counted from 1.")
    seen: dict[str, str] = {}
    found: dict[str, dict[str, Any]] = {}
    for number, item in enumerate(read_array(path, what), 1):
        if not isinstance(item, dict):
            problems.add(f"entry {number}", f"must be an object, not {kind_of(item)}")
            continue
        key = unique_id(item, f"entry {number}", problems, seen)
        if not any(field in item for field in needed):
            problems.add(named(f"entry {number}", key), f"has no {' or '.join(needed)}")
        found[key] = item
    problems.raise_if_any()
    if not found:
        raise TestSetError("the set is empty", place=Place(file), hint=f"Put the {what} into it.")
    return found


def _merge(answer: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """The answer's object with the context in it; a question that only the context's entry has is used."""
    merged = {name: value for name, value in answer.items() if name not in CONTEXT_FIELDS}
    if "question" not in merged and "question" in context:
        merged["question"] = context["question"]
    for field in CONTEXT_FIELDS:
        if field in context:
            return {**merged, "context": context[field]}
    return merged


def _notes(answers: Mapping[str, Mapping[str, Any]], contexts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    unused = [key for key in contexts if key not in answers]
    differing = [key for key, answer in answers.items() if _other_question(answer, contexts[key])]
    notes = []
    if unused:
        notes.append(f"{len(unused)} of {len(contexts)} contexts have no answer, left out: {listing(unused)}")
    if differing:
        count = f"{len(differing)} contexts have another question than their answers"
        notes.append(f"{count}; the answers' question is used: {listing(differing)}")
    return notes


def _other_question(answer: Mapping[str, Any], context: Mapping[str, Any]) -> bool:
    return "question" in answer and "question" in context and answer["question"] != context["question"]
