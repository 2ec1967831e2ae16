"""A row of a log, in whatever shape, becomes a case, or a problem that says why it cannot."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from synthesis.cases.jsonl import to_case
from synthesis.cases.logs.facts import with_facts
from synthesis.cases.logs.options import LogOptions
from synthesis.cases.messages import ROLES, is_unicode, text_of
from synthesis.errors import Problem, did_you_mean, shorten
from synthesis.model import Case

CASE_ID = re.compile(r"[A-Z]+-[0-9]+")
_MADE = "ROW-"
_LISTS = ("checks", "tags")
_COPIED = ("lang", "notes")


class LogRow(NamedTuple):
    """One record of a log: its number, the line where it starts, and its fields."""

    number: int
    line: int
    fields: Mapping[str, Any]


class _UnusableError(Exception):
    """Why a row cannot be a case; never leaves this module."""


class Converter:
    """Turns the rows of one file into cases; remembers the ids that the file gave."""

    def __init__(self, options: LogOptions, file: str) -> None:
        self._options = options
        self._file = file
        self._given: dict[str, int] = {}

    def case(self, row: LogRow) -> Case | Problem:
        name = made = f"{_MADE}{row.number}"
        try:
            name = self._id(row)
            # The schema would refuse an id of another shape.
            found = self._validated({"id": made if self._options.any_id else name, **self._fields(row)}, row)
        except _UnusableError as reason:
            return Problem(row.line, "unusable row", str(reason), name)
        found = with_facts(found, row.fields, self._options)
        return msgspec.structs.replace(found, id=name) if self._options.any_id else found

    def _id(self, row: LogRow) -> str:
        """The row's own id where it is one of a case, else one made of its number."""
        given = self._value(row, "id")
        if self._options.any_id:
            return f"{_MADE}{row.number}" if given is None else str(given)
        fits = isinstance(given, str) and CASE_ID.fullmatch(given) and not given.startswith(_MADE)
        if not fits:
            if "id" in self._options.columns:
                raise _UnusableError(f"the id {_shown(given)} is not valid: it needs capital letters, a hyphen, digits")
            return f"{_MADE}{row.number}"
        if given in self._given:
            raise _UnusableError(f"the id {given} appears twice: here and in row {self._given[given]}")
        self._given[given] = row.number
        return str(given)

    def _fields(self, row: LogRow) -> dict[str, Any]:
        fields = self._conversation(row)
        for name in _LISTS:
            value = _names(self._value(row, name))
            if value:
                fields[name] = value
        for name in _COPIED:
            value = self._value(row, name)
            if value not in (None, ""):
                fields[name] = value
        labels = self._value(row, "expected")
        if isinstance(labels, dict) or "expected" in self._options.columns:  # many tables have an `expected` text
            fields["expected"] = labels
        return {"checks": list(self._options.checks), **fields}

    def _conversation(self, row: LogRow) -> dict[str, Any]:
        """`messages`, or `user` and `assistant`: what the map names, else what the row has."""
        columns = self._options.columns
        if "messages" in columns or not ("user" in columns or "assistant" in columns):
            for name in (columns["messages"],) if "messages" in columns else ("messages", "conversations"):
                if row.fields.get(name) is not None:
                    return {"messages": _messages(row.fields[name], name)}
        return {side: self._said(row, side) for side in ("user", "assistant")}

    def _said(self, row: LogRow, side: str) -> str:
        name = self._options.columns.get(side, side)
        if name not in row.fields:
            present = ", ".join(sorted(map(str, row.fields))) or "nothing"
            raise _UnusableError(f"has no '{name}' (--map {side}=NAME names it; the row has: {shorten(present)})")
        text = text_of(row.fields[name])
        if text is None or not is_unicode(text):
            raise _UnusableError(f"'{name}' is not text")
        if not text:
            raise _UnusableError(f"'{name}' is empty")
        return text

    def _value(self, row: LogRow, field: str) -> Any:
        return row.fields.get(self._options.columns.get(field, field))

    def _validated(self, fields: dict[str, Any], row: LogRow) -> Case:
        problems: Sequence[Problem] = list(self._options.validator.problems(fields, row.line))
        built = problems or to_case(fields, row.line, self._file)
        if isinstance(built, Case):
            return built
        raise _UnusableError("; ".join(problem.message for problem in built))


def _messages(value: Any, name: str) -> list[dict[str, str]]:
    """Messages in the shape of a case; those without text (a tool call, an image) are left out."""
    if isinstance(value, str):  # the cell of a table
        value = _parsed(value)
    if not isinstance(value, list):
        raise _UnusableError(f"'{name}' is not a list of messages")
    found = [_message(message, number) for number, message in enumerate(value, start=1)]
    said = [message for message in found if message["content"].strip()]
    if not said:
        raise _UnusableError(f"'{name}' holds no text")
    return said


def _parsed(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _message(message: Any, number: int) -> dict[str, str]:
    if not isinstance(message, Mapping):
        raise _UnusableError(f"message {number} is not an object")
    role = message.get("role", message.get("from"))
    if not isinstance(role, str) or role.lower() not in ROLES:
        raise _UnusableError(f"message {number}: no role is called {_shown(role)}. {did_you_mean('', ROLES)}")
    content = text_of(message.get("content", message.get("value")))
    if content is None or not is_unicode(content):
        raise _UnusableError(f"message {number}: its content is not text")
    return {"role": ROLES[role.lower()], "content": content}


def _names(value: Any) -> Any:
    """A list as it is; the cell of a table as names with commas between them."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


def _shown(value: Any) -> str:
    return shorten(repr(value), 40)
