"""The rules of a language as a program of the compiled reader: flat arrays, which it checks once when it loads them."""

import re
import struct
import sys
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Final

import msgspec

from synthesis.lazy import regex
from synthesis.rules import text as normal_form
from synthesis.rules.analysis import factored, split
from synthesis.rules.detection import (
    BY_LETTERS,
    FEWEST_WORDS,
    HAN_ALONE,
    LEAD,
    LEAD_SHARE,
    LEAST_SHARE,
    LETTERS_OF_A_WORD,
    LONGEST_PART,
    LOOKED_AT,
    Detector,
    Weights,
)
from synthesis.rules.matcher import FEW, REACH, SLACK, Matcher, PreparedGuard, PreparedRule, PreparedSentence, members
from synthesis.rules.pattern import MOST_SETS, STEM
from synthesis.rules.schema import FORMS
from synthesis.rules.syntax import Char, Choice, Concat, Edge, Node, Repeat, WordLists, parse
from synthesis.rules.text import UNDETERMINED, WORD_CHARACTERS, Language

NUMBER: Final = "I"
assert array(NUMBER).itemsize == 4  # as on every platform that Python runs on today


def characters(text: str) -> Iterable[int]:
    return map(ord, text)


class Sections:
    """Sections of numbers, one behind the other."""

    def __init__(self, magic: int, form: int) -> None:
        self._numbers = array(NUMBER)
        self.add([magic, form])

    def add(self, numbers: Sequence[int]) -> None:
        self._numbers.append(len(numbers))
        self._numbers.extend(numbers)

    def add_lists(self, lists: Iterable[Sequence[int]]) -> None:
        """A section of lists, each with its length in front."""
        self.add([number for one in lists for number in (len(one), *one)])

    def add_texts(self, texts: Iterable[str]) -> None:
        self.add_lists([list(characters(text)) for text in texts])

    def to_bytes(self) -> bytes:
        return self._numbers.tobytes()


# What Python knows about characters, as tables for the native reader: made from Python's own Unicode data.


CHARACTERS_MAGIC, CHARACTERS_FORMAT = 0x53594E43, 3
VERSION = f"{CHARACTERS_FORMAT}-{unicodedata.unidata_version}-{sys.version_info.major}.{sys.version_info.minor}"
PAGE = 256
_CAPITAL_SIGMA = "Σ"  # its lower case depends on what follows
_STOPS = ".!?…。！？।"
# What expressions on a text in NFKC ask for; to `re.IGNORECASE`, the last two are an i.
_PLAIN = regex("[\x00-\x7f\\s\u2010-\u2012\u0130\u0131]")

# The bits of `native/src/characters.rs`.
SPACE, WORD, ALPHANUMERIC, LETTER, LOWER, DECIMAL, DIGIT, INVISIBLE, DECLINED, ENDING, EDITED, COMBINES, COMBINING = (
    1 << bit for bit in range(13)
)


@cache
def all_characters() -> str:
    """Every character at the place of its number. Made when asked for: it takes longer than a start may."""
    return "".join(map(chr, range(sys.maxunicode + 1)))


def character_tables() -> bytes:
    """Flags of every character, its lower case, normal and plain form, in pages of 256; equal pages once."""
    capitals = [char for char in all_characters() if char.lower() != char]
    typographic = [*normal_form._TYPOGRAPHIC, *map(chr, normal_form._FULL_WIDTH)]
    lower = _differences(capitals, str.lower)
    normal = _differences([*capitals, *typographic], lambda char: normal_form._lower(normal_form._plain(char)))
    plain, plainer = _plain_forms()
    tables = (_flags(capitals), lower, normal, plain)
    pages: dict[tuple[tuple[int, ...], ...], int] = {}
    numbers = [
        pages.setdefault(tuple(tuple(table[start : start + PAGE]) for table in tables), len(pages))
        for start in range(0, sys.maxunicode + 1, PAGE)
    ]
    sections = Sections(CHARACTERS_MAGIC, CHARACTERS_FORMAT)
    sections.add(numbers)
    for table in zip(*pages, strict=True):
        sections.add([entry for page in table for entry in page])
    sections.add_texts(plainer)
    sections.add([number for row in _composed() for number in row])
    sections.add([number for row in _unsettled() for number in row])
    return sections.to_bytes()


def _flags(capitals: Iterable[str]) -> list[int]:
    flags = [0] * (sys.maxunicode + 1)
    for flag, found in _found(capitals):
        for code in found:
            flags[code] |= flag
    return flags


