"""The tree of a pattern.

Nodes are compared by identity: what is known about a long word list is kept for all patterns that name it.
"""

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Char:
    """Characters that match themselves, or one of a class (`literal` is None); a gap is any but a sentence end."""

    literal: str | None
    source: str = ""
    members: str = ""

    @property
    def is_gap(self) -> bool:
        return self.source == "."


@dataclass(frozen=True, eq=False)
class Edge:
    """A word boundary."""


@dataclass(frozen=True, eq=False)
class Concat:
    parts: tuple["Node", ...]


@dataclass(frozen=True, eq=False)
class Choice:
    """One of several."""

    options: tuple["Node", ...]


@dataclass(frozen=True, eq=False)
class Repeat:
    part: "Node"
    low: int
    high: int
    settled: bool = False  # can end at one place only, so that a search need not come back to it


Node = Char | Edge | Concat | Choice | Repeat


def width(node: Node) -> tuple[int, int]:
    """The least and the greatest number of characters that a tree can match."""
    match node:
        case Char(literal):
            return (len(literal), len(literal)) if literal else (1, 1)
        case Edge():
            return 0, 0
        case Concat(parts):
            widths = [width(part) for part in parts]
            return sum(low for low, _ in widths), sum(high for _, high in widths)
        case Choice(options):
            widths = [width(option) for option in options]
            return min(low for low, _ in widths), max(high for _, high in widths)
        case Repeat(part, low, high):
            least, most = width(part)
            return least * low, most * high
