"""Reading messages by the compiled library: many texts in one call, and Python for what it declines.

Whoever decides in Python reads so: checks that are functions, explanations, and the tests of rules.
"""

import ctypes
import warnings
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import cache, cached_property
from itertools import islice
from typing import NamedTuple, Protocol
from weakref import WeakValueDictionary

from synthesis.cancellation import checkpoint
from synthesis.rules.cache import cached_tables
from synthesis.rules.detection import Detected
from synthesis.rules.matcher import PythonReader, Rules
from synthesis.rules.native.library import Handle, Library, NativeReaderError, encoded, flat, numbers_of
from synthesis.rules.native.program import HOW, DetectionProgram, Image, Program
from synthesis.rules.reading import Hit, Message, Reading
from synthesis.rules.schema import Rule
from synthesis.rules.text import UNDETERMINED, Language, Span

HEAD = 5  # numbers of each text in an answer: its status, hits and sentences, start and end of its anchor
DONE, DECLINED, EXHAUSTED, NOT_REACHED = range(4)
NAMED = 3  # cases in a warning
HIT = 4  # numbers of each hit in an answer: its rule and wording, start and end
Key = tuple[str, str, frozenset[str] | None]  # language, side, signals


class NativeRules(Rules, Protocol):
    """What it must know of the rules in force."""

    @property
    def detection(self) -> DetectionProgram: ...

    def image(self, language: str) -> Image: ...

    def wanted(self, language: str, where: str, signals: frozenset[str] | None) -> list[Rule]: ...


class NativeReading(Reading):
    """A reading whose sentences are in an answer of the compiled reader."""

    __slots__ = ("answer", "first", "last")

    answer: list[int]
    first: int  # of the numbers of its sentences in the answer
    last: int

    @cached_property
    def sentences(self) -> list[Span]:
        numbers = self.answer[self.first : self.last]
        return list(zip(numbers[::2], numbers[1::2], strict=True))


class _Selection(NamedTuple):
    """The rules of one side and some signals, and what the numbers of hits mean."""

    matcher: Handle
    is_reply: bool
    rules: Sequence[Rule | None]  # by their numbers; None: not asked for
    wordings: Sequence[str]  # of patterns, then of rules that are found by a sentence or a list


class _Part(NamedTuple):
    """Messages that are read in one call."""

    numbers: list[int]  # among all messages
    messages: list[Message]
    languages: list[tuple[Language, str]]

    def behind(self, place: int) -> "_Part":
        return _Part(self.numbers[place:], self.messages[place:], self.languages[place:])


