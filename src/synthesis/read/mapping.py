"""The `--map` language: where in a row each field is, as `field=column` or `field=dotted.path[0].to.value`.

One language for every command that reads rows. A column whose name is exactly what was written always wins, so names
that hold dots or brackets keep working.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import OptionError, did_you_mean
from synthesis.lazy import regex
from synthesis.read.cases import is_unicode
from synthesis.read.lines import require_few_values

MISSING: Any = object()
_NO_LETTER = regex(r"[\W_]+")
_MOST_DIGITS = 9  # of a position in a list


# The two sides have one name where replies are checked, and another where answers are judged: both are understood.
_SAME = {"user": "question", "assistant": "answer", "question": "user", "answer": "assistant"}


def parse_map(given: str | Iterable[str], known: Collection[str]) -> dict[str, str]:
    """`user=prompt,assistant=choices[0].text` as field -> path; of repeated options, a later one wins."""
    columns: dict[str, str] = {}
    for text in [given] if isinstance(given, str) else given:
        columns |= {_field(field, known): path for field, path in _parsed(text).items()}
    require_known(columns, known)
    return columns


def _field(name: str, known: Collection[str]) -> str:
    same = _SAME.get(name, name)
    return same if name not in known and same in known else name


def _parsed(text: str) -> dict[str, str]:
    columns: dict[str, str] = {}
    for pair in text.strip().removesuffix(",").split(","):
        field, equals, path = (part.strip() for part in pair.partition("="))
        if not (field and equals and path):
            raise OptionError(f"--map cannot read '{pair}'", hint="Write it as FIELD=COLUMN, several with commas.")
        if field in columns:
            raise OptionError(f"--map names '{field}' twice", hint="Name each field once.")
        columns[field] = path
    return columns


def require_known(columns: Iterable[str], known: Collection[str]) -> None:
    for field in columns:
        if field not in known:
            raise OptionError(f"--map: there is no field '{field}'", hint=did_you_mean(field, known))


def value_at(row: Mapping[str, Any], path: str, default: Any = None) -> Any:
    """The value of a column, or of a path into it; a cell that holds JSON as text is decoded on the way."""
    if path in row:
        return row[path]
    value: Any = row
    for part in _parts(path):
        value = _step(decoded(value), part)
        if value is MISSING:
            return default
    return value


@lru_cache(maxsize=1024)
def _parts(path: str) -> tuple[str, ...]:
    return tuple(path.replace("[", ".").replace("]", "").split("."))


def _step(value: Any, part: str) -> Any:
    if isinstance(value, Mapping):
        key = part if part in value else called(part, value)
        return MISSING if key is None else value[key]
    is_place = isinstance(value, list) and part.isdecimal() and len(part) <= _MOST_DIGITS
    return value[int(part)] if is_place and int(part) < len(value) else MISSING


def column_of(path: str, names: Collection[str]) -> str | None:
    """The column that a path begins with; None if there is no such column."""
    if path in names:
        return path
    first = _parts(path)[0]
    return first if first in names else called(first, names)


def called(name: str, names: Iterable[str]) -> str | None:
    """The first of these names that is the same but for upper and lower case, spaces and punctuation."""
    wanted = fold(name)
    return next((found for found in names if fold(str(found)) == wanted), None)


@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    return _NO_LETTER.sub("", name).casefold()


def decoded(value: Any) -> Any:
    """The value, decoded if it is a text that holds a JSON array or object."""
    if not looks_like_json(value):
        return value
    try:
        require_few_values(value)
        return msgspec.json.decode(value)
    except (ValueError, RecursionError):  # which the errors of msgspec and of UTF-8 are, too
        return value


def unquoted(text: str) -> str:
    """The text, or the one that it is as a JSON string: exports of traces put every cell into quotation marks."""
    if not (len(text) > 1 and text[0] == text[-1] == '"'):
        return text
    try:
        return msgspec.json.decode(text, type=str)
    except ValueError:
        return text


def looks_like_json(value: Any) -> bool:
    """Whether it is a text that begins as a JSON array or object does."""
    return isinstance(value, str) and value.lstrip().startswith(("[", "{"))


# What a map can say about a case, and which fields go together.


FIELDS = ("assistant", "checks", "expected", "id", "lang", "messages", "notes", "tags", "user")
# Only where the map names it: many logs call a list of messages so.
CONVERSATION = "conversation"
# With a conversation, for logs that have one row per message.
ROLE, TEXT = "role", "text"
MESSAGE = (CONVERSATION, ROLE, TEXT)
TIME = "time"  # not a field of a case: when it was said, for figures over time
KNOWN = (*FIELDS, *MESSAGE, TIME)
_OTHER_SHAPES = ("assistant", "messages", "user")


def parse_case_map(given: str | Iterable[str]) -> dict[str, str]:
    """The map of a log; OptionError for a field that no case has, or for fields that do not go together."""
    return checked_columns(parse_map(given, KNOWN))


def checked_columns(columns: dict[str, str]) -> dict[str, str]:
    """The same map, where it makes sense."""
    require_known(columns, KNOWN)
    _require_one_shape(columns)
    return columns


def _require_one_shape(columns: dict[str, str]) -> None:
    """A row is one message, an exchange or a list of messages; each part has a column of its own."""
    if "messages" in columns and ("user" in columns or "assistant" in columns):
        raise OptionError("--map names 'messages' together with 'user' or 'assistant'", hint="Choose one of the two.")
    for one in (ROLE, TEXT):
        for other in _OTHER_SHAPES if one in columns else ():
            if other in columns:
                hint = f"A row is one message ({', '.join(MESSAGE)}) or an exchange (user, assistant): choose one."
                raise OptionError(f"--map names '{one}' together with '{other}'", hint=hint)
    texts = {field: columns[field] for field in ("user", "assistant", *MESSAGE) if field in columns}
    for field, name in texts.items():
        twice = [other for other in texts if other < field and texts[other] == name]
        if twice:
            hint = "Name a column for each. If a row is one message: --map conversation=NAME,role=NAME,text=NAME."
            raise OptionError(f"--map names '{name}' as '{twice[0]}' and as '{field}'", hint=hint)
    if "id" in columns and CONVERSATION in columns:
        hint = "The name of the conversation is its id: leave out 'id'."
        raise OptionError("--map names 'conversation' together with 'id'", hint=hint)


# Which columns of a file hold a message per row, by the names that exports of help desks and messengers give them.


# The first that a file has counts: a type of sender says more about the side than a name does.
_NAMES = {
    CONVERSATION: "conversation conversation_id conv_id chat chat_id thread thread_id ticket ticket_id session "
    "session_id dialog dialog_id dialogue dialogue_id room_id channel_id channel",
    ROLE: "role sender_type author_type sender_role author_role participant_type user_type speaker sender author "
    "participant from direction",
    TEXT: "text content body plain_body message_text message_body message value utterance parts "
    "comment comment_body note",
}


# When a row was written, for its place in the conversation.
_TIMES = ["sent_at", "timestamp", "created_at", "sent", "created", "datetime", "date_time", "time", "date"]


def time_column(columns: Mapping[str, str], names: Collection[str]) -> str | None:
    """Where a row of a conversation has its time: what the map names, else a column with a usual name."""
    return columns.get(TIME) or first_called(_TIMES, [name for name in names if isinstance(name, str)])


def with_message_columns(columns: dict[str, str], present: Iterable[str]) -> dict[str, str]:
    """The map, completed by the columns of a message per row if the file has all of them and the map allows it."""
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


def first_called(words: Iterable[str], names: Collection[str]) -> str | None:
    """The column that is called by the first of these words."""
    return next(filter(None, (called(word, names) for word in words)), None)
