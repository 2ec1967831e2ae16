"""Both readers side by side: every place, word and rule must be the same."""

import shutil
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import pytest

from synthesis.rules.detection import Detected, Detector
from synthesis.rules.matcher import Matcher, PythonReader
from synthesis.rules.native.library import library
from synthesis.rules.native.program import Image, Program, program
from synthesis.rules.native.reader import NativeReader, NativeRules, Sides, image_of
from synthesis.rules.pattern import prepare
from synthesis.rules.reading import Message, Reading
from synthesis.rules.schema import GuardRule, Rule
from synthesis.rules.syntax import WordLists
from synthesis.rules.text import Language, language_of

needs_library = pytest.mark.skipif(
    library() is None and shutil.which("cargo") is None,
    reason="the compiled reader is not built, and there is no cargo",
)


def message(text: str, language: str = "en", where: str = "assistant") -> Message:
    return Message(text, where, None, Detected(language, "declared"))


def found(reading: Reading) -> tuple[object, ...]:
    """All that a reading says."""
    hits = [(hit.rule.id, hit.source, hit.start, hit.end, hit.words) for hit in reading.hits]
    return reading.original, reading.language.code, reading.language_by, hits, reading.sentences, reading.anchor


class BothReaders:
    """Reads with both, and fails where they differ."""

    def __init__(self, rules: NativeRules) -> None:
        compiled = library()
        assert compiled is not None, "cargo is here, but the compiled reader is not: run `make dev`"
        self.native = NativeReader(rules, compiled)
        self.python = PythonReader(rules)

    def read(self, messages: Sequence[Message]) -> list[Reading]:
        readings = self.native.read(messages)
        expected = self.python.read(messages)
        for native, python in zip(readings, expected, strict=True):
            assert found(native) == found(python)
        for one, other in pairwise(range(len(messages))):
            assert readings[other].cosine_with(readings[one]) == expected[other].cosine_with(expected[one])
        return readings

    def languages(self, conversations: Sequence[Sequence[str]]) -> list[list[Detected]]:
        found = self.native.languages(conversations)
        assert found == self.python.languages(conversations)
        return found

    def hits(self, messages: Sequence[Message]) -> int:
        return sum(len(reading.hits) for reading in self.read(messages))


class OwnRules:
    """Rules of a test's own, without a pack around them."""

    def __init__(
        self, rules: Sequence[Rule], guards: Mapping[str, GuardRule] | None = None, language: str = "en"
    ) -> None:
        self._rules, self._guards, self._language = list(rules), guards or {}, language_of(language)
        self._lists = WordLists()
        sources = {source for rule in rules for source in _patterns(rule)}
        sources |= {source for guard in self._guards.values() for source in guard.patterns}
        self._prepared = {source: prepare(source, self._language, self._lists) for source in sources}

    @cached_property
    def detector(self) -> Detector:
        return Detector({})

    def language_of(self, message: Message) -> tuple[Language, str]:
        return self._language, "declared"

    def matcher(self, language: str, where: str, signals: frozenset[str] | None) -> Matcher:
        return Matcher(self._rules, self._guards, self._prepared, spaced=self._language.spaced)

    def wanted(self, language: str, where: str, signals: frozenset[str] | None) -> list[Rule]:
        return self._rules

    def program(self, language: str) -> Program:
        matcher = self.matcher(language, "", None)
        return program(self._language, matcher, dict.fromkeys(self._prepared, self._lists))

    @cached_property
    def _image(self) -> Image:
        compiled = library()
        assert compiled is not None
        own = self.program(self._language.code)
        return image_of(compiled, own, Sides(own.rules, own.rules, own.rules))

    def image(self, language: str) -> Image:
        return self._image


def rule(name: str, *patterns: str, **fields: object) -> Rule:
    return Rule(f"agency.negative.{name}", "en", "g", {"en": "x"}, {"en": "y"}, patterns=patterns, **fields)  # type: ignore[arg-type]


def _patterns(one: Rule) -> list[str]:
    parts = [
        one.patterns,
        one.sentence.patterns if one.sentence else (),
        one.exception.patterns if one.exception else (),
    ]
    return [source for part in parts for source in part]
