"""A row of a query log, whatever its source, becomes the few things that a test set needs.

Names are compared without case, underscores and hyphens: `ranked_courses` is `rankedCourses`.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

import msgspec

from synthesis.errors import OptionError, did_you_mean
from synthesis.judge.logs.values import MalformedValueError, as_moment, as_number, from_json
from synthesis.judge.testset.problems import kind_of

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
    mapping = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        field, _, column = (side.strip() for side in part.partition("="))
        if not column:
            raise OptionError(f"'{part}' maps nothing", hint="Write it as FIELD=COLUMN, several with commas.")
        if field not in NAMES:
            raise OptionError(f"there is no field '{field}' to map", hint=did_you_mean(field, NAMES))
        mapping[field] = column
    return mapping


def parse_head(raw: Raw, index: int, position: str, mapping: Mapping[str, str]) -> LogHead:
    """The head of a row; raises `MalformedValueError` when there is no id."""
    finder = _Finder(raw, mapping)
    name = finder.find("id")
    if name is None or not str(name).strip():
        columns = ", ".join(list(raw)[:12])
        raise MalformedValueError(
            f"has no id; its columns: {columns}. Name the right one with --map id=COLUMN"
        )
    status = _text(finder.find("status"), "the status")
    return LogHead(index, position, str(name), status, as_moment(finder.find("createdAt")))


def parse_row(head: LogHead, raw: Raw, mapping: Mapping[str, str]) -> LogRow:
    """The whole row; raises `MalformedValueError` for a value of the wrong kind."""
    finder = _Finder(raw, mapping)
    details = {field: _detail(field, finder.find(field)) for field in DETAILS}
    return LogRow(
        **msgspec.structs.asdict(head),
        question=_text(finder.find("question"), "the question"),
        answer=_text(finder.find("answer"), "the answer"),
        context=from_json(finder.find("context"), "the context"),
        details={field: value for field, value in details.items() if value is not None},
    )


class _Finder:
    """Looks a field up: at the mapped place, or by its names in the row and in the outputs of its steps."""

    def __init__(self, raw: Raw, mapping: Mapping[str, str]) -> None:
        self._raw = raw
        self._mapping = mapping

    def find(self, field: str) -> Any:
        if field in self._mapping:
            return _at_path(self._raw, self._mapping[field])
        return next(
            (value for holder in self._holders(field) if (value := _named(holder, field)) is not None), None
        )

    def _holders(self, field: str) -> Iterator[Raw]:
        """Details come from the step that wrote the answer rather than from the row as a whole."""
        if field in DETAILS:
            yield from self._answering_step()
        yield self._raw
        if field in ("answer", "context"):
            for step in self._steps:
                yield from step

    @cached_property
    def _steps(self) -> list[list[Raw]]:
        return list(_steps(self._raw))

    def _answering_step(self) -> list[Raw]:
        return next(
            (step for step in self._steps if any(_named(part, "answer") is not None for part in step)), []
        )


def _steps(raw: Raw) -> Iterator[list[Raw]]:
    """Each step as the objects that may hold its results: its output, then the step itself."""
    steps = from_json(_lookup(raw, "steps"), "steps")
    if isinstance(steps, Mapping):
        yield [steps]
    for step in steps.values() if isinstance(steps, Mapping) else steps if isinstance(steps, list) else ():
        if isinstance(step, Mapping):
            output = from_json(_lookup(step, "output"), "a step's output")
            yield [output, step] if isinstance(output, Mapping) else [step]


def _named(holder: Raw, field: str) -> Any:
    return next((value for name in NAMES[field] if (value := _lookup(holder, name)) is not None), None)


def _lookup(holder: Raw, name: str) -> Any:
    if name in holder:
        return holder[name]
    wanted = _plain(name)
    return next((value for key, value in holder.items() if _plain(str(key)) == wanted), None)


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _at_path(raw: Raw, path: str) -> Any:
    """The value of a column, or of a dotted path into JSON."""
    if path in raw:
        return raw[path]
    value: Any = raw
    for part in path.split("."):
        value = from_json(value, path)
        if isinstance(value, Mapping):
            value = _lookup(value, part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def _text(value: object, what: str) -> str | None:
    if isinstance(value, Mapping | list):
        raise MalformedValueError(f"{what} must be a text, not {kind_of(value)}; --map can point into it")
    return None if value is None or not str(value).strip() else str(value)


def _detail(field: str, value: object) -> object:
    if field == "duration":
        return as_number(value)
    return from_json(value, "the token usage") if field == "tokenUsage" else value
