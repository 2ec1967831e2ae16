"""Flat arrays of 32-bit numbers, each with its length in front: the form in which the native reader gets everything."""

from array import array
from collections.abc import Iterable, Sequence
from typing import Final

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
