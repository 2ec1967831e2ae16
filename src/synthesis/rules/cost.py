"""What a pattern can cost: the most steps that a search for it takes at one place of a text.

A step is one look at one character, or one alternative that is tried. They are those of a matcher that tries one way
after the other and remembers nothing, so any other matcher takes no more. Ways count only if one text can have them
all: `(really )?(can|will)` has one way through any text, `.{0,30} you` meets a "you" at every fourth place at most.
docs/design/matcher.md says what the bound is for.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import ceil

from synthesis.rules.ahead import LOOKED_AHEAD, UNKNOWN, Ahead, agree, ahead_in, ahead_of, begins, period, shortest
from synthesis.rules.character_sets import ANY, CharacterSet, blocks
from synthesis.rules.factoring import factored
from synthesis.rules.settling import settled
from synthesis.rules.tree import Char, Choice, Concat, Edge, Node, Repeat, width

# Steps at one place. Room for two gaps of 180 characters with single letters between them, and for every bundled
# pattern twice over; a gap of 200 and a few words take 2,000.
MOST_STEPS = 100_000
_ENOUGH = 10**12  # beyond every bound; keeps the numbers small


def cost(pattern: Node) -> int:
    """The most steps that a search for a pattern takes at one place."""
    node = settled(pattern)
    return min(_looks(node) + _steps(node), _ENOUGH)


@lru_cache(maxsize=1 << 12)
def _steps(node: Node) -> int:
    """The most steps inside a part that the text can begin, beyond those that show it."""
    match node:
        case Char(literal=str(literal)):
            return len(literal) - 1
        case Char() | Edge():
            return 0
        case Concat(parts):
            return min(sum(_steps_of_part(parts, number) for number in range(len(parts))), _ENOUGH)
        case Choice():
            return _most_at_once([((begins(option),), _steps(option)) for option in factored(node)])
        case Repeat(part, _, high, settled=True):
            return high
        case Repeat(part, _, high):
            return _steps_of_repeat(part, high)


def _steps_of_part(parts: tuple[Node, ...], number: int) -> int:
    """A part of a sequence is looked at once for each way through those before it, and entered if it can begin so."""
    part = parts[number]
    looked, entered = _exits_in(parts[:number], UNKNOWN), _exits_in(parts[:number], (begins(part),))
    return looked * _looks(part) + entered * _steps(part)


def _steps_of_repeat(part: Node, high: int) -> int:
    onward, anyhow = _exits(part, (begins(part),)), _exits(part, UNKNOWN)
    looked, entered, steps = 0, 1, 0
    for _ in range(high):
        steps += looked * _looks(part) + entered * _steps(part)
        looked, entered = min(entered * anyhow, _ENOUGH), min(entered * onward, _ENOUGH)
        steps += looked
    return min(steps, _ENOUGH)


@lru_cache(maxsize=1 << 12)
def _looks(node: Node) -> int:
    """The steps that show that a part does not begin here."""
    match node:
        case Choice():
            return sum(map(_looks, factored(node)))
        case Concat(parts):
            return sum(map(_looks, parts)) if not any(map(shortest, parts)) else _looks_until_fixed(parts)
        case Repeat(part):
            return _looks(part) + 1
        case _:
            return 1


def _looks_until_fixed(parts: Sequence[Node]) -> int:
    looks = 0
    for part in parts:
        looks += _looks(part)
        if shortest(part):
            break
    return looks


@lru_cache(maxsize=1 << 12)
def _exits(node: Node, ahead: Ahead) -> int:
    """The most ways through a part that can have `ahead` behind them in one text."""
    match node:
        case Char() | Edge() | Repeat(settled=True):
            return 1
        case Concat(parts):
            return _exits_in(parts, ahead)
        case Choice():
            return _most_at_once([(ahead_of(option, ahead), _exits(option, ahead)) for option in factored(node)])
        case Repeat(part, low, high):
            return _exits_of_repeat(part, low, high, ahead)


@lru_cache(maxsize=1 << 12)
def _exits_in(parts: tuple[Node, ...], ahead: Ahead) -> int:
    """Of a sequence; where its last part is optional, those that take it and those that do not may be fewer."""
    ways = _exits_one_by_one(parts, ahead)
    match parts:
        case (_, *_, Repeat(part, 0, high)) if ways > 1 and high:
            taken = Repeat(part, 1, high)
            without, before = (_exits_one_by_one(parts[:-1], its) for its in (ahead, ahead_of(taken, ahead)))
            ways = min(ways, without + before * _exits(taken, ahead))
    return ways


def _exits_one_by_one(parts: tuple[Node, ...], ahead: Ahead) -> int:
    ways = 1
    for number, part in enumerate(parts):
        if _exits(part, UNKNOWN) > 1:  # what is ahead can only make them fewer
            ways *= _exits(part, ahead_in(parts[number + 1 :], ahead))
    return min(ways, _ENOUGH)


def _exits_of_repeat(part: Node, low: int, high: int, ahead: Ahead) -> int:
    onward, out = _exits(part, ahead_of(part, UNKNOWN)), _exits(part, ahead)
    again = ahead_of(part, ahead_of(Repeat(part, 0, min(high, LOOKED_AHEAD)), ahead))
    if not agree(again, ahead):  # where it can end it cannot go on, so no way holds another
        return _power(onward, high - 1) * out
    if width(part) == (1, 1) and onward == out == 1:
        return ceil((high - low + 1) / period(ahead))
    return min(sum(_power(onward, times - 1) * out if times else 1 for times in range(low, high + 1)), _ENOUGH)


def _power(base: int, times: int) -> int:
    return min(base ** min(times, 64), _ENOUGH) if base > 1 and times > 0 else 1


def _most_at_once(options: Sequence[tuple[Ahead, int]]) -> int:
    """The greatest sum over options that one text can begin: by its first character, then by what follows."""
    by_first: dict[CharacterSet, list[tuple[Ahead, int]]] = {}
    for ahead, weight in options:
        by_first.setdefault(ahead[0] if ahead else ANY, []).append((ahead, weight))
    most = 0
    for block in blocks(by_first):
        there = [option for first, its_own in by_first.items() if first & block for option in its_own]
        sums = (sum(weight for ahead, weight in there if agree(ahead, one)) for one, _ in there)
        most = max(most, there[0][1] if len(there) == 1 else max(sums, default=0))
    return most
