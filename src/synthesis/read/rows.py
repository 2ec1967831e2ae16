"""A row of a log, in whatever shape, becomes a case, or a problem that says why it cannot."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import OptionError, Problem, did_you_mean, shorten
from synthesis.lazy import regex
from synthesis.model import Case
from synthesis.read.cases import ROLES, CaseValidator, is_unicode, side_of, text_of, to_case
from synthesis.read.lines import MOST_LINE, Row
from synthesis.read.mapping import (
    CONVERSATION,
    FIELDS,
    MESSAGE,
    MISSING,
    ROLE,
    TEXT,
    TIME,
    column_of,
    decoded,
    require_whole_messages,
    time_column,
    value_at,
)
from synthesis.read.shapes import (
    UnusableError,
    content_of,
    exchange_of,
    id_column,
    is_packed,
    messages_of,
    probable_map,
    recognised,
    role_of,
    shape_of,
)

STOP, KEEP_AS_ERROR = "stop", "error"
_OF_MESSAGES = "with conversation=NAME,role=NAME,text=NAME where a row is one message"


class LogOptions(msgspec.Struct, frozen=True):
    """What to make of a log: the schema for its cases, the checks for rows that name none, the names of fields."""

    validator: CaseValidator
    checks: tuple[str, ...] = ()  # none: all that there are
    columns: dict[str, str] = {}
    most_line: int = MOST_LINE  # bytes of a row, in whatever format
    sort: bool = False  # rows by their conversation, where these are not neighbours
    facts: tuple[str, ...] = ()  # columns that a case keeps, for figures by them

    @property
    def row_checks(self) -> tuple[str, ...]:
        """The checks of a row that names none."""
        return self.checks or self.validator.checks


def require_columns(header: Collection[str], options: LogOptions, path: Path | str, likely: str | None = None) -> None:
    """A table without the columns that were named could only give errors, so it is refused as a whole.

    `likely` is the map that its first rows suggest; None where nobody looked at them.
    """
    columns = options.columns
    require_whole_messages(columns, path)
    shape = None if _is_mapped(columns) else shape_of(tuple(header))
    # Each message of a list may have a time of its own.
    in_messages = "messages" in columns or (shape is not None and not shape.pair)
    wanted = [name for field, name in columns.items() if field != TIME or not in_messages]
    absent = [name for name in (*wanted, *options.facts) if column_of(name, header) is None]
    if TEXT not in columns and shape is None and "messages" not in columns:
        absent += [side for side in ("user", "assistant") if side not in columns and side not in header]
    if absent:
        known = did_you_mean(absent[0], filter(None, header))
        if likely is None:
            likely = probable_map([name for name in header if name and is_unicode(name)])
        hint = f"Name the columns with --map {likely or 'user=NAME,assistant=NAME'}, or {_OF_MESSAGES}. {known}"
        raise OptionError(f"{path} has no column '{absent[0]}'", hint=hint)


def _is_mapped(columns: Mapping[str, str]) -> bool:
    """Whether the map says where the conversation is, so that nothing has to be recognised."""
    return not {"user", "assistant", "messages", TEXT}.isdisjoint(columns)


def needed_columns(present: Collection[str], options: LogOptions, keep: Iterable[str] = ()) -> list[str]:
    """The columns that a case can be made of, and those to be kept, in the order of the file."""
    paths = {options.columns.get(field, field) for field in FIELDS} | {*options.facts}
    paths |= {options.columns[field] for field in (*MESSAGE, TIME) if field in options.columns}
    wanted = {column_of(path, present) for path in paths if path in options.columns.values() or path in options.facts}
    wanted |= {*paths, *keep, id_column(tuple(present))}
    if CONVERSATION in options.columns:
        wanted.add(time_column(options.columns, present))
    shape = None if _is_mapped(options.columns) else shape_of(tuple(present))
    wanted |= {*shape.columns} if shape else {"conversations"}
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
    found = tuple(moment(value_at(message, name)) for message in _spoken(_listed(fields, columns)))
    if case.messages and not case.messages[-1].content:
        found = (*found, None)  # of the tool call that the conversation ends with
    return found if len(found) == number else (None,) * number


def _listed(fields: Mapping[str, Any], columns: Mapping[str, str]) -> list[Any]:
    """The row's messages as they are written there, also from a cell that holds them as JSON text."""
    if "messages" in columns:
        listed = decoded(value_at(fields, columns["messages"]))
        return listed if isinstance(listed, list) else []
    shape = None if _is_mapped(columns) else recognised(fields)
    return [] if shape is None or shape.pair else shape.read(fields, False)


