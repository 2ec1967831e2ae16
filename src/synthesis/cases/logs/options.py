"""How the rows of a log become cases."""

import msgspec

from synthesis.cases.blocks import MOST_LINE
from synthesis.cases.schema import CaseValidator
from synthesis.errors import OptionError, did_you_mean
from synthesis.settings import DEFAULT_CHECKS

STOP, ERROR = "stop", "error"
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
