"""What a row tells beside the conversation: when it was said, and the columns that figures are asked for by."""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any

import msgspec

from synthesis.cases.logs.options import TIME, LogOptions
from synthesis.cases.messages import text_of
from synthesis.model import Case

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
