"""Texts made from a pattern's own words: what it matches, and what nearly matches it."""

import random

from synthesis.rules.syntax import Char, Choice, Concat, Edge, Node, Repeat

FILLER = "a"


def spelled(node: Node, chance: random.Random, *, longest: bool = False) -> str:
    """One text that a pattern matches; `longest` takes every repetition as often as it may be."""
    match node:
        case Char(literal=str(literal)):
            return literal
        case Char(source=source, members=members):
            return chance.choice(members) if members else " " if source == " " else FILLER
        case Edge():
            return ""
        case Concat(parts):
            return "".join(spelled(part, chance, longest=longest) for part in parts)
        case Choice(options):
            return spelled(chance.choice(options), chance, longest=longest)
        case Repeat(part, low, high):
            times = high if longest else chance.randint(low, min(high, low + 2))
            return "".join(spelled(part, chance, longest=longest) for _ in range(times))


def repeated(unit: str, length: int) -> str:
    """A text of this length out of one piece."""
    return (unit * (length // len(unit) + 1))[:length]
