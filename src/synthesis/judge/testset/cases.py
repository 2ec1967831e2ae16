"""Objects of a test-set file become test cases, or one error that names everything wrong with them."""

import os
from collections.abc import Callable, Iterable
from typing import Any

from synthesis.errors import Place, TestSetError
from synthesis.judge.model import Course, Skill, TestCase
from synthesis.judge.testset.files import Problems, kind_of, named, read_array

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
    """Test cases from objects, each with its position in words."""
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
        problems.add(named(position, value), f"the same queryLogId appears at {seen[value]}")
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


Report = Callable[[str], None]
Context = tuple[Course, ...] | tuple[str, ...]

COURSE_FIELDS = frozenset({"subjectCode", "subjectName", "matchedSkills", "courseLearningOutcomes"})
PASSAGE_FIELDS = ("text", "content")
_SHAPES = "an array of courses (subjectCode, subjectName, ...) or of passages (texts, or objects with a text)"


def parse_context(value: object, report: Report) -> Context:
    """Courses or passages, never both; every problem goes to `report`."""
    if not isinstance(value, list):
        report(f"the context must be {_SHAPES}, not {kind_of(value)}")
        return ()
    courses = [_is_course(item) for item in value]
    if any(courses) and not all(courses):
        other = courses.index(not courses[0]) + 1
        report(f"the context mixes courses and passages (entries 1 and {other}); use one kind")
        return ()
    if any(courses):
        return tuple(_course(item, f"course {number}", report) for number, item in enumerate(value, 1))
    return tuple(_passage(item, f"passage {number}", report) for number, item in enumerate(value, 1))


def further_fields(value: list[Any]) -> list[dict[str, Any]]:
    """Per entry what the file says beyond what a judge may see (relevance scores, notes), if anything."""
    extras = [_further(item) for item in value]
    return extras if any(extras) else []


def _further(item: object) -> dict[str, Any]:
    if not isinstance(item, dict):
        return {}
    shown = COURSE_FIELDS if _is_course(item) else {_passage_field(item)}
    return {name: value for name, value in item.items() if name not in shown}


def _is_course(item: object) -> bool:
    return isinstance(item, dict) and not COURSE_FIELDS.isdisjoint(item)


def _passage_field(item: dict[str, Any]) -> str | None:
    return next((name for name in PASSAGE_FIELDS if name in item), None)


def _passage(item: object, where: str, report: Report) -> str:
    if isinstance(item, dict) and (field := _passage_field(item)):
        item = item[field]
    if isinstance(item, str):
        return item
    report(f"{where} must be a text or an object with 'text' or 'content', not {kind_of(item)}")
    return ""


def _course(item: dict[str, Any], where: str, report: Report) -> Course:
    return Course(
        code=_course_text(item, "subjectCode", where, report),
        name=_course_text(item, "subjectName", where, report),
        skills=tuple(
            Skill(_course_text(skill, "skill", place, report), _outcomes(skill, "learningOutcomes", place, report))
            for place, skill in _objects(item, "matchedSkills", where, report)
        ),
        outcomes=_outcomes(item, "courseLearningOutcomes", where, report),
    )


def _outcomes(item: dict[str, Any], field: str, where: str, report: Report) -> tuple[str, ...]:
    found = _objects(item, field, where, report)
    return tuple(_course_text(outcome, "cleanedName", place, report) for place, outcome in found)


def _objects(item: dict[str, Any], field: str, where: str, report: Report) -> list[tuple[str, dict[str, Any]]]:
    """The objects of an optional array, each with its place; anything else is reported and left out."""
    values = item.get(field)
    if values is None:
        return []
    if not isinstance(values, list):
        report(f"{where}: {field} must be an array, not {kind_of(values)}")
        return []
    placed = [(f"{where}, {field} {number}", value) for number, value in enumerate(values, 1)]
    for place, value in placed:
        if not isinstance(value, dict):
            report(f"{place} must be an object, not {kind_of(value)}")
    return [(place, value) for place, value in placed if isinstance(value, dict)]


def _course_text(item: dict[str, Any], field: str, where: str, report: Report) -> str:
    value = item.get(field)
    if isinstance(value, str) and value.strip():
        return value
    if field not in item:
        report(f"{where} has no {field}")
    else:
        report(f"{where}: {field} must be a text that is not empty" + _not(value))
    return ""


def _not(value: object) -> str:
    return "" if isinstance(value, str) else f", not {kind_of(value)}"
