"""Makes untrusted text (cases, rule packs, file names) safe to print on a terminal or in a log.

No character may control the terminal or the direction of writing, and no line may look like a command to the CI
service that reads the log.
"""

import re
import unicodedata

from synthesis.lazy import regex

_VISIBLE_ESCAPES = {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
_UNSAFE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
# GitHub reads `::name::` at the start of a line and `##[name]` anywhere in it; Azure reads `##vso[name]`.
_COMMAND = regex(r"^([^\S\n]*):(?=:)|#(?=#(?:vso)?\[)", re.MULTILINE)


def safe(text: str, *, keep_lines: bool = False) -> str:
    """`text` with every control, format and surrogate character spelled out, and CI commands broken."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(_shown(char, keep_lines) for char in text)
    return _COMMAND.sub(_broken, text) if "::" in text or "##" in text else text


def _shown(char: str, keep_lines: bool) -> str:
    if (char == "\n" and keep_lines) or unicodedata.category(char) not in _UNSAFE_CATEGORIES:
        return char
    return _VISIBLE_ESCAPES.get(ord(char)) or f"\\u{ord(char):04x}"


def _broken(command: re.Match[str]) -> str:
    return "\\u0023" if command.group() == "#" else f"{command[1]}\\u003a"
