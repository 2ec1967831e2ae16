"""Duplicate ids in files of any size: a hash and a line number per case in memory, the ids themselves on disk."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from synthesis.cases.jsonl import duplicate
from synthesis.errors import Problem

SHARES = 16


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
        for first, again in self._pairs():
            yield duplicate(self._lines[again], self._lines[first], self._id(again))

    def _pairs(self) -> list[tuple[int, int]]:
        """Positions of the first case of an id and of a later one."""
        repeated = self._repeated()
        first: dict[int, int] = {}
        pairs = []
        for position, value in enumerate(self._hashes) if repeated else ():
            if value in repeated and first.setdefault(value, position) != position:
                pairs.append((first[value], position))
        return pairs

    def _repeated(self) -> set[int]:
        """The hashes that appear more than once; looked for in shares, so that no set of all of them is needed."""
        repeated: set[int] = set()
        for share in range(SHARES):
            seen: set[int] = set()
            for value in self._hashes:
                if value % SHARES == share:
                    (repeated if value in seen else seen).add(value)
        return repeated

    def _id(self, position: int) -> str:
        begin, number = self._blocks[bisect_right(self._blocks, (position, 1 << 62)) - 1]
        ids = (self._folder / f"{number}.ids").read_text(encoding="utf-8").split("\n")
        return ids[position - begin]