def _spoken(messages: Iterable[Any]) -> Iterable[Mapping[str, Any]]:
    """The messages that a case keeps: those with a text."""
    for message in messages:
        if isinstance(message, Mapping) and (text_of(content_of(message)) or "").strip():
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


CASE_ID = regex(r"[A-Z]+-[0-9]+")
_MADE = "ROW-"
_LISTS = ("checks", "tags")
_COPIED = ("lang", "notes")
SIDES = ("user", "assistant")


def is_case_id(name: object) -> bool:
    """Whether this is an id as cases have it; `ROW-1` is what a row without one is called."""
    return isinstance(name, str) and CASE_ID.fullmatch(name) is not None and not name.startswith(_MADE)


class Converter:
    """Turns the rows of one file into cases, each called what its row is called; a log may repeat an id."""

    def __init__(self, options: LogOptions, file: str, *, cells: bool = False) -> None:
        self._options = options
        self._file = file
        self._cells = cells  # of a table: a text that is JSON is a list or an object there, and nothing that was said
        self._is_mapped = _is_mapped(options.columns)

    def case(self, row: Row) -> Case | Problem:
        made = f"{_MADE}{row.number}"
        own: str | None = None
        try:
            own = self._own_id(row)
            # The schema would refuse an id of another shape.
            found = self._validated({"id": made, **self._fields(row)}, row, None if is_case_id(own) else own)
        except UnusableError as reason:
            return Problem(row.line, "unusable row", str(reason), own or made, None if is_case_id(own) else own)
        found = with_facts(found, row.fields, self._options)
        return msgspec.structs.replace(found, id=own) if own else found

    def _own_id(self, row: Row) -> str | None:
        """What the row calls itself; None where it has no id."""
        path = self._options.columns.get("id")
        if path is None:
            column = id_column(tuple(row.fields))
            given = None if column is None else row.fields[column]
        else:
            given = value_at(row.fields, path)
        if given is None or given == "":
            return None
        if isinstance(given, list | dict) or not is_unicode(str(given)):
            if "id" in self._options.columns:
                raise UnusableError(f"its id {_shown(given)} is neither a text nor a number")
            return None
        return str(given)

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
        if "messages" in columns:
            return {"messages": _messages(self._mapped_list(row), columns["messages"])}
        shape = None if self._is_mapped else recognised(row.fields)
        if shape is None:
            asked, replied = (columns.get(side, side) for side in SIDES)
            return self._exchange(asked, replied, *(self._present(row, side) for side in SIDES))
        if shape.pair:
            return self._exchange(*shape.pair, *(row.fields.get(name) for name in shape.pair))
        return {"messages": _messages(shape.read(row.fields, self._cells), shape.columns[0])}

    def _exchange(self, asked: str, replied: str, user: Any, assistant: Any) -> dict[str, Any]:
        """Two texts, or the messages in what is not a text: a request, a response, or a list of messages."""
        may_be_packed = self._cells or (asked, replied) != SIDES
        if (
            isinstance(user, str)
            and isinstance(assistant, str)
            and not (may_be_packed and (is_packed(user) or is_packed(assistant)))
        ):
            return {"user": _required(user, asked), "assistant": _required(assistant, replied)}
        return {"messages": _messages(exchange_of(user, assistant, asked, replied, strict=self._cells), asked)}

    def _mapped_list(self, row: Row) -> Any:
        name, value = self._options.columns["messages"], decoded(self._present(row, "messages"))
        return messages_of(value, "user", name, strict=self._cells) if isinstance(value, Mapping) else value

    def _side(self, row: Row) -> str:
        """Who says the one message of the row."""
        given = self._present(row, ROLE)
        side = side_of(given)
        if side is None:
            name = self._options.columns[ROLE]
            hint = "It may be user, customer, visitor, assistant, agent, bot, system or a word like these."
            raise UnusableError(f"has the unknown role {_shown(given)} (in '{name}'). {hint}")
        return side

    def time(self, row: Row) -> float | None:
        """When the row of a conversation was written, where it says so."""
        name = time_column(self._options.columns, row.fields)
        return None if name is None else moment(value_at(row.fields, name))

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
            raise UnusableError(f"has no '{name}' ({self._likely(row, field)}; the row has: {_keys(row.fields)})")
        return value

    def _likely(self, row: Row, field: str) -> str:
        """The map that would name what is missing: the most probable one, where nothing was mapped."""
        likely = "" if self._is_mapped or {"user", "assistant"} & row.fields.keys() else probable_map(row.fields)
        return f"--map {likely} may name it" if likely else f"--map {field}=NAME names it"

    def _text(self, row: Row, field: str) -> str:
        name, value = self._options.columns[field], self._present(row, field)
        return _required(text_of(decoded(value) if self._cells and is_packed(value) else value), name)

    def _value(self, row: Row, field: str) -> Any:
        path = self._options.columns.get(field)
        return row.fields.get(field) if path is None else value_at(row.fields, path)

    def _validated(self, fields: dict[str, Any], row: Row, own_id: str | None) -> Case:
        problems: Sequence[Problem] = list(self._options.validator.problems(fields, row.line))
        built = problems or to_case(fields, row.line, self._file, own_id)
        if isinstance(built, Case):
            return built
        raise UnusableError("; ".join(problem.message for problem in built))


