"""Lines that fit a terminal: broken between words, and within a word only where it is wider than a line.

Counted are cells, not characters: Chinese and Japanese take two each, accents and colours none.
"""

import re
from collections.abc import Iterator

from rich.cells import cell_len

_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_PIECE = re.compile(r"\x1b\[[0-9;]*m|.", re.DOTALL)
_WORD = re.compile(r" *[^ ]+(?: %(?![^ ]))?")  # "60 %" stays together
_NEVER_FIRST = frozenset("、。，．：；！？）」』】〉》”’…ー々)]}.,:;!?")
_LEAST = 20  # columns; a narrower terminal is not one that anybody reads


def cells(text: str) -> int:
    """How many columns a text takes, colours apart."""
    return cell_len(_STYLE.sub("", text))


def wrapped(line: str, width: int, hang: int = 2) -> Iterator[str]:
    """The rows of a line on a terminal of this width; all but the first are `hang` columns further in."""
    width = max(width, _LEAST)
    if cells(line) <= width:
        yield line
        return
    indent = len(line) - len(line.lstrip(" "))
    start = " " * min(indent + hang, width // 2)
    row = ""
    for word in _WORD.findall(line):
        if row.strip() and cells(row) + cells(word) > width and not _is_wide(word):
            yield row
            row, word = start, word.lstrip(" ")
        while cells(row) + cells(word) > width:
            head, word = _cut(word, width - cells(row))
            yield (row + head).rstrip(" ")
            row, word = start, word.lstrip(" ")
        row += word
    if row.strip():
        yield row


def _is_wide(word: str) -> bool:
    """Scripts without spaces are broken between characters, so a row is filled first."""
    plain = _STYLE.sub("", word)
    return cell_len(plain) >= len(plain) * 1.5


def _cut(word: str, room: int) -> tuple[str, str]:
    """As much of a word as there is room for, and the rest; a row does not begin with a closing mark."""
    pieces = _PIECE.findall(word)
    end = used = 0
    for number, piece in enumerate(pieces):
        used += 0 if piece.startswith("\x1b") else cell_len(piece)
        if used > room:
            break
        end = number + 1
    if end > 1 and end < len(pieces) and pieces[end] in _NEVER_FIRST:
        end -= 1
    return "".join(pieces[:end]), "".join(pieces[end:])
