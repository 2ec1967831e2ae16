"""The learned reader in Rust (`native/src/learned.rs`), called through ctypes: many texts in one call."""

import ctypes
import warnings
from collections.abc import Sequence
from functools import cached_property

from synthesis.cancellation import checkpoint
from synthesis.reader.reference import Contribution, Engine, PythonEngine, check_part, segments_of
from synthesis.reader.weights import REPLY, Weights
from synthesis.rules.native.library import Handle, Library, NativeReaderError, encoded, numbers_of

BATCH = 2048  # texts in a call: some hundredths of a second, so that a caller who gave up is noticed


def model(library: Library, weights: Weights) -> Handle:
    """The model inside the library, which reads the embedding from the content of the file."""
    header, content = weights.header, weights.content
    sizes = [len(header.heads), header.buckets, header.dims, header.channels, header.width, header.queries]
    numbers = [*sizes, header.most_pieces, header.shift.conv, header.shift.attention, *weights.offsets.values()]
    return library.make("model", *numbers_of(numbers), content, ctypes.c_size_t(len(content)), keep=(content,))


class CompiledEngine:
    """The layers of `PythonEngine` in Rust. A fault of the library is a warning, and Python does the work."""

    name = "compiled"

    def __init__(self, weights: Weights, library: Library) -> None:
        self._weights = weights
        self._library = library
        self._model = model(library, weights)

    def scores(self, texts: Sequence[str], sides: Sequence[str]) -> list[tuple[int, ...]]:
        segments = [segments_of(side) for _, side in zip(texts, sides, strict=True)]
        found: list[tuple[int, ...]] = []
        for first in range(0, len(texts), BATCH):
            checkpoint()
            last = first + BATCH
            try:
                found += self._scores(texts[first:last], segments[first:last])
            except NativeReaderError as error:
                warnings.warn(f"{error}; Python scores {len(texts[first:last])} texts", stacklevel=2)
                found += self._python.scores(texts[first:last], sides[first:last])
        return found

    def _scores(self, texts: Sequence[str], segments: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        replies = numbers_of(REPLY in some for some in segments)
        answer = memoryview(self._library.answer("scores", self._model, *encoded(texts), *replies)).cast("q")
        numbers, count, at = answer.tolist(), len(self._weights.heads), 0
        found = []
        for some in segments:
            end = at + count * len(some)
            found.append(tuple(numbers[at:end]))
            at = end
        return found

    def contributions(self, text: str, segment: int, head: int) -> list[Contribution]:
        check_part(self._weights, segment, head)
        part = ctypes.c_uint32(segment), ctypes.c_uint32(head)
        try:
            answer = self._library.answer("contributions", self._model, *encoded([text])[:2], *part)
        except NativeReaderError as error:
            warnings.warn(f"{error}; Python says what the words contribute", stacklevel=2)
            return self._python.contributions(text, segment, head)
        numbers = iter(memoryview(answer).cast("q").tolist())
        return [Contribution(*token) for token in zip(numbers, numbers, numbers, strict=True)]

    @cached_property
    def _python(self) -> Engine:
        return PythonEngine(self._weights)
