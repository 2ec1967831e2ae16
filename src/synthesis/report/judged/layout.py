"""What the fields of a judged run are called: as the specification names them for courses, or in words for any set.

The specification was written for a course recommender: a sample has a `queryLogId` and a `courseCount`. That is how
runs of courses are written, field by field. A set of passages has never heard of courses: its files say `id` and
`passageCount`. Inside, records have the names of the specification. `told` renames them where they leave, `canonical`
where they come in, and what is read may have either. No other module knows both.
"""

from collections.abc import Mapping
from typing import Any, Literal

Layout = Literal["courses", "passages"]
COURSES: Layout = "courses"
PASSAGES: Layout = "passages"
COURSE_RUBRIC = "course"

_PLAIN = {
    "queryLogId": "id",
    "queryLogIds": "ids",
    "courseCount": "passageCount",
    "averageCourseCount": "averagePassageCount",
}
_OF_COURSES = {plain: name for name, plain in _PLAIN.items()}
_WITHOUT_CASE = {"query_log_id": "id"}  # the API's lists of saved samples write it so
# What holds a judge's words, or has an axis of the rubric as key: a name in there is not one of ours.
_FOREIGN = frozenset({"judgeVerdict", "details", "scores", "flips", "flipped", "agreement"})


def layout_of(rubric: str, *, has_courses: bool = False) -> Layout:
    """The layout of a run by the name of its rubric; courses under another rubric have theirs as well."""
    return COURSES if has_courses or rubric == COURSE_RUBRIC else PASSAGES


def saved_layout(conditions: Mapping[str, Any]) -> Layout:
    """The layout of a run by the conditions that a history has of it."""
    rubric = conditions.get("rubric")
    name = rubric.get("name") if isinstance(rubric, Mapping) else None
    return layout_of(str(name), has_courses=bool(conditions.get("has_courses")))


def told(value: Any, layout: Layout) -> Any:
    """A document of a run, or a record, as its users read it."""
    return value if layout == COURSES else _renamed(value, _PLAIN | _WITHOUT_CASE)


def told_fields(record: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    """The same for the fields of one object, whose values are the user's."""
    return {_name(name, record, {} if layout == COURSES else _PLAIN): value for name, value in record.items()}


def canonical(document: Any) -> Any:
    """A document of a run with the names of the specification, whichever it has."""
    return _renamed(document, _OF_COURSES)


def canonical_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """The same for one record of a sample."""
    return {_name(name, record, _OF_COURSES): value for name, value in record.items()}


def id_in(entry: Mapping[str, Any]) -> Any:
    """The id of a sample in a record, a label or a verdict; None where there is none."""
    return entry.get("queryLogId", entry.get("id"))


def without_id(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry without the id of its sample."""
    used = "queryLogId" if "queryLogId" in entry else "id"
    return {name: value for name, value in entry.items() if name != used}


def in_words(message: str, layout: Layout) -> str:
    """A message that quotes the names of fields, with those that the user's file has."""
    for name, plain in _PLAIN.items() if layout == PASSAGES else ():
        message = message.replace(f"`{name}`", f"`{plain}`")
    return message


def with_either(schemas: dict[str, Any]) -> None:
    """Let JSON Schemas of records accept either name of a field."""
    for schema in schemas.values():
        properties = schema.get("properties", {})
        for name, plain in (_PLAIN | _WITHOUT_CASE).items():
            if name in properties and plain not in properties:
                properties[plain] = properties[name]
                schema["required"] = [field for field in schema.get("required", []) if field != name]


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {
            _name(key, value, names): item if key in _FOREIGN else _renamed(item, names) for key, item in value.items()
        }
    return [_renamed(item, names) for item in value] if isinstance(value, list | tuple) else value


def _name(key: str, holder: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """The other name of a field, unless its holder has a field of that name already."""
    other = names.get(key, key)
    return key if other in holder else other
