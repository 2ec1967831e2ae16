"""Which columns of a file hold a message per row, by the names that exports of help desks and messengers give them."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from synthesis.cases.logs.options import CONVERSATION, MESSAGE, ROLE, TEXT
from synthesis.cases.messages import is_unicode
from synthesis.errors import OptionError

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
