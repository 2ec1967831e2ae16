"""Phrases: how packs say which words a rule looks for, in a form that a speaker of the language can read.

    you {softener} should {act}      one of the words of the slot `softener`, which a list names
    I {can't | cannot} go on         one of these, written in place
    you [really | just] should       one of these, or none
    {0-2 words}  {0-2 small words}   so many words of any kind; small ones have six letters at most
    {0-2: just | {softener}}         so many of these
    {word}  {number}                 one word, one number
    {0-30}  {0-8 near}               so many characters of the same sentence; without a comma or a space
    disappoint*                      any ending
    {2-12 letters}ed  {2-3 digits}   so many letters or digits, within a word
    café  don't                      also "cafe" and "dont": who types in a hurry leaves accents and apostrophes out;
                                     not in words of one or two letters, which would be others (`où`, `è`, `l'a`)
    _                                a space where one would be taken for layout
    \\*  \\é  \\'                       a character that means something here; an accent, an apostrophe that is needed

Words and gaps between them are those of one clause: `{0-2 words}` ends at a comma. `before` and `after` of an exception
reach across it.

A phrase is another way to write a pattern (`syntax.py`); it is translated when a pack is loaded. What may be absent
takes a space along: `you [really] should` finds "you should".
"""

import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import cache
from typing import NamedTuple, NoReturn

from synthesis.errors import did_you_mean
from synthesis.lazy import regex
from synthesis.rules.syntax import PatternError

WORD, SMALL_WORD, ENDING = r"\w{1,14}", r"\w{1,6}", r"\w{0,8}"
_ANY = {"word": WORD, "number": r"\d{1,6}"}
_COUNTED = regex(r"(\d+)-(\d+)(?: near|( small)? words?)?\}")
_WITHIN = regex(r"(\d+)-(\d+) (letters|digits)\}")  # a word
_REPEATED = regex(r"(\d+)-(\d+):")
_NAME = regex(r"[^\W\d_][\w-]*")
_LETTERS_BEFORE, _LETTERS_AFTER = regex(r"(?:[^\W\d_]|')*\Z"), regex(r"(?:[^\W\d_]|')*")
_META = frozenset(".^$?*+{}[]()|<>\\")  # what has a meaning in a pattern
_SPECIAL = frozenset("{}[]|*_\\")  # what has one in a phrase
_MARKS = frozenset(',.;:!?…"')  # which follow a word without a space
_SHORT = 2  # letters: words as short as this differ from others by an accent alone
_FIXED_SPACE = "\0"  # stands for a space that is no layout until all is joined


class _Some(NamedTuple):
    """A group that may be absent, or come more than once with spaces between."""

    part: str
    low: int
    high: int

    @property
    def is_mark(self) -> bool:
        """Whether it is a comma or the like, which stands at the word before it."""
        return all(option in _MARKS for option in self.part.strip("()").replace("\\", "").split("|"))

    def with_space(self, before: str = "", after: str = "") -> str:
        return f"({before}{self.part}{after})" + ("?" if self.high == 1 else f"{{{self.low},{self.high}}}")

    def alone(self) -> str:
        again = f"{{{max(0, self.low - 1)},{self.high - 1}}}"
        several = self.part if self.high == 1 else f"({self.part}( {self.part}){again})"
        return f"{several}?" if self.low == 0 else several


_Item = str | _Some
_MAYBE_SPACE = _Some(f"({_FIXED_SPACE})", 0, 1)


def pattern_of(phrase: str, slots: Collection[str], own: str = "") -> str:
    """The pattern that a phrase stands for; PatternError with the column where it is malformed.

    `own` is what the names of the rule's own slots begin with; they are looked up before those of the pack.
    """
    reader = _PhraseReader(phrase, slots, own)
    items = reader.sequence("")
    if reader.at < len(phrase):
        reader.fail(f"'{reader.peek()}' has a meaning only in brackets: write '\\{reader.peek()}' for the character")
    return _joined(items).replace(_FIXED_SPACE, " ")


def patterns_of(phrases: str, slots: Collection[str], own: str = "") -> list[str]:
    """The patterns of several phrases in one text: `never | not | no longer`."""
    reader = _PhraseReader(f"{phrases} ", slots, own)
    reader.at = -1
    found = reader.alternatives("")
    if reader.peek():
        reader.fail(f"'{reader.peek()}' closes nothing: write '\\{reader.peek()}' for the character")
    return [pattern.replace(_FIXED_SPACE, " ") for pattern in found]


def _joined(items: Sequence[_Item]) -> str:
    """One pattern. A group takes along the space after it, at the end of a phrase the one before it.

    So each place of a text decides at its first letter whether a group is there.
    """
    found, is_open, taken = "", True, False  # is_open: a word could begin here
    for number, item in enumerate(items):
        if isinstance(item, str):
            found += item[1:] if taken else item
            is_open, taken = item.endswith(" "), False
        elif is_open and _has_more(items, number) and not item.is_mark:
            found += item.with_space(after=" ")
            taken = True
        elif found.endswith(" ") and _ends(items, number):
            found = found[:-1] + item.with_space(before=" ")
        elif item.low == 0 and found.endswith(" ") and str(items[number + 1]).startswith(f"({_FIXED_SPACE}"):
            raise PatternError("where [...] is absent, two spaces remain: write [_...], and no space before it", 1)
        else:
            found += item.alone()
            is_open = False
    return found


