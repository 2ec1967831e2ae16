"""How rows of logs and tables are to be read: options and settings, read and checked."""

from collections.abc import Mapping
from typing import Any

from synthesis.cases.logs.options import ERROR, STOP, RowOptions, parse_map
from synthesis.checks.registry import checks, get_check
from synthesis.errors import OptionError, did_you_mean


def row_options(options: Mapping[str, Any], settings: Mapping[str, Any]) -> RowOptions:
    """Options override settings."""
    columns = options["columns"] or settings.get("map")
    names = options["checks"] or settings.get("checks")
    return RowOptions(
        parse_map(columns) if columns else {},
        _checks(names) if names else (),
        _reaction(options["on_bad_row"] or settings.get("on-bad-row")),
    )


def _checks(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = tuple(checks()) if names == ["all"] else tuple(dict.fromkeys(get_check(name).name for name in names))
    if not known:
        raise OptionError("--checks names no check", hint=did_you_mean("", checks()))
    return known


def _reaction(value: str | None) -> str | None:
    if value not in (None, STOP, ERROR):
        raise OptionError(f"on-bad-row must be 'stop' or 'error', not '{value}'", hint="Choose one of the two.")
    return value
