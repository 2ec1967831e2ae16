"""A row of a log, in whatever shape, becomes a case, or a problem that says why it cannot."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import OptionError, Problem, did_you_mean, shorten
from synthesis.model import Case
from synthesis.read.cases import ROLES, CaseValidator, is_unicode, side_of, text_of, to_case
from synthesis.read.lines import MOST_LINE, Row
from synthesis.read.mapping import (
    FIELDS,
    MESSAGE,
    MISSING,
    ROLE,
    TEXT,
    TIME,
    column_of,
    decoded,
    require_whole_messages,
    value_at,
)

STOP, KEEP_AS_ERROR = "stop", "error"
_OF_MESSAGES = "with conversation=NAME,role=NAME,text=NAME where a row is one message"


class LogOptions(msgspec.Struct, frozen=True):
    """What to make of a log: the schema for its cases, the checks for rows that name none, the names of fields."""

    validator: CaseValidator
    checks: tuple[str, ...] = ()  # none: all that there are
    columns: dict[str, str] = {}
    any_id: bool = False  # ids as the rows have them: of any shape, and repeated if the rows repeat them
    most_line: int = MOST_LINE  # bytes of a row, in whatever format
    sort: bool = False  # rows by their conversation, where these are not neighbours
    facts: tuple[str, ...] = ()  # columns that a case keeps, for figures by them

    @property
    def row_checks(self) -> tuple[str, ...]:
        """The checks of a row that names none."""
        return self.checks or self.validator.checks


def require_columns(header: Collection[str], options: LogOptions, path: Path | str) -> None:
    """A table without the columns that were named could only give errors, so it is refused as a whole."""
    columns = options.columns
    require_whole_messages(columns, path)
    # Each message of a list may have a time of its own.
    in_messages = "messages" in columns or not {*_message_columns(columns)}.isdisjoint(header)
    wanted = [name for field, name in columns.items() if field != TIME or not in_messages]
    absent = [name for name in (*wanted, *options.facts) if column_of(name, header) is None]
    if TEXT not in columns and not ({"messages", "conversations"} & {*header}) and "messages" not in columns:
        absent += [side for side in ("user", "assistant") if side not in columns and side not in header]
    if absent:
        known = did_you_mean(absent[0], filter(None, header))
        hint = f"Name the columns with --map user=NAME,assistant=NAME, or {_OF_MESSAGES}. {known}"
        raise OptionError(f"{path} has no column '{absent[0]}'", hint=hint)


def needed_columns(present: Collection[str], options: LogOptions, keep: Iterable[str] = ()) -> list[str]:
    """The columns that a case can be made of, and those to be kept, in the order of the file."""
    paths = {options.columns.get(field, field) for field in FIELDS} | {*options.facts}
    paths |= {options.columns[field] for field in (*MESSAGE, TIME) if field in options.columns}
    wanted = {column_of(path, present) for path in paths if path in options.columns.values() or path in options.facts}
    wanted |= {*paths, "conversations", *keep}
    return [name for name in present if name in wanted]


# What a row says beside the conversation: when it was said, and the columns that figures are asked for by.


MOST_CHARACTERS = 80  # of a value: what is longer is a text, and no group of conversations
_MILLISECONDS = 1e11  # an epoch above that is not in seconds: it would be the year 5138
_LAST = 4102444800.0  # 2100-01-01


def with_facts(case: Case, fields: Mapping[str, Any], options: LogOptions) -> Case:
    """The case with its times and the columns that were asked for; the same case where nothing was."""
    name = options.columns.get(TIME)
    if name is None and not options.facts:
        return case
    facts = {path: _value(value_at(fields, path)) for path in options.facts}
    times = _times(case, fields, name, options.columns) if name else ()
    return msgspec.structs.replace(case, times=times, facts=facts)


def _times(case: Case, fields: Mapping[str, Any], name: str, columns: Mapping[str, str]) -> tuple[float | None, ...]:
    """The row's own time for all its messages, else the time that each message has."""
    number = len(case.messages) or 2  # a row without messages is what the user said, and the reply
    own = value_at(fields, name, MISSING)
    if own is not MISSING:
        return (moment(own),) * number
    listed = _listed(fields, columns)[1]
    found = tuple(moment(value_at(message, name)) for message in _spoken(listed if isinstance(listed, list) else ()))
    if case.messages and not case.messages[-1].content:
        found = (*found, None)  # of the tool call that the conversation ends with
    return found if len(found) == number else (None,) * number