def _found(capitals: Iterable[str]) -> Iterable[tuple[int, Iterable[int]]]:
    alphanumeric = [code for code in _matching(r"\w") if chr(code) != "_"]
    yield SPACE, _matching(r"\s")
    yield WORD, _matching(f"[{WORD_CHARACTERS}]")
    yield ALPHANUMERIC, alphanumeric
    yield LETTER, [code for code in alphanumeric if chr(code).isalpha()]
    yield LOWER, (code for code, char in enumerate(all_characters()) if char.islower())
    yield DECIMAL, _matching(r"\d")
    yield DIGIT, [code for code in alphanumeric if chr(code).isdigit()]
    yield INVISIBLE, _matching(f"[{normal_form._INVISIBLE}]")
    yield COMBINING, _matching(f"[{normal_form._COMBINING}]")
    yield DECLINED, [ord(_CAPITAL_SIGMA)]
    yield DECLINED, [ord(char) for char in capitals if len(char.lower()) != 1]
    yield ENDING, map(ord, _STOPS + normal_form._CLOSERS)
    yield EDITED, _matching(rf"[\s*_~{normal_form._INVISIBLE}]")
    yield COMBINES, (ord(char) for char in all_characters() if _begins_combining(char))


def _begins_combining(char: str) -> bool:
    """Whether it, or the first of what it is made of, is written over or below the letter before it."""
    if unicodedata.decomposition(char):
        char = unicodedata.normalize("NFKD", char)[0]
    return unicodedata.combining(char) > 0


def _matching(expression: str) -> Iterable[int]:
    return (code for run in re.finditer(f"{expression}+", all_characters()) for code in range(*run.span()))


def _differences(characters: Iterable[str], becomes: Callable[[str], str]) -> list[int]:
    """By how much each character's number changes, as an unsigned number; 0 where it does not become one character."""
    found = [0] * (sys.maxunicode + 1)
    for char in characters:
        other = becomes(char)
        if len(other) == 1:
            found[ord(char)] = (ord(other) - ord(char)) & 0xFFFFFFFF
    return found


_UNSTABLE = 255  # in place of a class: a character that changes by itself when it is composed


def _composed() -> Iterable[tuple[int, int, int]]:
    """A letter, a mark behind it that normal forms compose, and what the two become."""
    is_mark = re.compile(f"[{normal_form._COMBINING}]").match
    for char in all_characters():
        parts = unicodedata.decomposition(char)
        first, _, mark = parts.partition(" ")
        if mark and "<" not in parts and is_mark(chr(int(mark, 16))) and _is_stable(char):
            yield int(first, 16), int(mark, 16), ord(char)


def _unsettled() -> Iterable[tuple[int, int]]:
    """Characters whose order or form a mark behind them may change, and the highest class of their marks."""
    for char in all_characters():
        if unicodedata.normalize("NFD", char) == char and not unicodedata.combining(char):
            continue
        classes = map(unicodedata.combining, unicodedata.normalize("NFD", char))
        yield ord(char), max(classes) if _is_stable(char) else _UNSTABLE


def _is_stable(char: str) -> bool:
    return unicodedata.normalize("NFC", char) == char


def _plain_forms() -> tuple[list[int], list[str]]:
    """For every character the number of what NFKC makes of it, from 1, and those texts; 0: itself, or nothing plain."""
    numbers: dict[str, int] = {}
    found = [0] * (sys.maxunicode + 1)
    for char in all_characters():
        if unicodedata.decomposition(char):
            plain = unicodedata.normalize("NFKC", char)
            if plain != char and _PLAIN.search(plain):
                found[ord(char)] = numbers.setdefault(plain, len(numbers) + 1)
    return found, list(numbers)


# Patterns as instructions of the native reader; `native/src/code.rs` says what each does.


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


# The words by which languages are detected, as a program for the compiled reader.


DETECTION_MAGIC, DETECTION_FORMAT = 0x53594E44, 2
DEFAULT = "en"
HOW = ("script", "words", "too short", "no evidence", "conversation", "declared")
_double = struct.Struct("=d").pack
_halves = struct.Struct("=2I").unpack


class DetectionProgram(msgspec.Struct, frozen=True):
    """What the native reader tells languages apart by, and what the numbers in its answers mean."""

    numbers: bytes
    codes: list[str]

    @classmethod
    def of(cls, detector: Detector) -> "DetectionProgram":
        return cls(detection_program(detector), codes_of(detector))


def codes_of(detector: Detector) -> list[str]:
    """The languages by number: in the order of their codes, `und` last."""
    known = {code for lists in (detector.words, detector.parts) for weights in lists.values() for code, _ in weights}
    return [*sorted(known | detector.ours), UNDETERMINED]


