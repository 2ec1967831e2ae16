"""What may reach a terminal: never a control character of somebody else's text."""

import unicodedata

_VISIBLE_ESCAPES = {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
_UNSAFE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def safe(text: str, *, keep_lines: bool = False) -> str:
    """`text` with every control, format and surrogate character spelled out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char, keep_lines) for char in text)


def _shown(char: str, keep_lines: bool) -> str:
    if (char == "\n" and keep_lines) or unicodedata.category(char) not in _UNSAFE_CATEGORIES:
        return char
    return _VISIBLE_ESCAPES.get(ord(char)) or f"\\u{ord(char):04x}"
