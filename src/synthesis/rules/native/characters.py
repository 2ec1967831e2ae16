"""What Python knows about characters, as tables for the native reader: made from Python's own Unicode data."""

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache

from synthesis.rules import text as normal_form
from synthesis.rules.language import WORD_CHARACTERS
from synthesis.rules.native.sections import Sections

MAGIC, FORMAT = 0x53594E43, 1
VERSION = f"{FORMAT}-{unicodedata.unidata_version}-{sys.version_info.major}.{sys.version_info.minor}"
PAGE = 256
_CAPITAL_SIGMA = "Σ"  # its lower case depends on what follows
_STOPS = ".!?…。！？।"

# The bits of `native/src/characters.rs`.
SPACE, WORD, ALPHANUMERIC, LETTER, LOWER, DECIMAL, DIGIT, INVISIBLE, DECLINED, ENDING, EDITED = (
    1 << bit for bit in range(11)
)


@cache
def all_characters() -> str:
    """Every character at the place of its number. Made when asked for: it takes longer than a start may."""
    return "".join(map(chr, range(sys.maxunicode + 1)))


def character_tables() -> bytes:
    """Flags of every character, its lower case and its normal form, in pages of 256; equal pages once."""
    capitals = [char for char in all_characters() if char.lower() != char]
    typographic = [*normal_form._TYPOGRAPHIC, *map(chr, normal_form._FULL_WIDTH)]
    lower = _differences(capitals, str.lower)
    normal = _differences([*capitals, *typographic], lambda char: normal_form._lower(normal_form._plain(char)))
    tables = (_flags(capitals), lower, normal)
    pages: dict[tuple[tuple[int, ...], ...], int] = {}
    numbers = [
        pages.setdefault(tuple(tuple(table[start : start + PAGE]) for table in tables), len(pages))
        for start in range(0, sys.maxunicode + 1, PAGE)
    ]
    sections = Sections(MAGIC, FORMAT)
    sections.add(numbers)
    for table in zip(*pages, strict=True):
        sections.add([entry for page in table for entry in page])
    return sections.to_bytes()


def _flags(capitals: Iterable[str]) -> list[int]:
    flags = [0] * (sys.maxunicode + 1)
    for flag, found in _found(capitals):
        for code in found:
            flags[code] |= flag
    return flags


def _found(capitals: Iterable[str]) -> Iterable[tuple[int, Iterable[int]]]:
    alphanumeric = [code for code in _matching(r"\w") if chr(code) != "_"]
    yield SPACE, _matching(r"\s")
    yield WORD, _matching(f"[{WORD_CHARACTERS}]")
    yield ALPHANUMERIC, alphanumeric
    yield LETTER, [code for code in alphanumeric if chr(code).isalpha()]
    yield LOWER, (code for code, char in enumerate(all_characters()) if char.islower())
    yield DECIMAL, _matching(r"\d")
    yield DIGIT, [code for code in alphanumeric if chr(code).isdigit()]
    yield INVISIBLE, _matching(f"[{normal_form._INVISIBLE}]")
    yield DECLINED, _matching(f"[{normal_form._COMBINING}{_CAPITAL_SIGMA}]")
    yield DECLINED, [ord(char) for char in capitals if len(char.lower()) != 1]
    yield ENDING, map(ord, _STOPS + normal_form._CLOSERS)
    yield EDITED, _matching(rf"[\s*_~{normal_form._INVISIBLE}]")


def _matching(expression: str) -> Iterable[int]:
    return (code for run in re.finditer(f"{expression}+", all_characters()) for code in range(*run.span()))


def _differences(characters: Iterable[str], becomes: Callable[[str], str]) -> list[int]:
    """By how much each character's number changes, as an unsigned number; 0 where it does not become one character."""
    found = [0] * (sys.maxunicode + 1)
    for char in characters:
        other = becomes(char)
        if len(other) == 1:
            found[ord(char)] = (ord(other) - ord(char)) & 0xFFFFFFFF
    return found
