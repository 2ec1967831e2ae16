"""Highlighted text: findings may be nested or overlap, so the text is cut wherever one begins or ends."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

from synthesis.report.plain import is_unseen


class Span(NamedTuple):
    """Code points `start` to `end` of a text, found for the note of this number."""

    start: int
    end: int
    note: int


class Piece(NamedTuple):
    """A part of a text with the notes that cover it, those that begin here, and those that end here."""

    text: str
    notes: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]


def pieces(text: str, spans: Iterable[Span]) -> list[Piece]:
    """The text cut so that each piece lies wholly inside or wholly outside of every span."""
    inside = sorted({span for span in spans if 0 <= span.start < span.end <= len(text)})
    cuts = sorted({0, len(text), *(span.start for span in inside), *(span.end for span in inside)})
    found = []
    active: list[Span] = []
    following = 0
    for start, end in pairwise(cuts):
        active = [span for span in active if span.end > start]
        while following < len(inside) and inside[following].start == start:
            active.append(inside[following])
            following += 1
        found.append(
            Piece(
                text[start:end],
                _notes(active),
                _notes([span for span in active if span.start == start]),
                _notes([span for span in active if span.end == end]),
            )
        )
    return found


def _notes(spans: Sequence[Span]) -> tuple[int, ...]:
    return tuple(sorted({span.note for span in spans}))


def shown(text: str) -> str:
    """Text for a page: escaped, with characters that nobody would see made visible."""
    plain = text.replace("\r\n", "\n")
    if plain.isascii() and plain.isprintable():
        return escape(plain)
    return "".join(escape(char) if char in "\n\t" or not is_unseen(char) else _picture(char) for char in plain)


def _picture(char: str) -> str:
    """A stand-in for a character that shows nothing by itself."""
    return f'<span class="unseen">[U+{ord(char):04X}]</span>'