class NativeReader:
    """Reads messages in batches, each language, side and choice of signals in one call."""

    name = "native"

    def __init__(self, rules: NativeRules, library: Library) -> None:
        self._rules = rules
        self.library = library
        self._python = PythonReader(rules)
        self._selections: dict[Key, _Selection] = {}
        self._refused: set[str] = set()  # languages whose program could not be loaded
        self.declined = 0  # texts that were left to Python, so far

    def languages(self, conversations: Sequence[Sequence[str]]) -> list[list[Detected]]:
        """The language of each message of each conversation, weighed together."""
        texts = [text for conversation in conversations for text in conversation]
        sizes = numbers_of(map(len, conversations))
        try:
            answer = self.library.call("detect", self.characters, self.detector, *encoded(texts), *sizes)
        except NativeReaderError as error:
            warnings.warn(f"{error}; Python detects the languages", stacklevel=2)
            return self._python.languages(conversations)
        found = iter([self._detected.get(pair) for pair in zip(answer[::2], answer[1::2], strict=True)])
        return [self._known(texts, list(islice(found, len(texts)))) for texts in conversations]

    def _known(self, texts: Sequence[str], found: list[Detected | None]) -> list[Detected]:
        known = [detected for detected in found if detected is not None]
        return known if len(known) == len(texts) else self._rules.detector.conversation(texts)

    @cached_property
    def detector(self) -> Handle:
        """The detector inside the library."""
        return self.library.make("detector", *flat(self._rules.detection.numbers))

    @cached_property
    def _detected(self) -> dict[tuple[int, int], Detected]:
        codes = enumerate(self._rules.detection.codes)
        return {(number, how): Detected(code, HOW[how]) for number, code in codes for how in range(len(HOW))}

    def read(self, messages: Sequence[Message]) -> list[Reading]:
        """The reading of each message; one whose language has no rules has no hits."""
        readings: dict[int, Reading] = {}
        parts: dict[Key, _Part] = defaultdict(lambda: _Part([], [], []))
        for number, message in enumerate(messages):
            language, how = self._rules.language_of(message)
            if message.text and language.code != UNDETERMINED:
                part = parts[language.code, message.where, message.signals]
                part.numbers.append(number)
                part.messages.append(message)
                part.languages.append((language, how))
            else:
                readings[number] = Reading(message.text, language, how)
        for key, part in parts.items():
            self._read_part(key, part, readings)
        return [readings[number] for number in range(len(messages))]

    def _read_part(self, key: Key, part: _Part, readings: dict[int, Reading]) -> None:
        """Read in as many calls as it takes: a call returns when it has taken its share of time."""
        while part.numbers:
            checkpoint()
            selection = self._selection(key)
            if selection is None:
                self._decline(part, range(len(part.numbers)), readings)
                return
            try:
                answer = self._answer(selection, [message.text for message in part.messages])
            except NativeReaderError as error:
                warnings.warn(f"{error} ({self._told(selection, part.messages)}); Python reads them", stacklevel=2)
                self._decline(part, range(len(part.numbers)), readings)
                return
            reached = self._take(selection, answer, part, readings)
            part = part.behind(reached)

    def _told(self, selection: _Selection, messages: Sequence[Message]) -> str:
        """On how many texts it failed, and the cases of those on which it fails by themselves; nobody's words."""
        cases = list(dict.fromkeys(message.case for message in messages if self._fails_on(selection, message)))
        named = f" of the cases {', '.join(map(repr, cases[:NAMED]))}" if any(cases) else ""
        return f"on {len(messages)} texts{', on those' if named else ''}{named}"

    def _fails_on(self, selection: _Selection, message: Message) -> bool:
        try:
            self._answer(selection, [message.text])
        except NativeReaderError:
            return True
        return False

    def _answer(self, selection: _Selection, texts: Sequence[str]) -> list[int]:
        side = ctypes.c_uint32(selection.is_reply)
        return self.library.call("read", self.characters, selection.matcher, side, *encoded(texts))

    def _take(self, selection: _Selection, answer: list[int], part: _Part, readings: dict[int, Reading]) -> int:
        """Turn an answer into readings; returns how many texts were reached."""
        count = len(part.numbers)
        status, hits, sentences = (answer[place : count * HEAD : HEAD] for place in range(3))
        hit_at = count * HEAD
        sentence_at = hit_at + sum(hits) * HIT
        declined: list[int] = []
        for place, (number, message, (language, how)) in enumerate(zip(*part, strict=True)):
            if status[place] == DONE:
                hit_end, sentence_end = hit_at + hits[place] * HIT, sentence_at + sentences[place] * 2
                found = _hits(selection, message.text, answer[hit_at:hit_end]) if hits[place] else ()
                reading = NativeReading(message.text, language, how, found)
                reading.answer, reading.first, reading.last = answer, sentence_at, sentence_end
                reading.anchor = answer[place * HEAD + 3], answer[place * HEAD + 4]
                readings[number] = reading
                hit_at, sentence_at = hit_end, sentence_end
            elif status[place] == NOT_REACHED:
                self._decline(part, declined, readings)
                return place
            else:
                declined.append(place)
        self._decline(part, declined, readings)
        return count

    def steps(self, language: str, where: str, texts: Sequence[str]) -> dict[str, int]:
        """The steps that each pattern takes on the texts of one side, by its source."""
        image = self._rules.image(language)
        side = ctypes.c_uint32(where == "assistant")
        numbers = self.library.call("steps", self.characters, self.matcher(image), side, *encoded(texts))
        found = zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)
        return {image.wordings[number]: low | high << 32 for number, low, high in found}

    def _decline(self, part: _Part, places: Sequence[int], readings: dict[int, Reading]) -> None:
        """Let Python read some of the texts."""
        if places:
            self.declined += len(places)
            messages = [
                part.messages[place]._replace(
                    language=Detected(part.languages[place][0].code, part.languages[place][1])
                )
                for place in places
            ]
            for place, reading in zip(places, self._python.read(messages), strict=True):
                readings[part.numbers[place]] = reading

    def _selection(self, key: Key) -> _Selection | None:
        """What a side is read with; None for a language whose program was refused, which is reported once."""
        if key[0] in self._refused:
            return None
        try:
            return self._selected(key)
        except NativeReaderError as error:
            self._refused.add(key[0])
            warnings.warn(f"{error} (the program of '{key[0]}'); Python reads these texts", stacklevel=2)
            return None

    def _selected(self, key: Key) -> _Selection:
        if key not in self._selections:
            language, where, _ = key
            image = self._rules.image(language)
            wanted = {rule.id: rule for rule in self._rules.wanted(*key)}
            rules = [wanted.get(rule_id) for rule_id in image.rules]
            wordings = [*image.wordings, *(rule.source if rule else "" for rule in rules)]
            self._selections[key] = _Selection(self.matcher(image), where == "assistant", rules, wordings)
        return self._selections[key]

    @property
    def characters(self) -> Handle:
        """What is known about characters."""
        return _characters(self.library)

    def matcher(self, image: Image) -> Handle:
        """What reads the texts of a language."""
        return _matcher(self.library, image)


@cache
def _characters(library: Library) -> Handle:
    """What is known about characters; one for all readers."""
    return library.make("characters", *flat(cached_tables()))


# By the library and the id of the image, which lives as long as the matcher does.
_matchers: WeakValueDictionary[tuple[Library, int], Handle] = WeakValueDictionary()


def _matcher(library: Library, image: Image) -> Handle:
    """One for all readers of the same image: it weighs as much again."""
    key = (library, id(image))
    found = _matchers.get(key)
    if found is None:
        found = library.make("matcher", _characters(library), *flat(image.numbers), keep=(image,))
        _matchers[key] = found
    return found


class Sides(NamedTuple):
    """The ids of the rules that are looked for in messages, in replies, and in the messages of authored cases."""

    messages: Collection[str]
    replies: Collection[str]
    authored: Collection[str]


def image_of(library: Library, program: Program, sides: Sides) -> Image:
    """The image of a program."""
    numbers_by_side = [[number for number, rule in enumerate(program.rules) if rule in own] for own in sides]
    told = numbers_of(number for own in numbers_by_side for number in (len(own), *own))
    numbers = library.answer("image", _characters(library), *flat(program.numbers), *told)
    return Image(numbers, program.rules, program.wordings)


def _hits(selection: _Selection, text: str, numbers: list[int]) -> list[Hit]:
    rules, wordings, new = selection.rules, selection.wordings, tuple.__new__
    columns = zip(numbers[::HIT], numbers[1::HIT], numbers[2::HIT], numbers[3::HIT], strict=True)
    # As `Hit(...)` makes them, in half the time: there are many.
    return [
        new(Hit, (found, wordings[wording], start, end, text[start:end]))
        for rule, wording, start, end in columns
        if (found := rules[rule]) is not None
    ]
