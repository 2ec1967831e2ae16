"""Small cells keep to themselves. A cell of fewer than five is hidden, and with it the next smallest ones, so that the
total minus the rest does not give it away.

A cell without anybody in it hides nothing and is shown; so is a rate of 0.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from synthesis.audit.options import LEAST_IN_CELL

Name = TypeVar("Name")


def hidden_cells(cells: Mapping[Name, Sequence[int]]) -> set[Name]:
    """The cells that must not be shown, of those that one total is divided into; each has one or more counts.

    Every count is hidden well: of those left out, at least two hold somebody, and together they hold five or more.
    """
    hidden = {name for name, counts in cells.items() if any(0 < count < LEAST_IN_CELL for count in counts)}
    positions = range(max((len(counts) for counts in cells.values()), default=0))
    while True:
        more = next((name for position in positions if (name := _next(cells, hidden, position)) is not None), None)
        if more is None:
            return hidden
        hidden.add(more)


def _next(cells: Mapping[Name, Sequence[int]], hidden: set[Name], position: int) -> Name | None:
    """The next smallest cell, where what is hidden of one of the counts could still be told from the total."""
    held = [cells[name][position] for name in hidden if cells[name][position]]
    if not held or (len(held) > 1 and sum(held) >= LEAST_IN_CELL):
        return None
    left = [(counts[position], str(name), name) for name, counts in cells.items() if name not in hidden]
    return min((one for one in left if one[0]), default=(0, "", None), key=lambda one: one[:2])[2]


def hidden_counts(partitions: Sequence[Mapping[str, int]]) -> set[str]:
    """The names of single counts to hide; each partition is one total in parts."""
    return {name for parts in partitions for name in hidden_cells({key: (value,) for key, value in parts.items()})}