def detection_program(detector: Detector) -> bytes:
    """All that the language of a single text is decided by."""
    codes = codes_of(detector)
    numbers = {code: number for number, code in enumerate(codes)}
    undetermined = numbers[UNDETERMINED]
    sections = Sections(DETECTION_MAGIC, DETECTION_FORMAT)
    shares = [number for share in (LEAST_SHARE, BY_LETTERS, LEAD, LEAD_SHARE) for number in _bits(share)]
    limits = (LOOKED_AT, FEWEST_WORDS, LONGEST_PART, *shares, LETTERS_OF_A_WORD, HAN_ALONE)
    ours = [code in detector.ours for code in codes[:-1]]
    named = [numbers.get(code, undetermined) for code in (DEFAULT, "ja", "zh", "hi")]
    sections.add([*limits, len(ours), *ours, *named])
    for entries in (detector.words, detector.parts):
        sections.add(list(_entries(entries, numbers)))
    return sections.to_bytes()


def _entries(entries: Mapping[str, Weights], numbers: Mapping[str, int]) -> Iterable[int]:
    for text, weights in entries.items():
        yield len(text)
        yield from characters(text)
        yield from _bits(weights[0][1])  # the same for all languages that list it
        yield len(weights)
        yield from (numbers[code] for code, _ in weights)


def _bits(number: float) -> tuple[int, ...]:
    """The two halves of a double, the lower one first."""
    halves = _halves(_double(number))
    return halves if struct.pack("=H", 1) == b"\x01\x00" else halves[::-1]


PROGRAM_MAGIC, PROGRAM_FORMAT = 0x53594E50, 2
NO_CODE = 0  # in place of where a pattern begins, which is counted from 1


class Program(msgspec.Struct, frozen=True):
    """The rules of a language as the compiled library takes them, and what the numbers in its answers mean."""

    numbers: bytes
    rules: list[str]  # ids
    wordings: list[str]  # sources of patterns; empty for a sentence rule


class Image(msgspec.Struct, frozen=True, weakref=True):
    """The same as the library runs it: nothing has to be computed when it is loaded."""

    numbers: bytes
    rules: list[str]
    wordings: list[str]


def program(language: Language, matcher: Matcher, lists_of: Mapping[str, WordLists]) -> Program:
    """The program of all rules of a language; `lists_of` says with which lists each pattern was prepared."""
    writer = CodeWriter(language)
    index = matcher.index
    numbers = range(len(index.required))
    places: list[int] = []
    for number in numbers:
        if number in index.patterns:
            pattern = index.patterns[number]
            lists = lists_of[pattern.source]
            places += (writer.pattern(parse(pattern.source, lists), lists.is_list) + 1, pattern.longest)
        else:
            places += (NO_CODE, 0)
    sections = Sections(PROGRAM_MAGIC, PROGRAM_FORMAT)
    sections.add([language.spaced, REACH, SLACK, FEW, STEM, MOST_SETS])
    sections.add_texts(sorted(language.abbreviations))
    writer.finish(sections)
    sections.add(places)
    _add_required(sections, index.required)
    guards = {id(guard): number for number, guard in enumerate(matcher.guards.values())}
    sections.add([number for guard in matcher.guards.values() for number in _guard(guard)])
    sections.add(list(_rules(matcher.rules, guards)))
    return Program(
        sections.to_bytes(),
        [rule.rule.id for rule in matcher.rules],
        [index.patterns[number].source if number in index.patterns else "" for number in numbers],
    )


def _add_required(sections: Sections, required: Iterable[tuple[tuple[str, ...], ...]]) -> None:
    texts: dict[str, int] = {}
    numbers: list[int] = []
    for sets in required:
        numbers.append(len(sets))
        for words in sets:
            numbers += (len(words), *(texts.setdefault(word, len(texts)) for word in words))
    sections.add_texts(texts)
    sections.add(numbers)


def _counted(numbers: list[int]) -> Iterable[int]:
    return len(numbers), *numbers


def _guard(guard: PreparedGuard) -> Iterable[int]:
    yield guard.quoted
    for patterns in (guard.before, guard.after, guard.sentence):
        yield from _counted(members(patterns))


def _rules(rules: list[PreparedRule], guards: Mapping[int, int]) -> Iterable[int]:
    ranks = {rule_id: rank for rank, rule_id in enumerate(sorted(rule.rule.id for rule in rules))}
    for rule in rules:
        yield ranks[rule.rule.id]
        yield rule.rule.list_items
        yield from _counted(rule.patterns)
        yield from _counted([guards[id(guard)] for guard in rule.guards])
        yield rule.sentence is not None
        if rule.sentence:
            yield from _sentence(rule.sentence)


def _sentence(sentence: PreparedSentence) -> Iterable[int]:
    yield sentence.number
    yield FORMS.index(sentence.form)
    for patterns in (sentence.starts, sentence.has, sentence.also, sentence.lacks):
        yield from _counted(members(patterns))
