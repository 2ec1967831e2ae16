"""Reading in Python: the reference, and what reads where there is no compiled reader."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from synthesis.rules.detection import Detected, Detector
from synthesis.rules.language import UNDETERMINED, Language
from synthesis.rules.matcher import Matcher
from synthesis.rules.reading import Hit, Message, Reading
from synthesis.rules.text import Text


class Rules(Protocol):
    """What it must know of the rules in force."""

    @property
    def detector(self) -> Detector: ...

    def language_of(self, message: Message) -> tuple[Language, str]: ...

    def matcher(self, language: str, where: str, signals: frozenset[str] | None) -> Matcher: ...


class PythonReader:
    """Reads messages in batches: a matcher goes through many texts pattern by pattern."""

    name = "python"
    declined = 0

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def languages(self, conversations: Sequence[Sequence[str]]) -> list[list[Detected]]:
        """The language of each message of each conversation."""
        return [self._rules.detector.conversation(texts) for texts in conversations]

    def read(self, messages: Sequence[Message]) -> list[Reading]:
        """The reading of each message; one whose language has no rules has no hits."""
        texts = [Text(message.text, *self._rules.language_of(message)) for message in messages]
        hits: list[Sequence[Hit]] = [()] * len(texts)
        waiting: dict[tuple[str, str, frozenset[str] | None], list[int]] = defaultdict(list)
        for number, (message, text) in enumerate(zip(messages, texts, strict=True)):
            if text.normal and text.language.code != UNDETERMINED:
                waiting[text.language.code, message.where, message.signals].append(number)
        for key, numbers in waiting.items():
            found = self._rules.matcher(*key).scan([texts[number] for number in numbers])
            for number, its_hits in zip(numbers, found, strict=True):
                hits[number] = its_hits
        return list(map(Reading.of, texts, hits))
