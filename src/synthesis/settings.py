"""Defaults, and settings from the nearest `synthesis.toml` or `[tool.synthesis]` in `pyproject.toml`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from synthesis.errors import Place, SettingsError, did_you_mean
from synthesis.lazy import regex

# The checks of conversations that name none. Each check says itself whether it applies to a reply.
DEFAULT_CHECKS = "all"

# Authored: somebody wrote the case and named its checks. Traffic: real conversations, in which nobody asked for any.
AUTHORED, TRAFFIC = "authored", "traffic"
PROFILES = (AUTHORED, TRAFFIC)

# Who finds signals: rules and the learned reader together, or rules alone.
LEARNED, RULES = "learned", "rules"
READERS = (LEARNED, RULES)
FORMER_PROFILES = {"default": AUTHORED, "audit": TRAFFIC}  # names that version 0.1 used

JUDGED_RUNS = "data/evaluation/answer-synthesis"  # the folder that holds the folders of judged runs


# key -> the type of its value
KEYS: Mapping[str, Any] = {
    "cases": list,
    "map": (str, list),
    "checks": (str, list),
    "on-bad-row": str,
    "schema": str,
    "out": str,
    "fail-on": (int, str),
    "rules": list,
    "disable": list,
    "no-text": bool,
    "profile": str,
    "reader": str,
    "lang": str,
    "save": bool,
    "save-text": bool,
    "history": str,
}
_HEADER = regex(r"\s*\[\s*([\w.\s-]+?)\s*\]")
_KEY = regex(r"""\s*["']?([\w-]+)["']?\s*=""")
_PATHS = ("cases", "schema", "out", "rules", "history")
_NAMES = {
    list: "a list of texts",
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    (int, str): "a whole number or a text",
    (str, list): "a text or a list of texts",
}


class Settings(NamedTuple):
    """The values in force, the files they came from, and where in them each value is."""

    values: dict[str, Any]
    files: tuple[str, ...] = ()
    places: Mapping[str, Place] = {}


def find_settings(start: Path) -> Settings:
    """The settings of the nearest folder, from `start` upward, that has any."""
    for folder in (start, *start.parents):
        found = [
            _read(folder / "pyproject.toml", ("tool", "synthesis")),
            _read(folder / "synthesis.toml", ()),
        ]
        present = [settings for settings in found if settings is not None]
        if present:
            merged = {key: value for settings in present for key, value in settings.values.items()}
            places = {key: place for settings in present for key, place in settings.places.items()}
            return Settings(merged, tuple(file for settings in present for file in settings.files), places)
    return Settings({})


def _read(path: Path, section: tuple[str, ...]) -> Settings | None:
    """The settings in one file; None if it is missing or has no settings for Synthesis."""
    if not path.is_file():
        return None
    import tomllib  # only where there is a file

    try:
        text = path.read_text(encoding="utf-8")
        table: Any = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot be read: {error}", place=Place(str(path))) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"is not valid TOML: {error}", place=Place(str(path))) from None
    for name in section:
        table = table.get(name) if isinstance(table, dict) else None
    if table is None:
        return None
    places = {key: Place(str(path), _line(key, text, ".".join(section))) for key in _table(table, path)}
    values = {key: _value(key, value, places[key]) for key, value in table.items()}
    return Settings(values, (str(path),), places)


def _line(key: str, text: str, section: str) -> int | None:
    """Where a key is set, which the TOML reader does not tell; None where it is written in another way."""
    here = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            here = header[1].replace(" ", "")
        if here == section and (found := _KEY.match(line)) and found[1] == key:
            return number
    return None


def _table(table: Any, path: Path) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise SettingsError("the settings are not a table", place=Place(str(path)))
    return table


def _value(key: str, value: Any, place: Place) -> Any:
    if key not in KEYS:
        raise SettingsError(f"there is no setting '{key}'", place=place, hint=did_you_mean(key, KEYS))
    wanted = KEYS[key]
    if wanted is list and isinstance(value, str):
        value = [value]
    fits = type(value) in (wanted if isinstance(wanted, tuple) else (wanted,))
    fits = fits and (type(value) is not list or all(isinstance(item, str) for item in value))
    if not fits:
        raise SettingsError(f"'{key}' must be {_NAMES[wanted]}, not {value!r}", place=place)
    if key == "checks" and isinstance(value, list):
        return ",".join(value)
    return _resolved(value, Path(place.file).parent) if key in _PATHS else value


def _resolved(value: Any, folder: Path) -> Any:
    """Paths in a settings file are relative to its folder."""
    if isinstance(value, list):
        return [_resolved(item, folder) for item in value]
    return value if value.startswith("bundled:") or "://" in value else str(folder / value)
