"""A context indexed by its words, for evidence that is a list and for what an answer takes up of the question."""

from collections import defaultdict
from collections.abc import Sequence
from heapq import nsmallest
from typing import NamedTuple

from synthesis.judge.offline.answers import Claim, split_passage
from synthesis.judge.offline.text import (
    SAME_WORD_PREFIX,
    Token,
    number_value,
    perhaps_decimals,
)

MOST_WORDS = 100_000  # of context; what follows is not read, and the verdict says so
MOST_WINDOWS = 64  # compared in detail per claim, the most similar first


class Window(NamedTuple):
    """One sentence of a passage, or two that follow one another."""

    passage: int
    text: str
    tokens: list[Token]
    single: bool


class ContextIndex:
    """Which words and numbers a context has, and which of its sentences are like a claim."""

    def __init__(self, passages: Sequence[str]) -> None:
        self.stems: set[str] = set()
        self.prefixes: set[str] = set()
        self.numbers: set[str] = set()
        self.windows: list[Window] = []
        self.words_read = 0
        self.truncated = False
        self._windows_of: dict[str, list[int]] = defaultdict(list)
        for number, passage in enumerate(passages):
            self._add(number, passage)

    def _add(self, number: int, passage: str) -> None:
        kept: list[Claim] = []
        for sentence in split_passage(passage):
            self.words_read += len(sentence.tokens)
            if self.words_read > MOST_WORDS:
                self.truncated = True
                break
            kept.append(sentence)
        self._add_words([token for sentence in kept for token in sentence.tokens])
        self.numbers |= perhaps_decimals(passage)
        self._add_windows(number, kept)

    def _add_windows(self, passage: int, sentences: list[Claim]) -> None:
        for at, sentence in enumerate(sentences):
            self._add_window(Window(passage, sentence.text, sentence.tokens, True))
            for following in sentences[at + 1 : at + 2]:
                both = sentence.tokens + following.tokens
                self._add_window(Window(passage, f"{sentence.text} {following.text}", both, False))

    def _add_words(self, tokens: list[Token]) -> None:
        stems = [token.stem for token in tokens]
        self.stems.update(stems)
        self.prefixes.update(stem[:SAME_WORD_PREFIX] for stem in stems if len(stem) >= SAME_WORD_PREFIX)
        self.numbers.update(number_value(token) for token in tokens if token.kind in ("number", "number-word"))

    def _add_window(self, window: Window) -> None:
        for stem in {token.stem for token in window.tokens}:
            self._windows_of[stem].append(len(self.windows))
        self.windows.append(window)

    def knows(self, token: Token) -> bool:
        """The context has this word, a word of the same family, or this number."""
        if token.kind in ("number", "number-word"):
            return token.stem in self.stems or number_value(token) in self.numbers
        return token.stem in self.stems or (token.kind == "word" and token.stem[:SAME_WORD_PREFIX] in self.prefixes)

    def similar_windows(self, tokens: Sequence[Token]) -> list[Window]:
        """The windows that share most words with the claim; of equals the shorter, then the earlier."""
        wanted = {token.stem for token in tokens if token.is_content} or {token.stem for token in tokens}
        shared: dict[int, int] = defaultdict(int)
        for stem in wanted:
            for window in self._windows_of.get(stem, ()):
                shared[window] += 1
        ranked = nsmallest(MOST_WINDOWS, shared, key=lambda at: (-shared[at], len(self.windows[at].tokens), at))
        return [self.windows[at] for at in ranked]
