"""In how many ways a pattern can match at one place: the bound on what a backtracking engine tries there.

Two alternatives, or a repetition and what follows it, compete only if they can begin with the same character.
`(really )?(can|will)` has one way through any text; `.{0,30} you` has thirty-one.
"""

from itertools import pairwise
from math import prod

from synthesis.rules.syntax import Char, Choice, Concat, Edge, Node, Repeat

ANY = "any"
WORD = "\\w"
Firsts = frozenset[str]
_ENOUGH = 10**9  # beyond every limit; keeps the numbers small


def ways(node: Node, follow: Firsts = frozenset({ANY})) -> int:
    """An upper bound of the ways to match `node` at one place when `follow` can begin what comes after it."""
    match node:
        case Char() | Edge():
            return 1
        case Concat(parts):
            return _of_sequence(parts, follow)
        case Choice(options):
            return _of_choice(options, follow)
        case Repeat(part, low, high):
            return _of_repeat(part, low, high, follow)


def _of_sequence(parts: tuple[Node, ...], follow: Firsts) -> int:
    counts: list[int] = []
    for part in reversed(parts):
        counts.append(ways(part, follow))
        own, can_be_empty = firsts(part)
        follow = own | follow if can_be_empty else own
    return min(prod(counts), _ENOUGH)


def _of_choice(options: tuple[Node, ...], follow: Firsts) -> int:
    """Options that compete with another add up; of the rest the greatest counts."""
    words = sorted(word for word in map(_word, options) if word is not None)
    open_ended = [option for option in options if _word(option) is None]
    begins = [firsts(option)[0] for option in open_ended]
    competing = alone = 0
    for index, option in enumerate(open_ended):
        count = ways(option, follow)
        others = (*begins[:index], *begins[index + 1 :], frozenset(word[0] for word in words))
        if any(_meet(begins[index], other) for other in others):
            competing += count
        else:
            alone = max(alone, count)
    return min(max(alone, competing + _nested(words)), _ENOUGH)


def _nested(words: list[str]) -> int:
    """Of plain words at most those match together that begin with one another."""
    run = most = 1 if words else 0
    for earlier, later in pairwise(words):
        run = run + 1 if later.startswith(earlier) else 1
        most = max(most, run)
    return most


def _of_repeat(part: Node, low: int, high: int, follow: Firsts) -> int:
    own, can_be_empty = firsts(part)
    each = min(ways(part, own | follow), 1_000)
    if can_be_empty or _meet(own, follow):
        return min(sum(_power(each, times) for times in range(low, high + 1)), _ENOUGH)
    return min(_power(each, high), _ENOUGH)


def _power(base: int, times: int) -> int:
    return prod([base] * times) if base > 1 else base


def firsts(node: Node) -> tuple[Firsts, bool]:
    """The characters (or kinds of character) that a match can begin with, and whether it can be empty."""
    match node:
        case Char(literal=str(literal)):
            return frozenset({literal[0]}), False
        case Char(source=source, members=members):
            return frozenset(members) or frozenset({source if source in {WORD, " "} else ANY}), False
        case Edge():
            return frozenset(), True
        case Concat(parts):
            return _firsts_of_sequence(parts)
        case Choice(options):
            each = [firsts(option) for option in options]
            return frozenset().union(*(own for own, _ in each)), any(empty for _, empty in each)
        case Repeat(part, low, _):
            own, can_be_empty = firsts(part)
            return own, can_be_empty or low == 0


def _firsts_of_sequence(parts: tuple[Node, ...]) -> tuple[Firsts, bool]:
    found: Firsts = frozenset()
    for part in parts:
        own, can_be_empty = firsts(part)
        found |= own
        if not can_be_empty:
            return found, False
    return found, True


def _meet(left: Firsts, right: Firsts) -> bool:
    if not left or not right:
        return False
    if ANY in left or ANY in right or left & right:
        return True
    return (WORD in left and _any_word(right)) or (WORD in right and _any_word(left))


def _any_word(firsts_: Firsts) -> bool:
    return any(first == WORD or first.isalnum() or first == "_" for first in firsts_)


def _word(node: Node) -> str | None:
    """The text of a node that is nothing but text."""
    return node.literal if isinstance(node, Char) else None
