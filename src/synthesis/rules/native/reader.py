"""Reading by the compiled reader: many texts in one call, and Python for what it declines."""

import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple, Protocol

from synthesis.cancellation import checkpoint
from synthesis.errors import NativeReaderError, shorten
from synthesis.rules.cache import cached_bytes
from synthesis.rules.detection import Detected
from synthesis.rules.language import UNDETERMINED, Language
from synthesis.rules.native.characters import VERSION, character_tables
from synthesis.rules.native.library import DONE, HEAD, NOT_REACHED, Handle, Library, encoded, flat, numbers_of
from synthesis.rules.native.program import Program
from synthesis.rules.python_reader import PythonReader, Rules
from synthesis.rules.reading import Hit, Message, Reading
from synthesis.rules.schema import Rule
from synthesis.rules.text import Span

HIT = 4  # numbers of each hit in an answer: its rule and wording, start and end
Key = tuple[str, str, frozenset[str] | None]  # language, side, signals


class NativeRules(Rules, Protocol):
    """What it must know of the rules in force."""

    def program(self, language: str) -> Program: ...

    def wanted(self, language: str, where: str, signals: frozenset[str] | None) -> list[Rule]: ...


class NativeReading(Reading):
    """A reading whose sentences are in an answer of the compiled reader."""

    __slots__ = ("_answer", "_first", "_last")

    def __init__(
        self, original: str, language: Language, how: str, hits: Sequence[Hit], answer: list[int], first: int, last: int
    ) -> None:
        super().__init__(original, language, how, hits)
        self._answer, self._first, self._last = answer, first, last

    @cached_property
    def sentences(self) -> list[Span]:
        numbers = self._answer[self._first : self._last]
        return list(zip(numbers[::2], numbers[1::2], strict=True))


class _Selection(NamedTuple):
    """The rules of one side and some signals, and what the numbers of hits mean."""

    matcher: Handle
    handle: Handle
    rules: Sequence[Rule | None]  # by the numbers of the program
    wordings: Sequence[str]


class _Part(NamedTuple):
    """Messages that are read in one call."""

    numbers: list[int]  # among all messages
    messages: list[Message]
    languages: list[tuple[Language, str]]

    def behind(self, place: int) -> "_Part":
        return _Part(self.numbers[place:], self.messages[place:], self.languages[place:])


class NativeReader:
    """Reads messages in batches, each language, side and choice of signals in one call."""

    def __init__(self, rules: NativeRules, library: Library) -> None:
        self._rules = rules
        self._library = library
        self._python = PythonReader(rules)
        self._matchers: dict[str, Handle] = {}
        self._selections: dict[Key, _Selection] = {}
        self.declined = 0  # texts that were left to Python, so far

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
            try:
                selection = self._selection(key)
                answer = self._answer(selection, [message.text for message in part.messages])
            except NativeReaderError as error:
                beginnings = ", ".join(repr(shorten(message.text, 30)) for message in part.messages[:3])
                warnings.warn(f"{error} (on {len(part.messages)} texts: {beginnings}); Python reads them", stacklevel=2)
                self._decline(part, range(len(part.numbers)), readings)
                return
            reached = self._take(selection, answer, part, readings)
            part = part.behind(reached)

    def _answer(self, selection: _Selection, texts: Sequence[str]) -> list[int]:
        return self._library.call("read", self._characters, selection.matcher, selection.handle, *encoded(texts))

    def _take(self, selection: _Selection, answer: list[int], part: _Part, readings: dict[int, Reading]) -> int:
        """Turn an answer into readings; returns how many texts were reached."""
        count = len(part.numbers)
        status, hits, sentences = (answer[place : count * HEAD : HEAD] for place in range(3))
        hit_at = count * HEAD
        sentence_at = hit_at + sum(hits) * HIT
        declined = []
        for place, (number, message, (language, how)) in enumerate(zip(*part, strict=True)):
            if status[place] == DONE:
                hit_end, sentence_end = hit_at + hits[place] * HIT, sentence_at + sentences[place] * 2
                found = list(_hits(selection, message.text, answer, hit_at, hit_end)) if hits[place] else ()
                reading = NativeReading(message.text, language, how, found, answer, sentence_at, sentence_end)
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

    def _decline(self, part: _Part, places: Sequence[int], readings: dict[int, Reading]) -> None:
        """Let Python read some of the texts."""
        if places:
            self.declined += len(places)
            messages = [
                part.messages[place]._replace(language=Detected(part.languages[place][0].code, part.languages[place][1]))
                for place in places
            ]
            for place, reading in zip(places, self._python.read(messages), strict=True):
                readings[part.numbers[place]] = reading

    def _selection(self, key: Key) -> _Selection:
        if key not in self._selections:
            language = key[0]
            program = self._rules.program(language)
            if language not in self._matchers:
                content = flat(program.numbers)
                self._matchers[language] = self._library.make("matcher", self._characters, *content)
            matcher = self._matchers[language]
            wanted = {rule.id: rule for rule in self._rules.wanted(*key)}
            numbers = [number for number, rule_id in enumerate(program.rules) if rule_id in wanted]
            handle = self._library.make("select", matcher, *numbers_of(numbers), keep=(matcher,))
            rules = [wanted.get(rule_id) for rule_id in program.rules]
            self._selections[key] = _Selection(matcher, handle, rules, program.wordings)
        return self._selections[key]

    @cached_property
    def _characters(self) -> Handle:
        tables = cached_bytes(f"characters-{VERSION}", character_tables)
        return self._library.make("characters", *flat(tables))


def _hits(selection: _Selection, text: str, answer: list[int], start: int, end: int) -> Iterator[Hit]:
    rules, wordings = selection.rules, selection.wordings
    numbers = islice(answer, start, end)
    for number, wording, first, last in zip(numbers, numbers, numbers, numbers, strict=True):
        rule = rules[number]
        assert rule is not None
        source = wordings[wording] if wording < len(wordings) else rule.source
        yield Hit(rule, source, first, last, text[first:last])
