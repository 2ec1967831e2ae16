"""A row of a log, in whatever shape, becomes a case, or a problem that says why it cannot."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from synthesis.cases.jsonl import to_case
from synthesis.cases.logs.facts import with_facts
from synthesis.cases.logs.options import ROLE, TEXT, LogOptions
from synthesis.cases.messages import ROLES, is_unicode, side_of, text_of
from synthesis.errors import Problem, did_you_mean, shorten
from synthesis.model import Case

CASE_ID = re.compile(r"[A-Z]+-[0-9]+")
_MADE = "ROW-"
_LISTS = ("checks", "tags")
_COPIED = ("lang", "notes")


def is_case_id(name: object) -> bool:
    """Whether this is an id as cases have it; `ROW-1` is what a row without one is called."""
    return isinstance(name, str) and CASE_ID.fullmatch(name) is not None and not name.startswith(_MADE)


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
        own: str | None = None
        try:
            own = self._own_id(row)
            if own and (self._options.any_id or is_case_id(own)):
                name, own = own, None
            self._require_new(name, row)
            # The schema would refuse an id of another shape.
            fields = {"id": made if self._options.any_id else name, **self._fields(row)}
            found = self._validated(fields, row, own)
        except _UnusableError as reason:
            return Problem(row.line, "unusable row", str(reason), name, own)
        found = with_facts(found, row.fields, self._options)
        return msgspec.structs.replace(found, id=name) if self._options.any_id else found

    def _own_id(self, row: LogRow) -> str | None:
        """What the row calls itself; None where it has no id."""
        given = self._value(row, "id")
        if given is None or given == "":
            return None
        if isinstance(given, list | dict) or not is_unicode(str(given)):
            if "id" in self._options.columns:
                raise _UnusableError(f"its id {_shown(given)} is neither a text nor a number")
            return None
        return str(given)

    def _require_new(self, name: str, row: LogRow) -> None:
        """Ids of cases are given once. Other ids may return: many logs have the id of a session there."""
        if self._options.any_id:
            return
        if name in self._given:
            raise _UnusableError(f"the id {name} appears twice: here and in row {self._given[name]}")
        if not name.startswith(_MADE):
            self._given[name] = row.number

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
        if TEXT in columns:
            return {"messages": [{"role": self._side(row), "content": self._said(row, TEXT)}]}
        if "messages" in columns or not ("user" in columns or "assistant" in columns):
            for name in (columns["messages"],) if "messages" in columns else ("messages", "conversations"):
                if row.fields.get(name) is not None:
                    return {"messages": _messages(row.fields[name], name)}
        return {side: self._said(row, side) for side in ("user", "assistant")}

    def _side(self, row: LogRow) -> str:
        """Who says the one message of the row."""
        given = self._present(row, ROLE)
        side = side_of(given)
        if side is None:
            name = self._options.columns[ROLE]
            hint = "It may be user, customer, visitor, assistant, agent, bot, system or a word like these."
            raise _UnusableError(f"no role is called {_shown(given)} (in '{name}'). {hint}")
        return side

    def is_silent(self, row: LogRow) -> bool:
        """Whether the row is a message without text, such as a picture: nobody says anything, and nothing is wrong."""
        name = self._options.columns.get(TEXT)
        if name is None or name not in row.fields:
            return False
        text = text_of(row.fields[name])
        return text is not None and not text.strip()

    def _present(self, row: LogRow, field: str) -> Any:
        name = self._options.columns.get(field, field)
        if name not in row.fields:
            present = ", ".join(sorted(map(str, row.fields))) or "nothing"
            raise _UnusableError(f"has no '{name}' (--map {field}=NAME names it; the row has: {shorten(present)})")
        return row.fields[name]

    def _said(self, row: LogRow, side: str) -> str:
        name = self._options.columns.get(side, side)
        text = text_of(self._present(row, side))
        if text is None or not is_unicode(text):
            raise _UnusableError(f"'{name}' is not text")
        if not text:
            raise _UnusableError(f"'{name}' is empty")
        return text

    def _value(self, row: LogRow, field: str) -> Any:
        return row.fields.get(self._options.columns.get(field, field))

    def _validated(self, fields: dict[str, Any], row: LogRow, own_id: str | None) -> Case:
        problems: Sequence[Problem] = list(self._options.validator.problems(fields, row.line))
        built = problems or to_case(fields, row.line, self._file, own_id)
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
    side = side_of(role)
    if side is None:
        raise _UnusableError(f"message {number}: no role is called {_shown(role)}. {did_you_mean('', ROLES)}")
    content = text_of(message.get("content", message.get("value")))
    if content is None or not is_unicode(content):
        raise _UnusableError(f"message {number}: its content is not text")
    return {"role": side, "content": content}


def _names(value: Any) -> Any:
    """A list as it is; the cell of a table as names with commas between them."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


def _shown(value: Any) -> str:
    return shorten(repr(value), 40)
