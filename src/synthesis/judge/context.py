"""The context of a sample, in the shapes that people have it: courses, passages, documents, one text.

What holds nothing is left out and counted; what cannot be read makes the sample one that cannot be judged.
"""

import ast
from collections.abc import Callable, Iterable
from typing import Any

from synthesis.judge.model import Course, Skill
from synthesis.read.lines import kind_of
from synthesis.read.mapping import decoded

Report = Callable[[str], None]
Context = tuple[Course, ...] | tuple[str, ...]

COURSE_FIELDS = frozenset({"subjectCode", "subjectName", "matchedSkills", "courseLearningOutcomes"})
PASSAGE_FIELDS = ("text", "content", "page_content", "pageContent")
NULL_CONTEXT = "samples whose context is null, judged as if nothing had been retrieved"
EMPTY_PASSAGES = "passages that are null or empty, left out"
EMPTY_OUTCOMES = "learning outcomes without a cleanedName, left out"
EMPTY_SKILLS = "matched skills without a name, left out"
EMPTY_COURSES = "courses that are null, left out"
NO_CODE, NO_NAME = "courses without a subjectCode", "courses without a subjectName"
_SHAPES = "courses (subjectCode, subjectName, ...), passages (texts, or objects with a text) or one text"


def parse_context(value: object, refuse: Report, drop: Report) -> Context:
    """Courses or passages, never both. `refuse` takes what cannot be read, `drop` what was left out."""
    if value is None:
        drop(NULL_CONTEXT)
        return ()
    entries = entries_of(value)
    if entries is None:
        refuse(f"the context must be {_SHAPES}, not {kind_of(value)}")
        return ()
    placed = [(number, item) for number, item in enumerate(entries, 1) if item is not None]
    courses = [is_course(item) for _, item in placed]
    for _ in range(len(entries) - len(placed)):
        drop(EMPTY_COURSES if any(courses) else EMPTY_PASSAGES)
    if any(courses) and not all(courses):
        first, other = placed[0][0], placed[courses.index(not courses[0])][0]
        refuse(f"the context mixes courses and passages (entries {first} and {other}); use one kind")
        return ()
    if any(courses):
        return tuple(_course(item, f"course {number}", refuse, drop) for number, item in placed)
    return _filled((_passage(item, f"passage {number}", refuse) for number, item in placed), EMPTY_PASSAGES, drop)


def _filled(texts: Iterable[str], empty: str, drop: Report) -> tuple[str, ...]:
    """The texts that say something."""
    found = list(texts)
    filled = tuple(text for text in found if text.strip())
    for _ in range(len(found) - len(filled)):
        drop(empty)
    return filled


def entries_of(value: object) -> list[Any] | None:
    """The entries of a context; a text may hold a list as JSON or Python writes it, as cells of tables do."""
    if isinstance(value, str):
        value = _listed(value)
    if isinstance(value, str):
        return [value] if value.strip() else []
    if isinstance(value, dict):
        return [value] if is_course(value) or passage_of(value) is not None else None
    return value if isinstance(value, list) else None


def _listed(text: str) -> object:
    value = decoded(text)
    if value is text and text.lstrip().startswith("["):
        try:
            value = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return text
    return value if isinstance(value, list | dict) and entries_of(value) is not None else text


def is_course(item: object) -> bool:
    return isinstance(item, dict) and not COURSE_FIELDS.isdisjoint(item)


def passage_of(item: dict[str, Any]) -> str | None:
    """The field of an object that holds a passage."""
    return next((name for name in PASSAGE_FIELDS if name in item), None)


def unwrapped(item: object) -> object:
    """A LangChain document as its own serializer writes it has its fields one level down."""
    inner = item.get("kwargs") if isinstance(item, dict) and "lc" in item else None
    return inner if isinstance(inner, dict) else item


def _passage(item: object, where: str, refuse: Report) -> str:
    item = unwrapped(item)
    if isinstance(item, dict) and (field := passage_of(item)):
        item = item[field] if item[field] is not None else ""
    text = as_text(item)
    if text is not None:
        return text
    refuse(f"{where} must be a text or an object with one of {', '.join(PASSAGE_FIELDS)}, not {kind_of(item)}")
    return ""


def _course(item: dict[str, Any], where: str, refuse: Report, drop: Report) -> Course:
    skills = []
    for place, entry in _entries(item, "matchedSkills", where, refuse):
        name = _named(entry, "skill")
        outcomes = _outcomes(entry, "learningOutcomes", place, refuse, drop) if isinstance(entry, dict) else ()
        if name or outcomes:
            skills.append(Skill(name, outcomes))
        else:
            drop(EMPTY_SKILLS)
    code, title = _named(item, "subjectCode"), _named(item, "subjectName")
    for text, kind in ((code, NO_CODE), (title, NO_NAME)):
        if not text:
            drop(kind)
    return Course(code, title, tuple(skills), _outcomes(item, "courseLearningOutcomes", where, refuse, drop))


def _outcomes(item: dict[str, Any], field: str, where: str, refuse: Report, drop: Report) -> tuple[str, ...]:
    found = (_named(entry, "cleanedName") for _, entry in _entries(item, field, where, refuse))
    return _filled(found, EMPTY_OUTCOMES, drop)


def _entries(item: dict[str, Any], field: str, where: str, refuse: Report) -> list[tuple[str, Any]]:
    """The entries of an optional array, each with its place."""
    values = item.get(field)
    if values is None:
        return []
    if not isinstance(values, list):
        refuse(f"{where}: {field} must be an array, not {kind_of(values)}")
        return []
    return [(f"{where}, {field} {number}", value) for number, value in enumerate(values, 1)]


def _named(entry: object, field: str) -> str:
    """The text of an entry, under its field or as the entry itself; empty where there is none."""
    text = as_text(entry.get(field) if isinstance(entry, dict) else entry)
    return text if text and text.strip() else ""


def further_fields(value: object) -> list[dict[str, Any]]:
    """Per entry what the file says beyond what a judge may see (relevance scores, notes), if anything."""
    extras = [_further(item) for item in entries_of(value) or ()]
    return extras if any(extras) else []


def _further(item: object) -> dict[str, Any]:
    item = unwrapped(item)
    if not isinstance(item, dict):
        return {}
    shown = COURSE_FIELDS if is_course(item) else {passage_of(item)}
    return {name: value for name, value in item.items() if name not in shown}


def as_text(value: object) -> str | None:
    """A text, or a number as text; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return str(value)
    except ValueError:  # Python writes no integer of thousands of digits
        return None
