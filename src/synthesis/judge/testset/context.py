"""A context as files write it (courses or plain passages) becomes the part that a judge may see."""

from collections.abc import Callable
from typing import Any

from synthesis.judge.model import Course, Skill
from synthesis.judge.testset.problems import kind_of

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
        code=_text(item, "subjectCode", where, report),
        name=_text(item, "subjectName", where, report),
        skills=tuple(
            Skill(_text(skill, "skill", place, report), _outcomes(skill, "learningOutcomes", place, report))
            for place, skill in _objects(item, "matchedSkills", where, report)
        ),
        outcomes=_outcomes(item, "courseLearningOutcomes", where, report),
    )


def _outcomes(item: dict[str, Any], field: str, where: str, report: Report) -> tuple[str, ...]:
    found = _objects(item, field, where, report)
    return tuple(_text(outcome, "cleanedName", place, report) for place, outcome in found)


def _objects(item: dict[str, Any], field: str, where: str, report: Report) -> list[tuple[str, dict[str, Any]]]:
    """The objects of an optional array, each with its place; what is no object is reported and left out."""
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


def _text(item: dict[str, Any], field: str, where: str, report: Report) -> str:
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