def _message_columns(columns: Mapping[str, str]) -> tuple[str, ...]:
    """Where a row may hold its list of messages: where the map says so, else under the usual names."""
    if "messages" in columns:
        return (columns["messages"],)
    return () if {"user", "assistant", TEXT} & columns.keys() else ("messages", "conversations")


def _listed(fields: Mapping[str, Any], columns: Mapping[str, str]) -> tuple[str, Any]:
    """The row's messages, also from a cell that holds them as JSON text, and what they are called; None without."""
    for name in _message_columns(columns):
        value = value_at(fields, name) if "messages" in columns else fields.get(name)
        if value is not None:
            return name, decoded(value)
    return "", None


def _spoken(messages: Iterable[Any]) -> Iterable[Mapping[str, Any]]:
    """The messages that a case keeps: those with a text."""
    for message in messages:
        if isinstance(message, Mapping) and (text_of(message.get("content", message.get("value"))) or "").strip():
            yield message


def moment(value: Any) -> float | None:
    """Seconds since 1970 of ISO 8601 or an epoch in seconds or milliseconds, UTC unless it says otherwise."""
    if isinstance(value, datetime):
        found = _in_utc(value).timestamp()
    elif isinstance(value, date):
        found = datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found = value / 1000 if value > _MILLISECONDS else float(value)
    elif isinstance(value, str):
        return _written(value.strip())
    else:
        return None
    return found if math.isfinite(found) and 0 < found < _LAST else None


