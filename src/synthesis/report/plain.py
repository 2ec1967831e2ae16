"""Evaluated text made safe to show: nothing in it may act on a terminal, a parser or the direction of writing."""

import unicodedata

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
