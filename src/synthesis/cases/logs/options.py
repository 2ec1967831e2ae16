"""How the rows of a log become cases."""

import msgspec

from synthesis.cases.blocks import MOST_LINE
from synthesis.cases.schema import CaseValidator
from synthesis.defaults import DEFAULT_CHECKS
from synthesis.errors import OptionError, did_you_mean

STOP, ERROR = "stop", "error"
FIELDS = ("assistant", "checks", "expected", "id", "lang", "messages", "notes", "tags", "user")

# Only where the map names it: many logs call a list of messages so.
CONVERSATION = "conversation"
TIME = "time"  # no field of a case: when it was said, for figures over time


class LogOptions(msgspec.Struct, frozen=True):
    """What to make of a log: the schema for its cases, the checks for rows that name none, the names of fields."""

    validator: CaseValidator
    checks: tuple[str, ...] = DEFAULT_CHECKS
    columns: dict[str, str] = {}
    any_id: bool = False  # ids as the rows have them: of any shape, and repeated if the rows repeat them
    most_line: int = MOST_LINE  # bytes of a row, in whatever format
    facts: tuple[str, ...] = ()  # columns that a case keeps, for figures by them


def parse_map(text: str) -> dict[str, str]:
    """`user=prompt,assistant=completion` as field -> name in the file."""
    columns: dict[str, str] = {}
    for pair in text.split(","):
        field, equals, name = (part.strip() for part in pair.partition("="))
        if not (field and equals and name):
            raise OptionError(f"--map cannot read '{pair}'", hint="Write it as --map user=prompt,assistant=completion.")
        if field not in (*FIELDS, CONVERSATION, TIME):
            hint = did_you_mean(field, (*FIELDS, CONVERSATION, TIME))
            raise OptionError(f"--map: a case has no field '{field}'", hint=hint)
        if field in columns:
            raise OptionError(f"--map names '{field}' twice", hint="Name each field once.")
        columns[field] = name
    if "messages" in columns and ("user" in columns or "assistant" in columns):
        raise OptionError("--map names 'messages' together with 'user' or 'assistant'", hint="Choose one of the two.")
    if "id" in columns and CONVERSATION in columns:
        hint = "The name of the conversation is its id: leave out 'id'."
        raise OptionError("--map names 'conversation' together with 'id'", hint=hint)
    return columns
