"""Conversations whose rows are not neighbours: a name that returns after rows of others."""

from array import array
from collections.abc import Iterable, Iterator
from typing import Any

from synthesis.cases.logs.conversion import LogRow
from synthesis.cases.logs.joining import conversation_name
from synthesis.cases.repeats import name_hash, repeated_places
from synthesis.errors import RETURNS, SHOWN_PROBLEMS, Problem


class Returns:
    """Is told where conversations begin in one file, and remembers sixteen bytes of each."""

    def __init__(self) -> None:
        self._hashes = array("q")
        self._lines = array("q")

    def add(self, value: Any, line: int) -> None:
        """A conversation begins here; a row without a name belongs to none."""
        name = conversation_name(value)
        if name is not None:
            self._hashes.append(name_hash(name))
            self._lines.append(line)

    def problems(self, rows: Iterable[LogRow | Problem], column: str) -> Iterator[Problem]:
        """A problem for each later beginning; `rows` are those of the file again, which know its name."""
        pairs = repeated_places(self._hashes)
        found = {self._lines[again]: self._lines[first] for first, again in pairs}
        names = _names(rows, column, {*list(found)[:SHOWN_PROBLEMS]}) if found else {}
        for line, first in found.items():
            message = f"the conversation returns after rows of others: its first row is on line {first}"
            yield Problem(line, RETURNS, message, names.get(line))


def _names(rows: Iterable[LogRow | Problem], column: str, lines: set[int]) -> dict[int, str | None]:
    wanted = (row for row in rows if isinstance(row, LogRow) and row.line in lines)
    return {row.line: conversation_name(row.fields.get(column)) for row in wanted}
