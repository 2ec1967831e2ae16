"""Where the fields of a sample are: under the names of this project, of Ragas or of DeepEval, or where --map says."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from synthesis.errors import OptionError, did_you_mean

Raw = Mapping[str, Any]
# Field -> the names under which it is looked for; the first that holds something wins. DeepEval's `context` is the
# ideal one, so what was retrieved comes first.
NAMES = {
    "id": ("queryLogId", "id"),
    "question": ("question", "query", "user_input", "input"),
    "answer": ("answer", "answerText", "response", "actual_output"),
    "context": (
        *("retrieval_context", "retrieved_contexts", "context", "contexts"),
        *("rankedCourses", "passages", "documents"),
    ),
}


class Found(msgspec.Struct, frozen=True):
    """A field of a row: the key that it is under, empty for a mapped path, and its value."""

    key: str
    value: Any


@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    """Upper and lower case, `_` and `-` make no difference."""
    return name.replace("_", "").replace("-", "").casefold()


_FOLDED_NAMES = {field: tuple(map(fold, names)) for field, names in NAMES.items()}


def find(raw: Raw, field: str, mapping: Mapping[str, str]) -> Found | None:
    """The field of a row. Null counts only where no other name holds something."""
    if field in mapping:
        path = mapping[field]
        value = at_path(raw, path)
        return None if value is None and path not in raw else Found(path if path in raw else "", value)
    keys = {fold(str(key)): key for key in reversed(list(raw))}
    present = [keys[name] for name in _FOLDED_NAMES[field] if name in keys]
    key = next((key for key in present if raw[key] is not None), present[0] if present else None)
    return None if key is None else Found(key, raw[key])


def at_path(raw: Raw, path: str) -> Any:
    """The value of a column, or of a dotted path into JSON; numbers count list entries from 0."""
    if path in raw:
        return raw[path]
    value: Any = raw
    for part in path.split("."):
        value = decoded(value)
        if isinstance(value, Mapping):
            value = next((item for key, item in value.items() if fold(str(key)) == fold(part)), None)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def decoded(value: Any) -> Any:
    """The value, decoded if it is a text that holds a JSON array or object."""
    if not looks_like_json(value):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return value


def looks_like_json(value: Any) -> bool:
    """Whether it is a text that begins as a JSON array or object does."""
    return isinstance(value, str) and value.lstrip().startswith(("[", "{"))


def parse_mapping(text: str, known: Mapping[str, object] = NAMES) -> dict[str, str]:
    """`question=prompt,answer=steps.write.output.text` as field -> column or dotted path."""
    mapping: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        field, _, column = (side.strip() for side in part.partition("="))
        if not column:
            raise OptionError(f"'{part}' maps nothing", hint="Write it as FIELD=COLUMN, several with commas.")
        if field not in known:
            raise OptionError(f"there is no field '{field}' to map", hint=did_you_mean(field, known))
        if field in mapping:
            raise OptionError(f"--map names '{field}' twice", hint="Name each field once.")
        mapping[field] = column
    return mapping
