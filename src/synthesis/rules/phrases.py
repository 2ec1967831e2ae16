"""Phrases: how packs say which words a rule looks for, in a form that a speaker of the language can read.

    you {softener} should {act}      one of the words of the slot `softener`, which a list names
    I {can't | cannot} go on         one of these, written in place
    you [really | just] should       one of these, or none
    {0-2 words}  {0-2 small words}   so many words of any kind; small ones have six letters at most
    {0-2: just | {softener}}         so many of these
    {word}  {number}                 one word, one number
    {0-30}                           so many characters of the same sentence
    disappoint*                      any ending
    _                                a space where one would be taken for layout
    \\*                               a character that has a meaning of its own here

A phrase is another way to write a pattern (`syntax.py`); it is translated when a pack is loaded. What may be absent
takes the space before it along: `you [really] should` finds "you should".
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple, NoReturn

from synthesis.errors import did_you_mean
from synthesis.lazy import regex
from synthesis.rules.syntax import PatternError

WORD, SMALL_WORD, ENDING = r"\w{1,14}", r"\w{1,6}", r"\w{0,8}"
_ANY = {"word": WORD, "number": r"\d{1,6}"}
_COUNTED = regex(r"(\d+)-(\d+)(?:( small)? words?)?\}")
_REPEATED = regex(r"(\d+)-(\d+):")
_NAME = regex(r"[^\W\d_][\w-]*")
_META = frozenset(".^$?*+{}[]()|<>\\")  # what has a meaning in a pattern
_SPECIAL = frozenset("{}[]|*_\\")  # what has one in a phrase
_FIXED_SPACE = "\0"  # stands for a space that is no layout until all is joined


class _Maybe(NamedTuple):
    """A group that may be absent, and how often it may come."""

    part: str
    times: str


_Item = str | _Maybe


def pattern_of(phrase: str, slots: Collection[str], own: str = "") -> str:
    """The pattern that a phrase stands for; PatternError with the column where it is malformed.

    `own` is what the names of the rule's own slots begin with; they are looked up before those of the pack.
    """
    reader = _PhraseReader(phrase, slots, own)
    items = reader.sequence("")
    if reader.at < len(phrase):
        reader.fail(f"'{reader.peek()}' has a meaning only in brackets: write '\\{reader.peek()}' for the character")
    return _joined(items).replace(_FIXED_SPACE, " ")


def _joined(items: Sequence[_Item]) -> str:
    """One pattern. What may be absent takes the space before it along, at the beginning the one after it."""
    found, at_beginning, taken = "", True, False
    for number, item in enumerate(items):
        follows = items[number + 1] if number + 1 < len(items) else ""
        if isinstance(item, str):
            found += item[1:] if taken else item
            at_beginning, taken = at_beginning and not item.strip(), False
        elif found.endswith(" ") and not at_beginning:
            found = f"{found[:-1]}( {item.part}){item.times}"
        elif at_beginning and isinstance(follows, str) and follows.startswith(" "):
            found += f"({item.part} ){item.times}"
            taken = True
        else:
            found += f"{item.part}{item.times}"
    return found


class _PhraseReader:
    """Reads a phrase from left to right; what is in brackets by calling itself."""

    def __init__(self, source: str, slots: Collection[str], own: str) -> None:
        self.source = source
        self.slots = slots
        self.own = own
        self.at = 0

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        raise PatternError(message, (self.at if at is None else at) + 1)

    def peek(self) -> str:
        return self.source[self.at : self.at + 1]

    def sequence(self, stops: str) -> list[_Item]:
        """What comes before one of the characters that stop it, a stray bracket or the end."""
        items: list[_Item] = []
        while (char := self.peek()) and char not in stops and char not in "}]|":
            if char == "{":
                items.append(self._slot())
            elif char == "[":
                items.append(_Maybe(self._options("]"), "?"))
            elif items and isinstance(items[-1], str):
                items[-1] += self._plain()
            else:
                items.append(self._plain())
        return items

    def _plain(self) -> str:
        char = self.peek()
        self.at += 1
        if char == "\\":
            char = self.peek()
            if char not in _SPECIAL:
                self.fail(f"'\\' goes before {' '.join(sorted(_SPECIAL))} only", self.at - 1)
            self.at += 1
        elif char in "*_":
            return ENDING if char == "*" else _FIXED_SPACE
        return f"\\{char}" if char in _META else char

    def _options(self, closing: str) -> str:
        """The alternatives up to a closing bracket; the spaces around each are layout."""
        opened = self.at
        options: list[str] = []
        while not options or self.peek() == "|":
            self.at += 1
            options.append(_joined(_stripped(self.sequence(closing))))
            if not options[-1]:
                self.fail("an alternative is empty; what may be absent goes into [...]")
        if self.peek() != closing:
            self.fail(f"'{self.source[opened]}' has no '{closing}' that closes it", opened)
        self.at += 1
        return f"({'|'.join(options)})"

    def _slot(self) -> _Item:
        """What is in braces: so many words or characters, so many of something, a slot, or alternatives."""
        opened, inside = self.at, self.at + 1
        if counted := _COUNTED.match(self.source, inside):
            self.at = counted.end()
            return _so_many_words(counted) if "word" in counted[0] else f".{{{counted[1]},{counted[2]}}}"
        if repeated := _REPEATED.match(self.source, inside):
            self.at = repeated.end() - 1
            return _so_many(self._options("}"), int(repeated[1]), int(repeated[2]))
        name = _NAME.match(self.source, inside)
        if name and self.source[name.end() : name.end() + 1] == "}":
            self.at = name.end() + 1
            return self._named(name[0], opened)
        return self._options("}")

    def _named(self, name: str, at: int) -> str:
        if f"{self.own}{name}" in self.slots and self.own:
            return f"<{self.own}{name}>"
        if name not in self.slots and name not in _ANY:
            known = {slot.removeprefix(self.own) for slot in self.slots} | set(_ANY)
            self.fail(f"there is no slot '{name}'. {did_you_mean(name, [n for n in known if '/' not in n])}", at)
        return f"<{name}>" if name in self.slots else _ANY[name]


def _stripped(items: list[_Item]) -> list[_Item]:
    """Without the spaces at both ends."""
    if items and isinstance(items[0], str):
        items[0] = items[0].lstrip(" ")
    if items and isinstance(items[-1], str):
        items[-1] = items[-1].rstrip(" ")
    return [item for item in items if item]


def _so_many_words(counted: "re.Match[str]") -> _Item:
    return _so_many(f"({SMALL_WORD if counted[3] else WORD})", int(counted[1]), int(counted[2]))


def _so_many(part: str, low: int, high: int) -> _Item:
    """Several of the same kind with spaces between them."""
    if low == 0:
        return _Maybe(part, f"{{0,{high}}}")
    return f"{part}( {part}){{{low - 1},{high - 1}}}" if high > 1 else part
