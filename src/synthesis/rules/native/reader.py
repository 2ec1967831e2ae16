"""Reading by the compiled reader, called through ctypes: many texts in one call, and Python for what it declines."""

import ctypes
import os
import sys
import warnings
import weakref
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from weakref import WeakValueDictionary

from synthesis.cancellation import checkpoint
from synthesis.rules.cache import cached_tables
from synthesis.rules.detection import Detected
from synthesis.rules.matcher import PythonReader, Rules
from synthesis.rules.native.program import HOW, NUMBER, Program, codes_of, detection_program
from synthesis.rules.reading import Hit, Message, Reading, cosine
from synthesis.rules.schema import Rule
from synthesis.rules.text import UNDETERMINED, Language, Span

SWITCH = "SYNTHESIS_NATIVE"
INTERFACE = 4
FILE = Path(__file__).with_name(
    "synthesis_native" + {"win32": ".dll", "cygwin": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
)
HEAD = 5  # numbers of each text in an answer: its status, hits and sentences, start and end of its anchor
DONE, DECLINED, EXHAUSTED, NOT_REACHED = range(4)


class NativeReaderError(Exception):
    """The compiled reader failed where it should not: a fault of ours. It is caught, and Python does the work."""


class _Numbers(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("capacity", ctypes.c_size_t)]


class Library:
    """The functions of the compiled reader."""

    def __init__(self, path: Path) -> None:
        self._functions = ctypes.CDLL(str(path))
        if self._functions.synthesis_interface() != INTERFACE:
            raise NativeReaderError("the compiled reader is of another version")

    def make(self, kind: str, *arguments: Any, keep: Sequence[object] = ()) -> "Handle":
        """A new object of the library; `keep` lives as long as it does."""
        made = ctypes.c_void_p()
        self.call(kind, *arguments, ctypes.byref(made))
        free = getattr(self._functions, f"synthesis_free_{'selection' if kind == 'select' else kind}")
        return Handle(made.value, free, keep)

    def call(self, name: str, *arguments: Any) -> list[int]:
        """The numbers that a function answers with."""
        return memoryview(self.answer(name, *arguments)).cast(NUMBER).tolist()

    def answer(self, name: str, *arguments: Any) -> bytes:
        """The same as they are in memory: two may be one of 64 bits."""
        answer = _Numbers()
        status = getattr(self._functions, f"synthesis_{name}")(*arguments, ctypes.byref(answer))
        try:
            content = ctypes.string_at(answer.data, answer.length * 4) if answer.length else b""
        finally:
            self._functions.synthesis_free(ctypes.byref(answer))
        if status:
            raise NativeReaderError(f"the native reader failed: {content.decode('utf-32')}")
        return content


class Handle:
    """An object inside the library, freed with this one."""

    def __init__(self, address: int | None, free: Callable[..., object], keep: Sequence[object] = ()) -> None:
        self._as_parameter_ = ctypes.c_void_p(address)
        self._keep = keep
        weakref.finalize(self, free, self._as_parameter_).atexit = False  # the process then frees everything at once


def flat(numbers: bytes) -> tuple[Any, ctypes.c_size_t]:
    """Numbers as a function of the library takes them: where they are and how many."""
    return numbers, ctypes.c_size_t(len(numbers) // 4)


def encoded(texts: Sequence[str]) -> tuple[Any, ...]:
    """Texts as code points one behind the other, and where each ends; lone surrogates stay what they are."""
    ends = array(NUMBER, accumulate(map(len, texts)))
    return *flat("".join(texts).encode(_CODE_POINTS, "surrogatepass")), *flat(ends.tobytes())


_CODE_POINTS = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"


def numbers_of(numbers: Iterable[int]) -> tuple[Any, ctypes.c_size_t]:
    return flat(array(NUMBER, numbers).tobytes())


@cache
def library() -> Library | None:
    """The compiled reader, if it is there and not switched off."""
    if os.environ.get(SWITCH) == "0":
        return None
    try:
        return Library(FILE)
    except (OSError, AttributeError, NativeReaderError):
        return None


def why_not() -> str | None:
    """Why there is no compiled reader, in words for a person; None if there is one."""
    if library() is not None:
        return None
    if os.environ.get(SWITCH) == "0":
        return f"{SWITCH}=0"
    return "it could not be loaded" if FILE.exists() else "it was not built: cargo was missing, or the build failed"


NAMED = 3  # cases in a warning
HIT = 4  # numbers of each hit in an answer: its rule and wording, start and end
Key = tuple[str, str, frozenset[str] | None]  # language, side, signals


class NativeRules(Rules, Protocol):
    """What it must know of the rules in force."""

    def program(self, language: str) -> Program: ...

    def wanted(self, language: str, where: str, signals: frozenset[str] | None) -> list[Rule]: ...


class NativeReading(Reading):
    """A reading whose sentences are in an answer of the compiled reader, and its likeness in that of its batch."""

    __slots__ = ("answer", "batch", "first", "last", "number")

    answer: list[int]
    first: int  # of the numbers of its sentences in the answer
    last: int
    batch: "_Batch"
    number: int  # in the batch

    @cached_property
    def sentences(self) -> list[Span]:
        numbers = self.answer[self.first : self.last]
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    def cosine_with(self, other: Reading) -> float:
        is_pair = isinstance(other, NativeReading) and other.batch is self.batch and other.number == self.number - 1
        known = self.batch.cosines[self.number // 2] if is_pair and self.number % 2 else None
        return super().cosine_with(other) if known is None else known


class _Batch:
    """Messages that were read together: a message and its reply stand side by side."""

    def __init__(self, reader: "NativeReader", messages: Sequence[Message]) -> None:
        self._reader = reader
        self._messages = messages

    @cached_property
    def cosines(self) -> list[float | None]:
        """How alike every two neighbours are; None where Python must say. All at once, when the first is asked for."""
        return self._reader.cosines([message.text for message in self._messages])


class _Selection(NamedTuple):
    """The rules of one side and some signals, and what the numbers of hits mean."""

    matcher: Handle
    handle: Handle
    rules: Sequence[Rule | None]  # by the numbers of the program
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
        self._library = library
        self._python = PythonReader(rules)
        self._selections: dict[Key, _Selection] = {}
        self._refused: set[str] = set()  # languages whose program could not be loaded
        self.declined = 0  # texts that were left to Python, so far

    def languages(self, conversations: Sequence[Sequence[str]]) -> list[list[Detected]]:
        """The language of each message of each conversation; where they differ, Python weighs them together."""
        texts = [text for conversation in conversations for text in conversation]
        detector, known = self._detector
        try:
            answer = self._library.call("detect", self._characters, detector, *encoded(texts))
        except NativeReaderError as error:
            warnings.warn(f"{error}; Python detects the languages", stacklevel=2)
            return self._python.languages(conversations)
        found = iter([known.get(pair) for pair in zip(answer[::2], answer[1::2], strict=True)])
        return [self._agreed(texts, list(islice(found, len(texts)))) for texts in conversations]

    def _agreed(self, texts: Sequence[str], alone: list[Detected | None]) -> list[Detected]:
        agreed = [detected for detected in alone if detected is not None]
        if len(agreed) == len(texts) and all(detected.language == agreed[0].language for detected in agreed):
            return agreed
        return self._rules.detector.conversation(texts)

    @cached_property
    def _detector(self) -> tuple[Handle, dict[tuple[int, int], Detected]]:
        """The detector inside the library, and what its answers mean."""
        detector = self._rules.detector
        handle = self._library.make("detector", *flat(detection_program(detector)))
        codes = enumerate(codes_of(detector))
        return handle, {(number, how): Detected(code, HOW[how]) for number, code in codes for how in range(len(HOW))}

    def cosines(self, texts: Sequence[str]) -> list[float | None]:
        """How alike the first and second text are, the third and fourth, and so on; None where Python must say."""
        try:
            answer = iter(self._library.call("compare", self._characters, *encoded(texts)))
        except NativeReaderError as error:
            warnings.warn(f"{error}; Python compares {len(texts)} texts", stacklevel=2)
            return [None] * (len(texts) // 2)
        return [_cosine(*counted) for counted in zip(answer, answer, answer, answer, strict=True)]

    def read(self, messages: Sequence[Message]) -> list[Reading]:
        """The reading of each message; one whose language has no rules has no hits."""
        readings: dict[int, Reading] = {}
        batch = _Batch(self, messages)
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
            self._read_part(key, part, batch, readings)
        return [readings[number] for number in range(len(messages))]

    def _read_part(self, key: Key, part: _Part, batch: _Batch, readings: dict[int, Reading]) -> None:
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
            reached = self._take(selection, answer, part, batch, readings)
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
        return self._library.call("read", self._characters, selection.matcher, selection.handle, *encoded(texts))

    def _take(
        self, selection: _Selection, answer: list[int], part: _Part, batch: _Batch, readings: dict[int, Reading]
    ) -> int:
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
                reading.batch, reading.number = batch, number
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
            language = key[0]
            program = self._rules.program(language)
            matcher = _matcher(self._library, program)
            wanted = {rule.id: rule for rule in self._rules.wanted(*key)}
            numbers = [number for number, rule_id in enumerate(program.rules) if rule_id in wanted]
            handle = self._library.make("select", matcher, *numbers_of(numbers), keep=(matcher,))
            rules = [wanted.get(rule_id) for rule_id in program.rules]
            wordings = [*program.wordings, *(rule.source if rule else "" for rule in rules)]
            self._selections[key] = _Selection(matcher, handle, rules, wordings)
        return self._selections[key]

    @property
    def _characters(self) -> Handle:
        return _characters(self._library)


@cache
def _characters(library: Library) -> Handle:
    """What is known about characters; one for all readers."""
    return library.make("characters", *flat(cached_tables()))


# By the library and the id of the program, which lives as long as the matcher does.
_matchers: WeakValueDictionary[tuple[Library, int], Handle] = WeakValueDictionary()


def _matcher(library: Library, program: Program) -> Handle:
    """One for all readers that run the same program: it weighs more than the program."""
    key = (library, id(program))
    found = _matchers.get(key)
    if found is None:
        found = library.make("matcher", _characters(library), *flat(program.numbers), keep=(program,))
        _matchers[key] = found
    return found


def _cosine(shared: int, left: int, right: int, code: int) -> float | None:
    if code > 1:
        return None
    if not left or not right:
        return 0.0
    return 1.0 if code else cosine(shared, left, right)


def _hits(selection: _Selection, text: str, numbers: list[int]) -> list[Hit]:
    rules, wordings, new = selection.rules, selection.wordings, tuple.__new__
    columns = zip(numbers[::HIT], numbers[1::HIT], numbers[2::HIT], numbers[3::HIT], strict=True)
    # As `Hit(...)` makes them, in half the time: there are many.
    return [
        new(Hit, (rules[rule], wordings[wording], start, end, text[start:end])) for rule, wording, start, end in columns
    ]
