"""How the rows of a log become cases."""

from typing import Any

import msgspec

from synthesis.cases.schema import CaseValidator
from synthesis.errors import OptionError, did_you_mean

STOP, ERROR = "stop", "error"
DEFAULT_CHECKS = ("agency_language", "unverifiable_reassurance", "topic_pivot")
FIELDS = ("assistant", "checks", "expected", "id", "lang", "messages", "notes", "tags", "user")


class RowOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """How rows are to be read, as a user asked for it; empty and None where they did not."""

    columns: dict[str, str] = {}  # field of a case -> its name in the file
    checks: tuple[str, ...] = ()  # for rows that name none
    on_bad_row: str | None = None

    @property
    def asks_for_log(self) -> bool:
        """Whoever maps fields or names checks has rows that are no whole cases."""
        return bool(self.columns or self.checks)

    def for_logs(self, validator: CaseValidator, *, any_id: bool = False) -> "LogOptions":
        return LogOptions(validator, self.checks or DEFAULT_CHECKS, self.columns, any_id)

    def shown(self) -> dict[str, Any]:
        """What the report says of them: only what was asked for."""
        asked = {"map": self.columns, "checks": list(self.checks), "on_bad_row": self.on_bad_row}
        return {name: value for name, value in asked.items() if value}


class LogOptions(msgspec.Struct, frozen=True):
    """What to make of a log: the schema for its cases, the checks for rows that name none, the names of fields."""

    validator: CaseValidator
    checks: tuple[str, ...] = DEFAULT_CHECKS
    columns: dict[str, str] = {}
    any_id: bool = False  # ids as the rows have them, of any shape, and twice if they stand there twice


def parse_map(text: str) -> dict[str, str]:
    """`user=prompt,assistant=completion` as field -> name in the file."""
    columns: dict[str, str] = {}
    for pair in text.split(","):
        field, equals, name = (part.strip() for part in pair.partition("="))
        if not (field and equals and name):
            raise OptionError(f"--map cannot read '{pair}'", hint="Write it as --map user=prompt,assistant=completion.")
        if field not in FIELDS:
            raise OptionError(f"--map: a case has no field '{field}'", hint=did_you_mean(field, FIELDS))
        if field in columns:
            raise OptionError(f"--map names '{field}' twice", hint="Name each field once.")
        columns[field] = name
    if "messages" in columns and ("user" in columns or "assistant" in columns):
        raise OptionError("--map names both 'messages' and 'user' or 'assistant'", hint="Choose one of the two.")
    return columns
