"""Sets of characters as integers with a bit per character: `|` unites, `&` intersects, `~` is all the others.

A negative integer has infinitely many bits set, so a set can hold all characters but a few.
"""

import string
from collections.abc import Iterable
from functools import lru_cache

CharacterSet = int
ANY: CharacterSet = -1
WIDEST_RANGE = 256  # a wider one counts as any character: its bits would only take time
_numbers: dict[str, int] = {}  # the bit of each character met so far


def set_of(characters: str) -> CharacterSet:
    found = 0
    for character in characters:
        found |= 1 << _numbers.setdefault(character, len(_numbers))
    return found


@lru_cache(maxsize=1024)
def characters_of(source: str) -> CharacterSet:
    """The characters that a class matches, or more where that is not known: `.`, `\\w`, a space or [a-z]."""
    if source == ".":
        return ~set_of("\n।")
    if source == r"\w":
        return ~set_of(string.whitespace + string.punctuation.replace("_", "") + "।。、！？，")
    if not source.startswith("["):
        return set_of(source)
    body = source[1:-1]
    return ~_listed(body[1:].replace("\\n", "\n"), known=True) if body.startswith("^") else _listed(body, known=False)


def _listed(body: str, *, known: bool) -> CharacterSet:
    """The characters and ranges of a class; a range that is too wide counts as all, or as none where all are taken."""
    found = at = 0
    while at < len(body):
        if body[at + 1 : at + 2] == "-" and at + 2 < len(body):
            first, last = ord(body[at]), ord(body[at + 2])
            if last - first < WIDEST_RANGE:
                found |= set_of("".join(map(chr, range(first, last + 1))))
            elif not known:
                return ANY
            at += 3
        else:
            found |= set_of(body[at])
            at += 1
    return found


def blocks(sets: Iterable[CharacterSet]) -> list[CharacterSet]:
    """The parts into which sets divide all characters: those of one part are in the same sets."""
    found = [ANY]
    rest = ANY
    for each in set(sets) - {ANY}:
        if each & rest == each:  # meets no other so far: splits the rest alone
            found[0] = rest = rest & ~each
            found.append(each)
        else:
            found = [part for block in found for part in (block & ~each, block & each)]
            rest = found[0]
    return [block for block in found if block]
