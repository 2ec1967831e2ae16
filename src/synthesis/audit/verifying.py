"""Whether an audit can be had again: the same files, rules, version and options give the same figures."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import InputError, Place

MOST = 20  # differences that are named
_PLACES = (("input", "sha256"), ("rules", "hash"), ("tool", "version"), ("profile",))


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
    return [f"{'.'.join(place)}: {before} in the document, {now} now" for place, before, now in (*leading, *rest)]


def _differences(one: Any, other: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}):
            yield from _differences(one.get(key), other.get(key), (*place, str(key)))
    elif _is_list(one) and _is_list(other) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _differences(left, right, (*place, str(number)))
    elif one != other:
        yield place, _short(one), _short(other)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:59]}…"


_HINT = "Give the audit.json that `synthesis audit` wrote."
