"""Repetitions that can end at one place only: a search need not come back to them.

`\\w{1,12} you` can leave its word only where the word ends, because no space is a letter. The matcher does not try the
other eleven places, and the cost does not count them.
"""

from functools import lru_cache

from synthesis.rules.ahead import UNKNOWN, Ahead, ahead_in, ahead_of, begins, either
from synthesis.rules.tree import Char, Choice, Concat, Edge, Node, Repeat


def settled(node: Node, ahead: Ahead = UNKNOWN) -> Node:
    """The same tree with every such repetition marked, when `ahead` follows it."""
    if not _can_settle(node):
        return node
    match node:
        case Concat(parts):
            done = [settled(part, ahead_in(parts[number + 1 :], ahead)) for number, part in enumerate(parts)]
            return Concat(tuple(done))
        case Choice(options):
            return Choice(tuple(settled(option, ahead) for option in options))
        case Repeat(Char() as part, low, high):
            return Repeat(part, low, high, settled=bool(ahead) and not begins(part) & ahead[0])
        case Repeat(part, low, high):
            return Repeat(settled(part, either((ahead, ahead_of(part, UNKNOWN)))), low, high)
        case _:
            return node


@lru_cache(maxsize=1 << 12)
def _can_settle(node: Node) -> bool:
    """Whether a tree repeats single characters anywhere; most do not."""
    match node:
        case Char() | Edge():
            return False
        case Concat(parts):
            return any(map(_can_settle, parts))
        case Choice(options):
            return any(map(_can_settle, options))
        case Repeat(Char(literal=literal, source=source)):
            return source != "." and (literal is None or len(literal) == 1)
        case Repeat(part):
            return _can_settle(part)
