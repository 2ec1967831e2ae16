"""What Python knows about characters, as tables for the native reader: made from Python's own Unicode data."""

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable

from synthesis.rules import text as normal_form
from synthesis.rules.language import WORD_CHARACTERS
from synthesis.rules.native.sections import Sections

MAGIC, FORMAT = 0x53594E43, 1
VERSION = f"{FORMAT}-{unicodedata.unidata_version}-{sys.version_info.major}.{sys.version_info.minor}"
PAGE = 256
_CAPITAL_SIGMA = "Σ"  # its lower case depends on what follows
_STOPS = ".!?…。！？।"
_ALL = "".join(map(chr, range(sys.maxunicode + 1)))

# The bits of `native/src/characters.rs`.
SPACE, WORD, ALPHANUMERIC, LETTER, LOWER, DECIMAL, DIGIT, INVISIBLE, DECLINED, ENDING, EDITED = (
    1 << bit for bit in range(11)
)


def character_tables() -> bytes:
    """Flags of every character, its lower case and its normal form, in pages of 256; equal pages once."""
    flags, lower = _flags(), _differences(str.lower)
    normal = _differences(lambda char: normal_form._lower(normal_form._plain(char)))
    pages: dict[tuple[tuple[int, ...], ...], int] = {}
    numbers = [
        pages.setdefault(tuple(tuple(table[start : start + PAGE]) for table in (flags, lower, normal)), len(pages))
        for start in range(0, len(_ALL), PAGE)
    ]
    sections = Sections(MAGIC, FORMAT)
    sections.add(numbers)
    for table in zip(*pages, strict=True):
        sections.add([entry for page in table for entry in page])
    return sections.to_bytes()


def _flags() -> list[int]:
    flags = [0] * len(_ALL)
    for flag, found in _found():
        for code in found:
            flags[code] |= flag
    return flags


def _found() -> Iterable[tuple[int, Iterable[int]]]:
    yield SPACE, _matching(r"\s")
    yield WORD, _matching(f"[{WORD_CHARACTERS}]")
    yield ALPHANUMERIC, _having(str.isalnum)
    yield LETTER, _having(str.isalpha)
    yield LOWER, _having(str.islower)
    yield DECIMAL, _matching(r"\d")
    yield DIGIT, _having(str.isdigit)
    yield INVISIBLE, _matching(f"[{normal_form._INVISIBLE}]")
    yield DECLINED, _matching(f"[{normal_form._COMBINING}{_CAPITAL_SIGMA}]")
    yield DECLINED, (code for code, char in enumerate(_ALL) if len(char.lower()) != 1)
    yield ENDING, map(ord, _STOPS + normal_form._CLOSERS)
    yield EDITED, _matching(rf"[\s*_~{normal_form._INVISIBLE}]")


def _matching(expression: str) -> Iterable[int]:
    return (code for run in re.finditer(f"{expression}+", _ALL) for code in range(*run.span()))


def _having(holds: Callable[[str], bool]) -> Iterable[int]:
    return (code for code, char in enumerate(_ALL) if holds(char))


def _differences(becomes: Callable[[str], str]) -> list[int]:
    """By how much each character's number changes, as an unsigned number; 0 where it does not become one character."""
    found = [0] * len(_ALL)
    for code, char in enumerate(_ALL):
        other = becomes(char)
        if other != char and len(other) == 1:
            found[code] = (ord(other) - code) & 0xFFFFFFFF
    return found
