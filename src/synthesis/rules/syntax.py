"""The pattern language: the part of regular expressions that is sure to take linear time, and nothing else.

    word phrase     letters and spaces match themselves, in any case and with any kind of apostrophe
    a|b  (?:a|b)    one of several
    x?  x{0,3}      optional, repeated; always with an upper bound
    .{0,30}         a gap inside one sentence
    [aeiou]  \\w \\d  one character of a kind
    <name>          one of the words of a list in the pack
    \\b              a word boundary; both ends of every pattern are bounded without it

Every repetition has an upper bound, so the steps that a search takes at one place have one too; `cost` computes it.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

from synthesis.rules.text import normalise_pattern
from synthesis.rules.tree import Char, Choice, Concat, Edge, Node, Repeat, width

MOST_REPEATS = 200  # a longer gap joins words that have little to do with each other
MOST_NESTED = 20  # groups and lists within each other; no reader follows as many
_DIGITS = "0123456789"
_RANGE = re.compile("(.)-(.)", re.DOTALL)
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
        self._words = words or {}
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
