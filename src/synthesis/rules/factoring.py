"""Alternatives by their first letter: where none begins with the letter that is there, all fail at one look.

The matcher's expressions and the cost of a pattern both come from this form, so that the one bounds the other.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from weakref import WeakKeyDictionary

from synthesis.rules.tree import Char, Choice, Concat, Node

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


def _factored(options: Iterable[Node]) -> Iterator[Node]:
    splits = ((option, split(option)) for option in options)
    for is_fixed, run in groupby(splits, key=lambda item: item[1] is not None):
        if is_fixed:
            yield from _by_letter([(option, *found) for option, found in run if found])
        else:
            yield from (option for option, _ in run)


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
