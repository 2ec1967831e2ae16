"""Duplicate ids in files of any size: a hash and a line number per case in memory, the ids themselves on disk."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from synthesis.errors import Problem
from synthesis.read.cases import duplicate
from synthesis.read.conversations import repeated_places


class DuplicateIds:
    """Takes the ids of block after block and finds those that appear twice."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._hashes = array("q")
        self._lines = array("q")
        self._blocks: list[tuple[int, int]] = []  # where the ids of a block begin, and its number

    @property
    def count(self) -> int:
        return len(self._hashes)

    def add(self, number: int, hashes: "array[int]", lines: "array[int]") -> None:
        self._blocks.append((len(self._hashes), number))
        self._hashes += hashes
        self._lines += lines

    def problems(self) -> Iterator[Problem]:
        """A problem for each later case with the id of an earlier one."""
        for first, again in repeated_places(self._hashes):
            yield duplicate(self._lines[again], self._lines[first], self._id(again))

    def _id(self, position: int) -> str:
        begin, number = self._blocks[bisect_right(self._blocks, (position, 1 << 62)) - 1]
        ids = (self._folder / f"{number}.ids").read_text(encoding="utf-8").split("\n")
        return ids[position - begin]