def _has_more(items: Sequence[_Item], number: int) -> bool:
    """Whether a space follows a group, and then, maybe after further groups, a word."""
    rest = items[number + 1 :]
    words = (item for item in rest if isinstance(item, str) and item.strip())
    is_apart = bool(rest) and isinstance(rest[0], str) and rest[0].startswith(" ")
    return is_apart and not _is_mark(next(words, "."))


def _ends(items: Sequence[_Item], number: int) -> bool:
    """Whether a group is the last of its phrase, or of what a punctuation mark ends."""
    rest = [item for item in items[number + 1 :] if item != _MAYBE_SPACE]
    return not rest or rest[0] == " " or (isinstance(rest[0], str) and _is_mark(rest[0]))


def _is_mark(text: str) -> bool:
    return text.removeprefix("\\")[:1] in _MARKS


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
                items.append(_Some(self._options("]"), 0, 1))
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
            if char not in _SPECIAL and char != "'" and not _without_accent(char):
                allowed = f"{' '.join(sorted(_SPECIAL))} ' and letters with an accent"
                self.fail(f"'\\' goes before {allowed} only", self.at - 1)
            self.at += 1
        elif char in "*_":
            return ENDING if char == "*" else _FIXED_SPACE
        elif char == "'" and self._in_long_word():
            return "'?"
        elif (plain := _without_accent(char)) and self._in_long_word():
            return f"[{char}{plain}]"
        return f"\\{char}" if char in _META else char

    def _in_long_word(self) -> bool:
        """Whether the character just read stands in a word that no accent and no apostrophe tells from others."""
        before = _LETTERS_BEFORE.search(self.source, 0, self.at - 1)
        after = _LETTERS_AFTER.match(self.source, self.at)
        assert before  # both can match nothing
        assert after
        letters = before[0] + self.source[self.at - 1] + after[0]
        inside = bool(before[0] and after[0]) or self.source[self.at - 1] != "'"
        return inside and len(letters.replace("'", "")) > _SHORT

    def alternatives(self, closing: str) -> list[str]:
        """What stands between bars, from the character after this one; the spaces around each are layout."""
        found: list[str] = []
        while not found or self.peek() == "|":
            self.at += 1
            found.append(_joined(_stripped(self.sequence(closing))))
            if not found[-1]:
                self.fail("an alternative is empty; what may be absent goes into [...]")
        return found

    def _options(self, closing: str) -> str:
        """The alternatives up to a closing bracket."""
        opened = self.at
        options = self.alternatives(closing)
        if self.peek() != closing:
            self.fail(f"'{self.source[opened]}' has no '{closing}' that closes it", opened)
        self.at += 1
        if len(options) > 1 and all(len(option) == 1 and option.isalnum() for option in options):
            return f"[{''.join(options)}]"  # told apart at one look
        return f"({'|'.join(options)})"

    def _slot(self) -> _Item:
        """What is in braces: so many words or characters, so many of something, a slot, or alternatives."""
        opened, inside = self.at, self.at + 1
        if counted := _COUNTED.match(self.source, inside):
            self.at = counted.end()
            if "word" in counted[0]:
                return _so_many_words(counted)
            return f"{'[^, ]' if 'near' in counted[0] else '.'}{{{counted[1]},{counted[2]}}}"
        if within := _WITHIN.match(self.source, inside):
            self.at = within.end()
            return f"\\{'w' if within[3] == 'letters' else 'd'}{{{within[1]},{within[2]}}}"
        if repeated := _REPEATED.match(self.source, inside):
            self.at = repeated.end() - 1
            return _so_many(self._options("}"), int(repeated[1]), int(repeated[2]))
        end = self.source.find("}", inside)
        name = self.source[inside : max(end, inside)]
        if self._is_known(name) or _NAME.fullmatch(name):
            self.at = end + 1
            return self._named(name, opened)
        return self._options("}")

    def _is_known(self, name: str) -> bool:
        return name in self.slots or f"{self.own}{name}" in self.slots or name in _ANY

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


@cache
def _without_accent(char: str) -> str:
    """The plain letter under an accent; empty where there is none."""
    parts = unicodedata.normalize("NFD", char)
    return parts[0] if len(parts) == 2 and parts[0].isascii() and parts[0].isalpha() else ""


def _so_many_words(counted: "re.Match[str]") -> _Item:
    return _so_many(f"({SMALL_WORD if counted[3] else WORD})", int(counted[1]), int(counted[2]))


def _so_many(part: str, low: int, high: int) -> _Item:
    return part if low == high == 1 else _Some(part, low, high)
