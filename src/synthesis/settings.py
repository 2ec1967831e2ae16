"""Defaults, and settings from the nearest `synthesis.toml` or `[tool.synthesis]` in `pyproject.toml`."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from synthesis.errors import Place, SettingsError, did_you_mean

# The checks of conversations that name none. Each check says itself whether it applies to a reply.
DEFAULT_CHECKS = "all"

# Authored: somebody wrote the case and named its checks. Traffic: real conversations, in which nobody asked for any.
AUTHORED, TRAFFIC = "authored", "traffic"
PROFILES = (AUTHORED, TRAFFIC)
FORMER_PROFILES = {"default": AUTHORED, "audit": TRAFFIC}  # names that version 0.1 used

JUDGED_RUNS = "data/evaluation/answer-synthesis"  # the folder that holds the folders of judged runs


# key -> the type of its value
KEYS: Mapping[str, Any] = {
    "cases": list,
    "map": str,
    "checks": str,
    "on-bad-row": str,
    "schema": str,
    "out": str,
    "fail-on": (int, str),
    "rules": list,
    "disable": list,
    "no-text": bool,
    "profile": str,
    "lang": str,
    "save": bool,
    "save-text": bool,
    "history": str,
}
_PATHS = ("cases", "schema", "out", "rules", "history")
_NAMES = {
    list: "a list of texts",
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    (int, str): "a whole number or a text",
}


class Settings(NamedTuple):
    """The values in force, and the files they came from."""

    values: dict[str, Any]
    files: tuple[str, ...] = ()


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
            return Settings(merged, tuple(file for settings in present for file in settings.files))
    return Settings({})


def _read(path: Path, section: tuple[str, ...]) -> Settings | None:
    """The settings in one file; None if it is missing or has no settings for Synthesis."""
    if not path.is_file():
        return None
    try:
        table: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot be read: {error}", place=Place(str(path))) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"is not valid TOML: {error}", place=Place(str(path))) from None
    for name in section:
        table = table.get(name) if isinstance(table, dict) else None
    if table is None:
        return None
    return Settings({key: _value(key, value, path) for key, value in _table(table, path).items()}, (str(path),))


def _table(table: Any, path: Path) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise SettingsError("the settings are not a table", place=Place(str(path)))
    return table


def _value(key: str, value: Any, path: Path) -> Any:
    if key not in KEYS:
        raise SettingsError(f"there is no setting '{key}'", place=Place(str(path)), hint=did_you_mean(key, KEYS))
    wanted = KEYS[key]
    if wanted is list and isinstance(value, str):
        value = [value]
    fits = type(value) in (wanted if isinstance(wanted, tuple) else (wanted,))
    fits = fits and (wanted is not list or all(isinstance(item, str) for item in value))
    if not fits:
        raise SettingsError(f"'{key}' must be {_NAMES[wanted]}, not {value!r}", place=Place(str(path)))
    return _resolved(value, path.parent) if key in _PATHS else value


def _resolved(value: Any, folder: Path) -> Any:
    """Paths in a settings file are relative to its folder."""
    if isinstance(value, list):
        return [_resolved(item, folder) for item in value]
    return value if value.startswith("bundled:") or "://" in value else str(folder / value)
