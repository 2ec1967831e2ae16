"""Patterns as instructions of the native reader; `native/src/code.rs` says what each does.

The choices are tried in the order in which `re` tries those of the expression, so both find the same match.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from synthesis.rules.factoring import factored, split
from synthesis.rules.language import Language
from synthesis.rules.native.sections import NUMBER, Sections
from synthesis.rules.tree import Char, Choice, Concat, Edge, Node, Repeat

LAST = 0x10FFFF
(
    MATCH,
    CHAR,
    LITERAL,
    CLASS,
    EDGE,
    SPLIT,
    JUMP,
    SWITCH,
    GREEDY,
    LAZY,
    CALL,
    RETURN,
    LOOP,
    UNTIL,
) = range(14)

Ranges = tuple[tuple[int, int], ...]
WORDS: Ranges = ()  # what belongs to words: the reader's own tables say it, which depend on the version of Python


class CodeWriter:
    """Writes the code of all patterns of a language. Targets are numbers of instructions."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self._code = array(NUMBER)
        self._letters: list[int] = []
        self._literals: dict[str, int] = {}
        self._cases: list[int] = []
        self._classes: dict[Ranges, int] = {}
        self._registers = 0
        self._lists: dict[int, tuple[Choice, list[int]]] = {}  # long choices, and the calls that wait for them
        self._places: dict[int, int] = {}
        self._is_list: Callable[[Choice], bool] = lambda _: False

    def pattern(self, node: Node, is_list: Callable[[Choice], bool]) -> int:
        """Writes a pattern and returns where it begins; a list that it names stands once, and all patterns call it."""
        self._is_list = is_list
        start = self._here
        self._write(node)
        if self._language.spaced:
            self._add(EDGE)
        self._add(MATCH)
        return start

    def finish(self, sections: Sections) -> None:
        """Writes the lists that patterns call, then everything into sections."""
        while waiting := [key for key in self._lists if key not in self._places]:
            for key in waiting:
                self._places[key] = self._here
                self._write_choice(self._lists[key][0])
                self._add(RETURN)
        for key, (_, calls) in self._lists.items():
            for call in calls:
                self._code[call * 4 + 1] = self._places[key]
        sections.add_lists([[end for span in ranges for end in span] for ranges in self._classes])
        sections.add(self._letters)
        sections.add(self._cases)
        sections.add([self._registers])
        sections.add(self._code)

    @property
    def _here(self) -> int:
        return len(self._code) // 4

    def _add(self, op: int, a: int = 0, b: int = 0, c: int = 0) -> int:
        """Writes an instruction and returns its number."""
        self._code.extend((op, a, b, c))
        return len(self._code) // 4 - 1

    def _aim(self, instruction: int, *, word: int = 1) -> None:
        """Lets an instruction lead to the place that is written next."""
        self._code[instruction * 4 + word] = self._here

    def _write(self, node: Node) -> None:
        match node:
            case Char(literal=str(literal)):
                self._write_literal(literal)
            case Char(source=source):
                self._add(CLASS, self._class(source))
            case Edge():
                if self._language.spaced:
                    self._add(EDGE)
            case Concat(parts):
                for part in parts:
                    self._write(part)
            case Choice() if self._is_list(node):
                calls = self._lists.setdefault(id(node), (node, []))[1]
                calls.append(self._add(CALL))
            case Choice():
                self._write_choice(node)
            case Repeat(part, low, high):
                self._write_repeat(part, low, high)

    def _write_literal(self, literal: str) -> None:
        if len(literal) == 1:
            self._add(CHAR, ord(literal))
        elif literal:
            if literal not in self._literals:
                self._literals[literal] = len(self._letters)
                self._letters.extend(map(ord, literal))
            self._add(LITERAL, self._literals[literal], len(literal))

    def _write_choice(self, choice: Choice) -> None:
        """Options in their order; neighbours with different first letters behind one look at the letter."""
        runs = [
            (is_fixed, [option for option, _ in run])
            for is_fixed, run in groupby(
                ((option, split(option) is not None) for option in factored(choice)), key=lambda item: item[1]
            )
        ]
        alternatives = [
            alternative
            for is_fixed, options in runs
            for alternative in ([options] if is_fixed else [[option] for option in options])
        ]
        ends: list[int] = []
        for number, options in enumerate(alternatives):
            is_last = number == len(alternatives) - 1
            other = None if is_last else self._add(SPLIT)
            ends += self._write_switch(options) if len(options) > 1 else self._write_option(options[0])
            if other is not None:
                ends.append(self._add(JUMP))
                self._aim(other)
        for end in ends:
            self._aim(end)

    def _write_option(self, option: Node) -> list[int]:
        self._write(option)
        return []

    def _write_switch(self, options: Sequence[Node]) -> list[int]:
        by_letter = sorted(
            ((ord(found[0]), option) for option in options if (found := split(option))), key=lambda item: item[0]
        )
        at = len(self._cases) // 2
        self._add(SWITCH, at, len(by_letter))
        self._cases.extend(number for letter, _ in by_letter for number in (letter, 0))
        ends: list[int] = []
        for number, (_, option) in enumerate(by_letter):
            self._cases[(at + number) * 2 + 1] = self._here
            self._write(option)
            if number < len(by_letter) - 1:
                ends.append(self._add(JUMP))
        return ends

    def _write_repeat(self, part: Node, low: int, high: int) -> None:
        if isinstance(part, Char) and (part.literal is None or len(part.literal) == 1):
            if high:
                its_class = self._class(part.source) if part.literal is None else self._class_of(part.literal)
                self._add(LAZY if part.is_gap else GREEDY, its_class, low, high)
        elif (low, high) == (0, 1):
            other = self._add(SPLIT)
            self._write(part)
            self._aim(other)
        elif (low, high) == (1, 1):
            self._write(part)
        elif high:
            self._write_loop(part, low, high)

    def _write_loop(self, part: Node, low: int, high: int) -> None:
        register, self._registers = self._registers, self._registers + 1
        self._add(LOOP, register)
        until = self._add(UNTIL, register, low << 16 | high)
        self._write(part)
        self._add(JUMP, until)
        self._aim(until, word=3)

    def _class(self, source: str) -> int:
        return self._number(class_ranges(source, self._language))

    def _class_of(self, characters: str) -> int:
        return self._number(united((ord(char), ord(char)) for char in characters))

    def _number(self, ranges: Ranges) -> int:
        return self._classes.setdefault(ranges, len(self._classes))


def class_ranges(source: str, language: Language) -> Ranges:
    """The characters of a class as `re` understands it: `.`, `\\w`, one character, or a class in brackets."""
    if source == ".":
        return others(united((ord(char), ord(char)) for char in language.stops))
    if source == r"\w":
        return WORDS
    if not source.startswith("["):
        return united((ord(char), ord(char)) for char in source)
    body = source[1:-1]
    if body.startswith("^"):
        return others(united(_listed(body[1:].replace("\\n", "\n"))))
    return united(_listed(body))


def _listed(body: str) -> Iterable[tuple[int, int]]:
    at = 0
    while at < len(body):
        if body[at + 1 : at + 2] == "-" and at + 2 < len(body):
            yield ord(body[at]), ord(body[at + 2])
            at += 3
        else:
            yield ord(body[at]), ord(body[at])
            at += 1


def united(spans: Iterable[tuple[int, int]]) -> Ranges:
    """Ranges in order, those that touch as one."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return tuple(found)


def others(ranges: Ranges) -> Ranges:
    """All characters but these."""
    edges = [-1, *(end for span in ranges for end in span), LAST + 1]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return tuple((before + 1, after - 1) for before, after in pairs if before + 1 <= after - 1)
