"""The pattern language: the part of regular expressions that runs in linear time, its tree and its character sets."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from synthesis.lazy import regex
from synthesis.rules.text import normalise_pattern

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
        import string  # which takes longer to import than a start may

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
            found = [part for block in found for part in (block & ~each, block & each) if part]
            rest = found[0]
    return found


# The tree of a pattern.


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


MOST_REPEATS = 200  # a longer gap joins words that have little to do with each other
MOST_NESTED = 20  # groups and lists within each other; no reader follows as many
_DIGITS = "0123456789"
_RANGE = regex("(.)-(.)", re.DOTALL)
_CLASSES = {"w": (r"\w", ""), "d": (f"[{_DIGITS}]", _DIGITS), "s": (" ", "")}


class PatternError(ValueError):
    """A pattern that cannot be accepted, and the column where that shows."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


class WordLists:
    """The lists that patterns may name, each parsed once."""

    def __init__(self, words: Mapping[str, Sequence[str]] | None = None) -> None:
        # Names are compared as patterns have them, in lower case.
        self._words = {normalise_pattern(name): each for name, each in (words or {}).items()}
        self._nodes: dict[str, Node] = {}
        self._ids: set[int] = set()  # of the nodes, which live as long as this

    def __contains__(self, name: str) -> bool:
        return name in self._words

    def is_list(self, node: Node) -> bool:
        """Whether a tree is all of a list."""
        return id(node) in self._ids

    def node(self, name: str, within: tuple[str, ...]) -> Node:
        if name not in self._nodes:
            options = (_Parser(normalise_pattern(word), self, within).whole() for word in self._words[name])
            self._nodes[name] = Choice(tuple(options))
            self._ids.add(id(self._nodes[name]))
        return self._nodes[name]


def parse(source: str, lists: WordLists | None = None) -> Node:
    """The tree of a pattern; PatternError if it is malformed or not bounded."""
    node = _Parser(normalise_pattern(source), lists or WordLists()).whole()
    shortest, _ = width(node)
    if shortest == 0:
        raise PatternError("can match the empty text", 1)
    return node


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


class _Parser:
    def __init__(self, source: str, lists: WordLists, within: tuple[str, ...] = ()) -> None:
        self.source = source
        self.lists = lists
        self.within = within
        self.at = 0
        self.depth = len(within)

    def fail(self, message: str, back: int = 0) -> NoReturn:
        raise PatternError(message, self.at - back + 1)

    def peek(self) -> str:
        return self.source[self.at : self.at + 1]

    def take(self) -> str:
        char = self.peek()
        self.at += 1
        return char

    def whole(self) -> Node:
        node = self.choice()
        if self.at < len(self.source):
            self.fail("unbalanced ')'")
        return node

    def choice(self) -> Node:
        options = [self.sequence()]
        while self.peek() == "|":
            self.take()
            options.append(self.sequence())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def sequence(self) -> Node:
        parts: list[Node] = []
        while self.peek() not in {"", "|", ")"}:
            part = self.repeat(self.atom())
            before = parts[-1] if parts else None
            if isinstance(part, Char) and part.literal and isinstance(before, Char) and before.literal:
                parts[-1] = Char(before.literal + part.literal)
            else:
                parts.append(part)
        return parts[0] if len(parts) == 1 else Concat(tuple(parts))

    def repeat(self, node: Node) -> Node:
        if self.peek() == "?":
            self.take()
            return self.unrepeated(Repeat(node, 0, 1))
        if self.peek() in {"*", "+"}:
            self.fail("unbounded repetition is not supported, since its time has no bound: write a limit, as in {0,30}")
        if self.peek() != "{":
            return node
        return self.unrepeated(Repeat(node, *self.bounds()))

    def unrepeated(self, node: Node) -> Node:
        if self.peek() and self.peek() in "?*+{":
            self.fail("a repetition of a repetition is not allowed: group it and give one bound")
        return node

    def bounds(self) -> tuple[int, int]:
        self.take()
        end = self.source.find("}", self.at)
        low, comma, high = self.source[self.at : end].partition(",") if end >= 0 else ("", "", "")
        if not _is_number(low) or (comma and not _is_number(high)):
            self.fail("a repetition needs both bounds, as in {0,30}")
        least, most = int(low), int(high or low)
        if least > most or most > MOST_REPEATS:
            self.fail(f"the bounds of a repetition must rise and stay within {MOST_REPEATS}")
        self.at = end + 1
        return least, most

    def atom(self) -> Node:
        char = self.take()
        if char == "(":
            return self.group()
        if char == "[":
            return self.char_class()
        if char == "\\":
            return self.escape()
        if char == "<":
            return self.named_list()
        if char == ".":
            return Char(None, ".")
        if char in "^$":
            self.fail(f"'{char}' is not supported: use a `sentence` rule", 1)
        if char in "?*+{":
            self.fail(f"'{char}' has nothing to repeat", 1)
        return Char(char)

    def group(self) -> Node:
        if self.source.startswith("?:", self.at):
            self.at += 2
        elif self.peek() == "?":
            self.fail("look-around and flags are not supported: use guards for conditions on the context")
        self.depth += 1
        if self.depth > MOST_NESTED:
            self.fail(f"groups are nested more than {MOST_NESTED} deep: split the pattern into several")
        node = self.choice()
        self.depth -= 1
        if self.take() != ")":
            self.fail("unbalanced '('", 1)
        return node

    def escape(self) -> Node:
        char = self.take()
        if char == "b":
            return Edge()
        if char in _CLASSES:
            return Char(None, *_CLASSES[char])
        if char.isdigit():
            self.fail("back-references are not supported: their time has no bound", 2)
        if char == "" or char.isalnum():
            self.fail(f"unknown escape '\\{char}'", 2)
        return Char(char)

    def char_class(self) -> Node:
        end = self.source.find("]", self.at + 1)
        body = self.source[self.at : end]
        if end < 0:
            self.fail("unbalanced '['", 1)
        if "[" in body or "\\" in body:
            self.fail("a class holds plain characters and ranges only", 1)
        if falling := next((found[0] for found in _RANGE.finditer(body) if found[1] > found[2]), ""):
            self.fail(f"the range '{falling}' runs backwards: write '{falling[::-1]}'", 1)
        self.at = end + 1
        negated = body.startswith("^")
        shown = f"^\\n{body[1:]}" if negated else body
        is_range = "-" in body[1:-1]  # at either end it matches itself
        return Char(None, f"[{shown}]", "" if negated or is_range else body)

    def named_list(self) -> Node:
        end = self.source.find(">", self.at)
        name = self.source[self.at : end] if end >= 0 else ""
        if name not in self.lists:
            self.fail(f"there is no list '<{name}>'", 1)
        if name in self.within:
            self.fail(f"the list '<{name}>' contains itself", 1)
        if len(self.within) == MOST_NESTED:
            self.fail(f"lists are nested more than {MOST_NESTED} deep: write the words out", 1)
        self.at = end + 1
        return self.lists.node(name, (*self.within, name))
