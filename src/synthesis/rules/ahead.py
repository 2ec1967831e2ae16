"""What can be at the next places of a text where a part of a pattern begins: tells which ways one text can have."""

from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce

from synthesis.rules.character_sets import CharacterSet, characters_of, set_of
from synthesis.rules.factoring import factored
from synthesis.rules.tree import Char, Choice, Concat, Edge, Node, Repeat, width

LOOKED_AHEAD = 6  # characters; more tell hardly more ways apart
# The characters that can be at each of the next places; nothing is known beyond them.
Ahead = tuple[CharacterSet, ...]
UNKNOWN: Ahead = ()


@lru_cache(maxsize=1 << 12)
def ahead_of(node: Node, after: Ahead) -> Ahead:
    """What can be at the next places where a part begins that has `after` behind it."""
    match node:
        case Char(literal=str(literal)):
            return (*map(set_of, literal[:LOOKED_AHEAD]), *after)[:LOOKED_AHEAD]
        case Char(source=source):
            return (characters_of(source), *after)[:LOOKED_AHEAD]
        case Edge():
            return after
        case Concat(parts):
            return ahead_in(parts, after)
        case Choice():
            return either(ahead_of(option, after) for option in factored(node))
        case Repeat(part, low, high):
            found = after
            for _ in range(min(high - low, LOOKED_AHEAD)):
                found = either((after, ahead_of(part, found)))
            for _ in range(min(low, LOOKED_AHEAD)):
                found = ahead_of(part, found)
            return found


def ahead_in(parts: Sequence[Node], after: Ahead) -> Ahead:
    enough = known = 0
    while enough < len(parts) and known < LOOKED_AHEAD:
        known += shortest(parts[enough])
        enough += 1
    return reduce(lambda behind, part: ahead_of(part, behind), reversed(parts[:enough]), after)


def either(several: Iterable[Ahead]) -> Ahead:
    """What is known where one of several begins: as far as all of them are known."""
    return tuple(reduce(int.__or__, sets) for sets in zip(*several, strict=False))


def agree(left: Ahead, right: Ahead) -> bool:
    """Whether one text can be both."""
    return all(one & other for one, other in zip(left, right, strict=False))


def period(ahead: Ahead) -> int:
    """The least distance between two places of a text that can both have `ahead` behind them."""
    for distance in range(1, len(ahead)):
        if agree(ahead[distance:], ahead):
            return distance
    return max(1, len(ahead))


@lru_cache(maxsize=1 << 12)
def begins(node: Node) -> CharacterSet:
    """The characters that a match can begin with, if it is not empty."""
    match node:
        case Char(literal=str(literal)):
            return set_of(literal[0])
        case Char(source=source):
            return characters_of(source)
        case Edge():
            return 0
        case Concat(parts):
            fixed = next((n for n, part in enumerate(parts) if shortest(part)), len(parts))
            return reduce(int.__or__, map(begins, parts[: fixed + 1]), 0)
        case Choice():
            return reduce(int.__or__, map(begins, factored(node)), 0)
        case Repeat(part):
            return begins(part)


@lru_cache(maxsize=1 << 12)
def shortest(node: Node) -> int:
    return width(node)[0]
