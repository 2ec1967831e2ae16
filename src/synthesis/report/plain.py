"""Evaluated text made safe to show: nothing in it may act on a terminal, a parser or the direction of writing."""

import unicodedata
from collections.abc import Mapping
from typing import Any

from synthesis.model.report import percent

_UNSEEN = {"Cc", "Cs", "Co", "Zl", "Zp"}
# Format characters are kept (emoji and many scripts need joiners), but not those that turn the direction of writing.
_DIRECTION = {chr(code) for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_NO_CHARACTERS = {"\ufffe", "\uffff"}
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def is_unseen(char: str) -> bool:
    """Whether a character shows nothing by itself and could deceive or do harm."""
    return unicodedata.category(char) in _UNSEEN or char in _DIRECTION or char in _NO_CHARACTERS


def visible(text: str, keep: str = "") -> str:
    """`text` with control, surrogate and direction characters spelled out, apart from those in `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char in keep or not is_unseen(char) else _spelled(char) for char in text)


def _spelled(char: str) -> str:
    return _ESCAPES.get(char) or (f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}")


def count(number: int, noun: str) -> str:
    """`1 case`, `2 cases`, `12,000 cases`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def headline(summary: Mapping[str, Any]) -> str:
    """`26 cases: 15 passed, 10 failed, 1 not assessed`: parts that add up, in every output the same.

    A report's `passed` counts the cases that no check applied to; a reader takes that for praise.
    """
    idle, errors = summary["not_applicable"], summary["errors"]
    parts = [f"{summary['passed'] - idle:,} passed", f"{summary['failed']:,} failed"]
    parts += [f"{idle:,} not assessed"] if idle else []
    parts += [f"{errors:,} ended in error"] if errors else []
    return f"{count(summary['cases'], 'case')}: {', '.join(parts)}"


def pass_rate(summary: Mapping[str, Any]) -> str:
    """`60 % of the 25 assessed passed`; empty where nothing was assessed."""
    passed = summary["passed"] - summary["not_applicable"]
    assessed = passed + summary["failed"]
    if not assessed:
        return ""
    base = "" if assessed == summary["cases"] else f"of the {assessed:,} assessed "
    return f"{percent(passed, assessed)} % {base}passed"
