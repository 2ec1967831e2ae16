"""The fixed words of a pattern, which are looked for first; only where they stand is the pattern tried.

Every match of a pattern holds one of its literals, at most `lead` characters after its start.
"""

from collections.abc import Collection, Iterator

import msgspec

from synthesis.rules.syntax import Char, Choice, Edge, Node, Repeat, Run, width

MOST_LITERALS = 80  # a sequence grows no further when it would have more
LONG_ENOUGH = 8  # a longer text finds hardly fewer wrong places

# A text that every match begins with -> whether it is the whole of the match, so that what follows can extend it.
Beginnings = dict[str, bool]


class Literals(msgspec.Struct, frozen=True):
    """Texts of which every match holds one, `least_lead` to `lead` characters after its start."""

    texts: tuple[str, ...]
    least_lead: int
    lead: int
    begins_word: bool  # none of them can stand in the middle of a word
    frequency: float  # roughly how often they are met
    rarest: tuple[str, ...] = ()  # of all sets of which every match holds one, the one met least often


def literals_of(node: Node, common: Collection[str] = frozenset()) -> Literals | None:
    """The literals that will be met least often in other text; None when there are none (classes only).

    `common` are the most common words of the language: "promise" tells more than "you will".
    """
    found = list(_sets(node.parts if isinstance(node, Run) else (node,), common))
    if not found:
        return None
    best = min(found, key=lambda literals: literals.frequency * (1 + literals.lead / 8))  # a long lead is a long search
    return msgspec.structs.replace(best, rarest=min(found, key=lambda literals: literals.frequency).texts)


def _sets(parts: tuple[Node, ...], common: Collection[str]) -> Iterator[Literals]:
    """The literals from each part on."""
    for index in range(len(parts)):
        texts = _shortest_only(_beginnings(Run(parts[index:])))
        if "" not in texts:
            begins_word = _follows_space(parts[:index])
            frequency = sum(_frequency(text, common, begins_word) for text in texts)
            yield Literals(texts, *width(Run(parts[:index])), begins_word, frequency)


def _follows_space(parts: tuple[Node, ...]) -> bool:
    """Whether what comes after these parts always stands at the beginning, or behind a space."""
    for part in reversed(parts):
        if _ends_with_space(part):
            return True
        if not (isinstance(part, Repeat) and part.low == 0 and _ends_with_space(part.part)):
            return False
    return True


def _ends_with_space(node: Node) -> bool:
    """Whether every match of a tree ends with a space, or is empty after something that does."""
    match node:
        case Char(literal=str(literal)):
            return literal.endswith(" ")
        case Run(parts):
            return bool(parts) and _ends_with_space(parts[-1])
        case Choice(options):
            return all(map(_ends_with_space, options))
        case Repeat(part, low, _):
            return low > 0 and _ends_with_space(part)
        case _:
            return False


def _frequency(text: str, common: Collection[str], begins_word: bool) -> float:
    """Roughly how often a text is met, per word of other text."""
    letter = 0.05 if begins_word else 0.1
    rate = 1.0 if text.endswith(" ") else 2.0  # a word's beginning may belong to other words too
    for word in text.split():
        rate *= 0.02 if word in common else max(letter ** len(word), 1e-6)
    return rate


def _shortest_only(found: Beginnings) -> tuple[str, ...]:
    """Without the texts that begin with another one: the shorter one finds their places too."""
    kept: list[str] = []
    for text in sorted(found):
        if not kept or not text.startswith(kept[-1]):
            kept.append(text)
    return tuple(kept)


def _beginnings(node: Node) -> Beginnings:
    match node:
        case Char(literal=str(literal)):
            return {literal: True}
        case Char(members=members) if members:
            return dict.fromkeys(members, True)
        case Char():
            return {"": False}
        case Edge():
            return {"": True}
        case Run(parts):
            return _of_sequence(parts)
        case Choice(options):
            return _union([_beginnings(option) for option in options])
        case Repeat(part, low, high):
            return _of_repeat(part, low, high)


def _of_sequence(parts: tuple[Node, ...]) -> Beginnings:
    found: Beginnings = {"": True}
    for part in parts:
        if not any(whole and len(text) < LONG_ENOUGH for text, whole in found.items()):
            return _closed(found)
        extended = _extended(found, _beginnings(part))
        if len(extended) > MOST_LITERALS and len(found) > 1:
            return _closed(found)
        found = extended
    return found


def _extended(found: Beginnings, following: Beginnings) -> Beginnings:
    grown: Beginnings = {}
    for text, whole in found.items():
        if not whole or len(text) >= LONG_ENOUGH:
            grown[text] = False
        else:
            for more, whole_more in following.items():
                grown[text + more] = whole_more and grown.get(text + more, True)
    return grown


def _of_repeat(part: Node, low: int, high: int) -> Beginnings:
    if high == 0:
        return {"": True}
    if low > 1 or high > 1:
        return _closed(_beginnings(part)) if low else {"": False}
    once = _beginnings(part)
    return once if low else _union([once, {"": True}])


def _union(several: list[Beginnings]) -> Beginnings:
    """All of them; where two say the same, the one that may not be extended wins."""
    merged: Beginnings = {}
    for beginnings in several:
        for text, whole in beginnings.items():
            merged[text] = whole and merged.get(text, True)
    return merged


def _closed(found: Beginnings) -> Beginnings:
    return dict.fromkeys(found, False)
