"""A row of a query log, whatever its source, becomes the few things that a test set needs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from synthesis.errors import OptionError, did_you_mean
from synthesis.judge.logs.finding import DETAILS, NAMES, Finder, Raw
from synthesis.judge.logs.values import MalformedValueError, as_moment, as_number, from_json
from synthesis.judge.testset.problems import kind_of


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
