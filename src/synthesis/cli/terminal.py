"""Printing to a terminal: no control characters from evaluated text, and lines that fit its width."""

import os
import re
import sys
from collections.abc import Iterable, Iterator

import click
from rich.cells import cell_len

from synthesis.lazy import regex
from synthesis.printable import safe

_STYLE = regex(r"\x1b\[[0-9;]*m")
_PIECE = regex(r"\x1b\[[0-9;]*m|.", re.DOTALL)
_WORD = regex(r" *[^ ]+(?: %(?![^ ]))?")  # "60 %" stays together
_NEVER_FIRST = frozenset("、。，．：；！？）」』】〉》”’…ー々)]}.,:;!?")
_LEAST = 20  # columns; a narrower terminal is unreadable anyway


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


def print_lines(lines: Iterable[str], *, err: bool = False, hang: int = 2) -> None:
    """Print lines, broken between words where a terminal shows them; a file or a pipe gets them whole.

    What is left of a line is `hang` columns further in, so that it is seen to belong there.
    """
    width = columns(err=err)
    colours = False if "NO_COLOR" in os.environ else None
    for line in lines:
        for row in _rows(line, width, hang) if width else (line,):
            click.echo(row, err=err, color=colours)


def columns(*, err: bool = False) -> int | None:
    """The width of the terminal that shows an output; None where none does."""
    stream = sys.stderr if err else sys.stdout
    try:
        return os.get_terminal_size(stream.fileno()).columns or None if stream.isatty() else None
    except (OSError, ValueError, AttributeError):  # no file behind it, as under a test or in a notebook
        return None


def _rows(line: str, width: int, hang: int) -> Iterator[str]:
    for own in line.split("\n"):
        yield from wrapped(own, width, hang)


def warn(message: str, colour: str = "yellow") -> None:
    """A line on standard error, beside a result that is on standard output."""
    print_lines([click.style(safe(message), fg=colour)], err=True)
