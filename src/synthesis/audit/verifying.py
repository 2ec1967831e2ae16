"""Whether an audit can be had again: the same files, rules, version and options give the same figures."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import InputError, Place

MOST = 20  # differences that are named
_LOGS = ("input", "sha256")
_OTHER_LOGS = "These are not the logs that the document was made of, or not all of them: every figure may differ."
_NAMES = ("measure", "value", "check")
_PLACES = (_LOGS, ("rules", "hash"), ("tool", "version"), ("profile",))


def load_audit(path: Path) -> dict[str, Any]:
    """The document in a file; InputError says why it is not one."""
    try:
        found = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=Place(str(path)), hint="Check the path.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is not valid JSON: {error}", place=Place(str(path)), hint=_HINT) from None
    if not isinstance(found, dict) or not {"format_version", "options", "checks", "crisis"} <= found.keys():
        raise InputError("is not an audit", place=Place(str(path)), hint=_HINT)
    return found


def differences(stored: Mapping[str, Any], made: Mapping[str, Any]) -> list[str]:
    """What differs, conditions first: other rules or another input explain every other difference."""
    found = list(_differences(stored, made, ()))
    leading = [each for each in found if each[0] in _PLACES]
    rest = [each for each in found if each[0] not in _PLACES]
    told = [f"{'.'.join(place)}: {before} in the document, {now} now" for place, before, now in (*leading, *rest)]
    return [_OTHER_LOGS, *told] if any(place == _LOGS for place, _, _ in found) else told


def _differences(one: Any, other: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}):
            yield from _differences(one.get(key), other.get(key), (*place, str(key)))
    elif _is_list(one) and _is_list(other):
        yield from _differences(_named(one), _named(other), place)
    elif one != other:
        yield place, _short(one), _short(other)


def _named(items: Sequence[Any]) -> dict[str, Any]:
    """The items by their own names, so that a difference says which one it is about; else by their numbers."""
    names = [next((str(item[key]) for key in _NAMES if key in item), "") for item in items if isinstance(item, Mapping)]
    is_named = len(set(names)) == len(items) and "" not in names
    return dict(zip(names if is_named else map(str, range(len(items))), items, strict=True))


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:59]}…"


_HINT = "Give the audit.json that `synthesis audit` wrote."
