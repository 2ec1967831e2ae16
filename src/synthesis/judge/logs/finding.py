"""Where in a log row a field stands: under one of its names, in the row or in the outputs of its steps.

Names are compared without case, underscores and hyphens: `ranked_courses` is `rankedCourses`.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

from synthesis.judge.logs.values import from_json

# Field -> the names under which it is looked for, the first one found wins.
NAMES = {
    "id": ("id", "queryLogId"),
    "question": ("question", "query"),
    "status": ("status",),
    "createdAt": ("createdAt", "timestamp"),
    "answer": ("answer", "answerText"),
    "context": ("rankedCourses", "context", "passages"),
    "llmModel": ("llmModel", "model"),
    "llmProvider": ("llmProvider", "provider"),
    "promptVersion": ("promptVersion",),
    "tokenUsage": ("tokenUsage",),
    "duration": ("duration",),
}
DETAILS = ("llmModel", "llmProvider", "promptVersion", "tokenUsage", "duration")

Raw = Mapping[str, Any]
Folded = dict[str, Any]  # by folded name


@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


_FOLDED_NAMES = {field: tuple(map(fold, names)) for field, names in NAMES.items()}


class Finder:
    """Looks fields of one row up, at their mapped places or by their names."""

    def __init__(self, raw: Raw, mapping: Mapping[str, str]) -> None:
        self._raw = raw
        self._row = _folded(raw)
        self._mapping = mapping

    def find(self, field: str) -> Any:
        if field in self._mapping:
            return _at_path(self._raw, self._mapping[field])
        for holder in self._holders(field):
            if (value := _named(holder, field)) is not None:
                return value
        return None

    def _holders(self, field: str) -> Iterator[Folded]:
        """Details come from the step that wrote the answer rather than from the row as a whole."""
        if field in DETAILS:
            yield from self._answering_step
        yield self._row
        if field in ("answer", "context"):
            for step in self._steps:
                yield from step

    @cached_property
    def _steps(self) -> list[list[Folded]]:
        return list(_steps(from_json(self._row.get("steps"), "steps")))

    @cached_property
    def _answering_step(self) -> list[Folded]:
        answering = (step for step in self._steps if any(_named(part, "answer") is not None for part in step))
        return next(answering, [])


def _folded(holder: Raw) -> Folded:
    """The values by folded name, absent ones left out; of two that fold alike the first counts."""
    found: Folded = {}
    for name, value in holder.items():
        if value is not None:
            found.setdefault(fold(str(name)), value)
    return found


def _named(holder: Folded, field: str) -> Any:
    for name in _FOLDED_NAMES[field]:
        if name in holder:
            return holder[name]
    return None


def _steps(steps: object) -> Iterator[list[Folded]]:
    """Each step as the objects that may hold its results: its output, then the step itself.

    The object of all steps may hold results too, but a step that is called `answer` is none.
    """
    if isinstance(steps, Mapping):
        yield [_folded({name: value for name, value in steps.items() if not isinstance(value, Mapping)})]
        steps = list(steps.values())
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, Mapping):
            own = _folded(step)
            output = from_json(own.get("output"), "a step's output")
            yield [_folded(output), own] if isinstance(output, Mapping) else [own]


def _at_path(raw: Raw, path: str) -> Any:
    """The value of a column, or of a dotted path into JSON."""
    if path in raw:
        return raw[path]
    value: Any = raw
    for part in path.split("."):
        value = from_json(value, path)
        if isinstance(value, Mapping):
            value = _folded(value).get(fold(part))
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value
