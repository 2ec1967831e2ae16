"""A row of a query log, whatever its source: where its fields are, and the few that a test set needs."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

import msgspec

from synthesis.judge.logs.values import MalformedValueError, as_moment, as_number, from_json
from synthesis.judge.testset import fields
from synthesis.judge.testset.fields import Raw, fold
from synthesis.judge.testset.files import kind_of

# Field -> the names under which it is looked for, the first one found wins.
NAMES = {
    "id": ("id", "queryLogId"),
    "question": fields.NAMES["question"],
    "status": ("status",),
    "createdAt": ("createdAt", "timestamp"),
    "answer": fields.NAMES["answer"],
    "context": ("rankedCourses", *(name for name in fields.NAMES["context"] if name != "rankedCourses")),
    "llmModel": ("llmModel", "model"),
    "llmProvider": ("llmProvider", "provider"),
    "promptVersion": ("promptVersion",),
    "tokenUsage": ("tokenUsage",),
    "duration": ("duration",),
}
DETAILS = ("llmModel", "llmProvider", "promptVersion", "tokenUsage", "duration")

Folded = dict[str, Any]  # by folded name
_FOLDED_NAMES = {field: tuple(map(fold, names)) for field, names in NAMES.items()}


class Finder:
    """Looks fields of one row up, at their mapped places or by their names."""

    def __init__(self, raw: Raw, mapping: Mapping[str, str]) -> None:
        self._raw = raw
        self._row = _folded(raw)
        self._mapping = mapping

    def find(self, field: str) -> Any:
        if field in self._mapping:
            return fields.at_path(self._raw, self._mapping[field])
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


class LogHead(msgspec.Struct, frozen=True):
    """What rows are chosen by. `index` orders rows as the log does, `position` is for people (`line 3`)."""

    index: int
    position: str
    id: str
    status: str | None
    created_at: datetime | None


class LogRow(LogHead, frozen=True):
    """One logged query."""

    question: str | None
    answer: str | None
    context: object
    details: dict[str, Any]


def parse_mapping(text: str) -> dict[str, str]:
    """`question=prompt,answer=steps.write.output.text` as field -> column or dotted path."""
    return fields.parse_mapping(text, NAMES)


def parse_head(raw: Raw, index: int, position: str, mapping: Mapping[str, str]) -> LogHead:
    """The head of a row; raises `MalformedValueError` when there is no id."""
    finder = Finder(raw, mapping)
    name = finder.find("id")
    if name is None or not str(name).strip():
        columns = ", ".join(list(raw)[:12])
        raise MalformedValueError(f"has no id; its columns: {columns}. Name the right one with --map id=COLUMN")
    status = _text(finder.find("status"), "the status")
    return LogHead(index, position, str(name), status, as_moment(finder.find("createdAt")))


def parse_row(head: LogHead, raw: Raw, mapping: Mapping[str, str]) -> LogRow:
    """The whole row; raises `MalformedValueError` for a value of the wrong kind."""
    finder = Finder(raw, mapping)
    details = {field: _detail(field, finder.find(field)) for field in DETAILS}
    return LogRow(
        **msgspec.structs.asdict(head),
        question=_text(finder.find("question"), "the question"),
        answer=_text(finder.find("answer"), "the answer"),
        context=from_json(finder.find("context"), "the context"),
        details={field: value for field, value in details.items() if value is not None},
    )


def _text(value: object, what: str) -> str | None:
    if isinstance(value, Mapping | list):
        raise MalformedValueError(f"{what} must be a text, not {kind_of(value)}; --map can point into it")
    return None if value is None or not str(value).strip() else str(value)


def _detail(field: str, value: object) -> object:
    if field == "duration":
        return as_number(value)
    return from_json(value, "the token usage") if field == "tokenUsage" else value