def _required(text: str | None, name: str) -> str:
    if text is None or not is_unicode(text):
        raise UnusableError(f"'{name}' is not text")
    if not text:
        raise UnusableError(f"'{name}' is empty")
    return text


_TOOL_CALL: dict[str, str | None] = {"role": "assistant", "content": None}


def _messages(value: Any, name: str) -> list[dict[str, str | None]]:
    """Messages in the shape of a case; those without text (a tool call, an image) are left out, except at the end."""
    if not isinstance(value, list):
        raise UnusableError(f"'{name}' is not a list of messages")
    found = [_message(message, number) for number, message in enumerate(value, start=1)]
    with_text: list[dict[str, str | None]] = [{**message} for message in found if message["content"].strip()]
    if not with_text:
        raise UnusableError(f"'{name}' holds no text")
    return [*with_text, _TOOL_CALL] if _ends_in_tool_call(found) else with_text


def _ends_in_tool_call(messages: Sequence[Mapping[str, str]]) -> bool:
    """Whether the last thing is a reply without text: it is one that cannot be assessed, not a missing one."""
    return messages[-1]["role"] == "assistant" and not messages[-1]["content"].strip()


def _message(message: Any, number: int) -> dict[str, str]:
    if not isinstance(message, Mapping):
        raise UnusableError(f"message {number} is not an object")
    role, content = message.get("role"), message.get("content")
    if not (isinstance(role, str) and isinstance(content, str) and content):  # which nearly all messages have
        role, content = role_of(message), content_of(message)
    side = side_of(role)
    if side is None:
        raise UnusableError(f"message {number} has the unknown role {_shown(role)}. {did_you_mean('', ROLES)}")
    text = text_of(content)
    if text is None or not is_unicode(text):
        raise UnusableError(f"message {number}: its content is not text")
    return {"role": side, "content": text}


def _names(value: Any) -> Any:
    """A list as it is; the cell of a table as names with commas between them."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


def _keys(fields: Mapping[str, Any]) -> str:
    return shorten(", ".join(sorted(map(str, fields))) or "nothing")


def _shown(value: Any) -> str:
    return shorten(repr(value), 40)
