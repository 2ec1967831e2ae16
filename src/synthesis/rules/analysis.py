"""Static analysis of a pattern: how it can begin, where it can end, and what a search for it costs."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, reduce
from itertools import groupby
from math import ceil
from weakref import WeakKeyDictionary

from synthesis.rules.syntax import (
    ANY,
    Char,
    CharacterSet,
    Choice,
    Concat,
    Edge,
    Node,
    Repeat,
    blocks,
    characters_of,
    set_of,
    width,
)

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


# Repetitions that can end at one place only: a search need not come back to them.


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


# Alternatives by their first letter: where none begins with the letter that is there, all fail at one look.


Split = tuple[str, Node]  # the first letter of what a tree matches, and the rest


_known: WeakKeyDictionary[Choice, tuple[Node, ...]] = WeakKeyDictionary()  # many patterns name the same list


def factored(choice: Choice) -> tuple[Node, ...]:
    """The options of a choice, those with the same first letter together.

    Options with different first letters exclude each other, so bringing them together changes no match. An option
    without a fixed first letter keeps its place: it may match where one before or after it does.
    """
    if choice not in _known:
        _known[choice] = tuple(_factored(choice.options))
    return _known[choice]


MOST_MEMBERS = 3  # of a class at a beginning that is taken apart: a letter with and without its accent


def _factored(options: Iterable[Node]) -> Iterator[Node]:
    splits = ((each, split(each)) for option in options for each in _taken_apart(option))
    for is_fixed, run in groupby(splits, key=lambda item: item[1] is not None):
        if is_fixed:
            yield from _by_letter([(option, *found) for option, found in run if found])
        else:
            yield from (option for option, _ in run)


def _taken_apart(option: Node) -> Iterator[Node]:
    """An option that begins with one of a few letters, as one option for each; a choice as its own options."""
    first, rest = (option.parts[0], option.parts[1:]) if isinstance(option, Concat) and option.parts else (option, ())
    if isinstance(first, Choice) and not rest:
        yield from (each for own in first.options for each in _taken_apart(own))
    elif isinstance(first, Char) and 0 < len(first.members) <= MOST_MEMBERS:
        yield from (Concat((Char(letter), *rest)) for letter in first.members)
    else:
        yield option


def _by_letter(run: Sequence[tuple[Node, str, Node]]) -> Iterator[Node]:
    groups: dict[str, list[tuple[Node, Node]]] = {}
    for option, letter, rest in run:
        groups.setdefault(letter, []).append((option, rest))
    for letter, its_own in groups.items():
        if len(its_own) == 1:
            yield its_own[0][0]
        else:
            common, rests = _common_beginning(letter, [rest for _, rest in its_own])
            yield Concat((Char(common), Choice(tuple(rests))))


def _common_beginning(letter: str, rests: list[Node]) -> tuple[str, list[Node]]:
    """All that they begin with alike, at once: a level for each of its letters would make a deep tree."""
    begins = letter
    splits = [split(rest) for rest in rests]
    while splits[0] and all(found and found[0] == splits[0][0] for found in splits):
        begins += splits[0][0]
        rests = [found[1] for found in splits if found]
        splits = [split(rest) for rest in rests]
    return begins, rests


def split(node: Node) -> Split | None:
    """The first letter of what a tree matches, and the rest; None where it has no fixed first letter."""
    if isinstance(node, Char) and node.literal:
        return node.literal[0], Char(node.literal[1:]) if node.literal[1:] else Concat(())
    if isinstance(node, Concat) and node.parts and (first := split(node.parts[0])):
        return first[0], Concat((first[1], *node.parts[1:]))
    return None


def has_fixed_beginning(node: Node) -> bool:
    """Whether all that a tree matches begins with a letter of its own, so that a search for it is quick."""
    match node:
        case Choice(options):
            return all(map(has_fixed_beginning, options))
        case Concat(parts):
            return bool(parts) and has_fixed_beginning(parts[0])
        case _:
            return split(node) is not None


# What a pattern can cost: the most steps that a search for it takes at one place of a text.


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
