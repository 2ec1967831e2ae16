"""Values as sources give them (JSON in a text cell, database types) become fields of a row."""

import math
from datetime import UTC, date, datetime, time
from typing import Any

from synthesis.judge.testset.fields import decoded, looks_like_json

MILLISECONDS_FROM = 100_000_000_000  # as seconds this would be the year 5138


class MalformedValueError(Exception):
    """A value has the wrong kind; the caller, who knows its place, reports it."""


def from_json(value: Any, what: str) -> Any:
    """The value, decoded if it is a text that holds a JSON array or object."""
    found = decoded(value)
    if isinstance(found, str) and looks_like_json(found):
        raise MalformedValueError(f"{what} looks like JSON but is not valid")
    return found


def as_number(value: object) -> object:
    """A number that came as a text, as a number; anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    if not math.isfinite(number):
        return value
    return int(number) if number.is_integer() else number


def as_moment(value: object) -> datetime | None:
    """A date, time stamp, ISO text or epoch (seconds or milliseconds) in UTC; None if it is none of these."""
    value = as_number(value)
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        elif isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if abs(value) >= MILLISECONDS_FROM else value
            value = datetime.fromtimestamp(seconds, UTC)
        elif isinstance(value, date) and not isinstance(value, datetime):
            value = datetime.combine(value, time())
        return _in_utc(value) if isinstance(value, datetime) else None
    except (ValueError, OverflowError, OSError):
        return None


def _in_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