def _written(text: str) -> float | None:
    try:
        return moment(float(text)) if _is_number(text) else moment(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return None


def _is_number(text: str) -> bool:
    # Eight digits are the day of ISO 8601 (20260131); an epoch of eight digits is in the early seventies.
    return text.replace(".", "", 1).isdigit() and len(text) != len("20260131")


def _in_utc(value: datetime) -> datetime:
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def _value(value: Any) -> str:
    text = "" if value is None else str(value).strip()
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


# A row of a log, in whatever shape, becomes a case, or a problem that says why it cannot.


CASE_ID = re.compile(r"[A-Z]+-[0-9]+")
_MADE = "ROW-"
_LISTS = ("checks", "tags")
_COPIED = ("lang", "notes")


def is_case_id(name: object) -> bool:
    """Whether this is an id as cases have it; `ROW-1` is what a row without one is called."""
    return isinstance(name, str) and CASE_ID.fullmatch(name) is not None and not name.startswith(_MADE)


class _UnusableError(Exception):
    """Why a row cannot be a case; never leaves this module."""


class Converter:
    """Turns the rows of one file into cases; remembers the ids that the file gave."""

    def __init__(self, options: LogOptions, file: str) -> None:
        self._options = options
        self._file = file
        self._given: dict[str, int] = {}

    def case(self, row: Row) -> Case | Problem:
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

    def _own_id(self, row: Row) -> str | None:
        """What the row calls itself; None where it has no id."""
        given = self._value(row, "id")
        if given is None or given == "":
            return None
        if isinstance(given, list | dict) or not is_unicode(str(given)):
            if "id" in self._options.columns:
                raise _UnusableError(f"its id {_shown(given)} is neither a text nor a number")
            return None
        return str(given)

    def _require_new(self, name: str, row: Row) -> None:
        """Ids of cases are given once. Other ids may return: many logs have the id of a session there."""
        if self._options.any_id:
            return
        if name in self._given:
            raise _UnusableError(f"the id {name} appears twice: here and in row {self._given[name]}")
        if not name.startswith(_MADE):
            self._given[name] = row.number

    def _fields(self, row: Row) -> dict[str, Any]:
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
        return {"checks": list(self._options.row_checks), **fields}

    def _conversation(self, row: Row) -> dict[str, Any]:
        """`messages`, or `user` and `assistant`: what the map names, else what the row has."""
        columns = self._options.columns
        if TEXT in columns:
            return {"messages": [{"role": self._side(row), "content": self._text(row, TEXT)}]}
        name, value = _listed(row.fields, columns)
        if value is not None:
            return {"messages": _messages(value, name)}
        user = self._text(row, "user")
        if self._present(row, "assistant") is None:
            return {"messages": [{"role": "user", "content": user}, _TOOL_CALL]}
        return {"user": user, "assistant": self._text(row, "assistant")}

    def _side(self, row: Row) -> str:
        """Who says the one message of the row."""
        given = self._present(row, ROLE)
        side = side_of(given)
        if side is None:
            name = self._options.columns[ROLE]
            hint = "It may be user, customer, visitor, assistant, agent, bot, system or a word like these."
            raise _UnusableError(f"no role is called {_shown(given)} (in '{name}'). {hint}")
        return side

    def is_silent(self, row: Row) -> bool:
        """Whether the row is a message without text, such as a picture, which is no error."""
        name = self._options.columns.get(TEXT)
        value = MISSING if name is None else value_at(row.fields, name, MISSING)
        if value is MISSING:
            return False
        text = text_of(value)
        return text is not None and not text.strip()

    def _present(self, row: Row, field: str) -> Any:
        name = self._options.columns.get(field, field)
        value = value_at(row.fields, name, MISSING) if field in self._options.columns else row.fields.get(name, MISSING)
        if value is MISSING:
            present = ", ".join(sorted(map(str, row.fields))) or "nothing"
            raise _UnusableError(f"has no '{name}' (--map {field}=NAME names it; the row has: {shorten(present)})")
        return value

    def _text(self, row: Row, side: str) -> str:
        name = self._options.columns.get(side, side)
        text = text_of(self._present(row, side))
        if text is None or not is_unicode(text):
            raise _UnusableError(f"'{name}' is not text")
        if not text:
            raise _UnusableError(f"'{name}' is empty")
        return text

    def _value(self, row: Row, field: str) -> Any:
        path = self._options.columns.get(field)
        return row.fields.get(field) if path is None else value_at(row.fields, path)

    def _validated(self, fields: dict[str, Any], row: Row, own_id: str | None) -> Case:
        problems: Sequence[Problem] = list(self._options.validator.problems(fields, row.line))
        built = problems or to_case(fields, row.line, self._file, own_id)
        if isinstance(built, Case):
            return built
        raise _UnusableError("; ".join(problem.message for problem in built))


_TOOL_CALL: dict[str, str | None] = {"role": "assistant", "content": None}


def _messages(value: Any, name: str) -> list[dict[str, str | None]]:
    """Messages in the shape of a case; those without text (a tool call, an image) are left out, except at the end."""
    if not isinstance(value, list):
        raise _UnusableError(f"'{name}' is not a list of messages")
    found = [_message(message, number) for number, message in enumerate(value, start=1)]
    with_text: list[dict[str, str | None]] = [{**message} for message in found if message["content"].strip()]
    if not with_text:
        raise _UnusableError(f"'{name}' holds no text")
    return [*with_text, _TOOL_CALL] if _ends_in_tool_call(found) else with_text


def _ends_in_tool_call(messages: Sequence[Mapping[str, str]]) -> bool:
    """Whether the last thing is a reply without text: it is one that cannot be assessed, not a missing one."""
    return messages[-1]["role"] == "assistant" and not messages[-1]["content"].strip()


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
