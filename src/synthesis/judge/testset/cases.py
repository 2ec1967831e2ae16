"""Objects of a test-set file become test cases, or one error that names everything wrong with them."""

import os
from collections.abc import Iterable
from typing import Any

from synthesis.errors import Place, TestSetError
from synthesis.judge.model import TestCase
from synthesis.judge.testset.context import further_fields, parse_context
from synthesis.judge.testset.problems import Problems, kind_of, named
from synthesis.judge.testset.reading import read_array

SHOWN_FIELDS = frozenset({"queryLogId", "question", "answer", "context"})
CASE_HINT = "A case has queryLogId, question, answer and context; cases are counted from 1."
JOIN_HINT = "Answers and contexts in two files are put together with `synthesis testset join`."


def load_test_set(path: str | os.PathLike[str]) -> tuple[TestCase, ...]:
    """The cases of a test-set file."""
    return parse_test_cases(read_array(path, "cases"), os.fspath(path))


def parse_test_cases(objects: Iterable[object], file: str) -> tuple[TestCase, ...]:
    """Test cases from JSON objects; all problems are raised together."""
    return parse_placed_cases(((f"case {number}", item) for number, item in enumerate(objects, 1)), file)


def parse_placed_cases(placed: Iterable[tuple[str, object]], file: str) -> tuple[TestCase, ...]:
    """Test cases from objects that each come with the words for where they stand."""
    problems = Problems(file, hint=CASE_HINT)
    seen: dict[str, str] = {}
    cases = [_parse(position, item, problems, seen) for position, item in placed]
    problems.raise_if_any()
    if not cases:
        raise TestSetError("the set is empty", place=Place(file), hint="Put at least one case into it.")
    return tuple(case for case in cases if case is not None)


def unique_id(item: dict[str, Any], position: str, problems: Problems, seen: dict[str, str]) -> str:
    """The queryLogId, which must be a text and the only one of its kind in the file."""
    value = item.get("queryLogId")
    if not isinstance(value, str) or not value.strip():
        problems.add(position, "has no queryLogId" if value is None else "queryLogId must be a text, not empty")
        return ""
    if value in seen:
        problems.add(named(position, value), f"the same queryLogId stands at {seen[value]}")
    seen.setdefault(value, position)
    return value


def _parse(position: str, item: object, problems: Problems, seen: dict[str, str]) -> TestCase | None:
    if not isinstance(item, dict):
        problems.add(position, f"must be an object, not {kind_of(item)}")
        return None
    query_log_id = unique_id(item, position, problems, seen)
    where = named(position, query_log_id)
    question = _text(item, "question", where, problems)
    answer = _text(item, "answer", where, problems)
    if "context" not in item:
        problems.add(where, f"has no context. {JOIN_HINT}")
        return None
    context = parse_context(item["context"], lambda message: problems.add(where, message))
    return TestCase(query_log_id, question, answer, context, _meta(item))


def _text(item: dict[str, Any], field: str, where: str, problems: Problems) -> str:
    value = item.get(field)
    if isinstance(value, str) and value.strip():
        return value
    if field not in item:
        problems.add(where, f"has no {field}")
    elif isinstance(value, str):
        problems.add(where, f"the {field} is empty")
    else:
        problems.add(where, f"the {field} must be a text, not {kind_of(value)}")
    return ""


def _meta(item: dict[str, Any]) -> dict[str, Any]:
    """What a judge never sees; `contextFields` holds what the context's entries say beyond their evidence."""
    meta = {name: value for name, value in item.items() if name not in SHOWN_FIELDS}
    extras = further_fields(item["context"]) if isinstance(item["context"], list) else []
    return {**meta, "contextFields": extras} if extras else meta
