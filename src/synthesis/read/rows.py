"""A row of a log, in whatever shape, becomes a case, or a problem that says why it cannot."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from synthesis.errors import OptionError, Problem, did_you_mean, shorten
from synthesis.model import Case
from synthesis.read.cases import ROLES, CaseValidator, is_unicode, side_of, text_of, to_case
from synthesis.read.lines import MOST_LINE
from synthesis.settings import DEFAULT_CHECKS

STOP, KEEP_AS_ERROR = "stop", "error"
FIELDS = ("assistant", "checks", "expected", "id", "lang", "messages", "notes", "tags", "user")

# Only where the map names it: many logs call a list of messages so.
CONVERSATION = "conversation"
# With a conversation, of logs that have a row for each message.
ROLE, TEXT = "role", "text"
MESSAGE = (CONVERSATION, ROLE, TEXT)
TIME = "time"  # no field of a case: when it was said, for figures over time
_OTHER_SHAPES = ("assistant", "messages", "user")


class LogOptions(msgspec.Struct, frozen=True):
    """What to make of a log: the schema for its cases, the checks for rows that name none, the names of fields."""

    validator: CaseValidator
    checks: tuple[str, ...] = DEFAULT_CHECKS
    columns: dict[str, str] = {}
    any_id: bool = False  # ids as the rows have them: of any shape, and repeated if the rows repeat them
    most_line: int = MOST_LINE  # bytes of a row, in whatever format
    sort: bool = False  # rows by their conversation, where these are not neighbours
    facts: tuple[str, ...] = ()  # columns that a case keeps, for figures by them


def parse_map(text: str) -> dict[str, str]:
    """`user=prompt,assistant=completion` as field -> name in the file."""
    columns: dict[str, str] = {}
    for pair in text.split(","):
        field, equals, name = (part.strip() for part in pair.partition("="))
        if not (field and equals and name):
            raise OptionError(f"--map cannot read '{pair}'", hint="Write it as --map user=prompt,assistant=completion.")
        if field in columns:
            raise OptionError(f"--map names '{field}' twice", hint="Name each field once.")
        columns[field] = name
    return checked_columns(columns)


def checked_columns(columns: dict[str, str]) -> dict[str, str]:
    """The same map; OptionError for a field that no case has, or for fields that do not go together."""
    for field in columns:
        if field not in (*FIELDS, *MESSAGE, TIME):
            hint = did_you_mean(field, (*FIELDS, *MESSAGE, TIME))
            raise OptionError(f"--map: a case has no field '{field}'", hint=hint)
    _require_one_shape(columns)
    return columns


def _require_one_shape(columns: dict[str, str]) -> None:
    """Fields that say what was said in one way only, each in a column of its own."""
    if "messages" in columns and ("user" in columns or "assistant" in columns):
        raise OptionError("--map names 'messages' together with 'user' or 'assistant'", hint="Choose one of the two.")
    for one in (ROLE, TEXT):
        for other in _OTHER_SHAPES if one in columns else ():
            if other in columns:
                hint = f"A row is one message ({', '.join(MESSAGE)}) or an exchange (user, assistant): choose one."
                raise OptionError(f"--map names '{one}' together with '{other}'", hint=hint)
    said = {field: columns[field] for field in ("user", "assistant", *MESSAGE) if field in columns}
    for field, name in said.items():
        twice = [other for other in said if other < field and said[other] == name]
        if twice:
            hint = "Name a column for each. If a row is one message: --map conversation=NAME,role=NAME,text=NAME."
            raise OptionError(f"--map names '{name}' as '{twice[0]}' and as '{field}'", hint=hint)
    if "id" in columns and CONVERSATION in columns:
        hint = "The name of the conversation is its id: leave out 'id'."
        raise OptionError("--map names 'conversation' together with 'id'", hint=hint)


# What a row tells beside the conversation: when it was said, and the columns that figures are asked for by.


MOST_CHARACTERS = 80  # of a value: what is longer is a text, and no group of conversations
_MILLISECONDS = 1e11  # an epoch above that is not in seconds: it would be the year 5138
_LAST = 4102444800.0  # 2100-01-01


def with_facts(case: Case, fields: Mapping[str, Any], options: LogOptions) -> Case:
    """The case with its times and the columns that were asked for; the same case where nothing was."""
    name = options.columns.get(TIME)
    if name is None and not options.facts:
        return case
    facts = {column: _value(fields.get(column)) for column in options.facts}
    return msgspec.structs.replace(case, times=_times(case, fields, name) if name else (), facts=facts)


def _times(case: Case, fields: Mapping[str, Any], name: str) -> tuple[float | None, ...]:
    """The row's own time for all its messages, else the time that each message has."""
    number = len(case.messages) or 2  # a row without messages is what the user said, and the reply
    if name in fields:
        return (moment(fields[name]),) * number
    messages = next((value for value in fields.values() if isinstance(value, list)), [])
    found = tuple(moment(message.get(name)) for message in _spoken(messages))
    return found if len(found) == number else (None,) * number


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


# Which columns of a file hold a message per row, by the names that exports of help desks and messengers give them.


# The first that a file has counts: a type of sender says more about the side than a name does.
_NAMES = {
    CONVERSATION: "conversation conversation_id conv_id chat chat_id thread thread_id ticket ticket_id session "
    "session_id dialog dialog_id dialogue dialogue_id room_id channel_id channel",
    ROLE: "role sender_type author_type sender_role author_role participant_type user_type speaker sender author "
    "participant from direction",
    TEXT: "text content body plain_body message_text message_body message value utterance",
}
_NO_LETTER = re.compile(r"[^a-z0-9]")


def with_message_columns(columns: dict[str, str], present: Iterable[str]) -> dict[str, str]:
    """The map, completed by the columns of a message per row if the file has all of them and nothing else is said."""
    names = [name for name in present if is_unicode(name)]  # another could not be named in a report
    if any(field in columns for field in ("user", "assistant", "messages", "id")):
        return columns
    if not (ROLE in columns or TEXT in columns) and _holds_exchanges(names):
        return columns
    free = [name for name in names if name not in columns.values()]
    found = {field: columns.get(field) or first_called(_NAMES[field].split(), free) for field in MESSAGE}
    whole = {field: name for field, name in found.items() if name is not None}
    if len(whole) < len(MESSAGE) or len({*whole.values()}) < len(MESSAGE):
        return columns
    return {**columns, **whole}


def require_whole_messages(columns: Collection[str], path: Path | str) -> None:
    """OptionError for a map that says of a message where its role or its text is, but not all that belongs to it."""
    missing = [field for field in MESSAGE if field not in columns]
    if missing and (ROLE in columns or TEXT in columns):
        hint = "Where a row is one message, all of them are needed: --map conversation=NAME,role=NAME,text=NAME."
        raise OptionError(f"{path}: no column is named for '{missing[0]}'", hint=hint)


def _holds_exchanges(names: Collection[str]) -> bool:
    return "messages" in names or "conversations" in names or {"user", "assistant"} <= {*names}


def first_called(known: Iterable[str], names: Iterable[str]) -> str | None:
    """The column that is called by the first of these words: in any case, with or without hyphens and underscores."""
    plain = {_plain(name): name for name in reversed([*names])}
    return next((plain[_plain(word)] for word in known if _plain(word) in plain), None)


def _plain(name: str) -> str:
    return _NO_LETTER.sub("", name.lower())


# A row of a log, in whatever shape, becomes a case, or a problem that says why it cannot.


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
