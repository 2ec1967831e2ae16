"""What reaches a terminal: never a control character of the evaluated text, in lines that fit its width."""

import os
import sys
from collections.abc import Iterable, Iterator

import click

from synthesis.printable import safe

__all__ = ["columns", "print_lines", "safe", "warn"]


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
    from synthesis.cli.wrapping import wrapped

    for own in line.split("\n"):
        yield from wrapped(own, width, hang)


def warn(message: str, colour: str = "yellow") -> None:
    """A line on standard error, beside a result that is on standard output."""
    print_lines([click.style(safe(message), fg=colour)], err=True)
