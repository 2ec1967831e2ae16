"""What a process and the database say to each other in one transaction."""

from collections.abc import Mapping
from uuid import UUID

import msgspec

from synthesis.judge.journals import Work
from synthesis.judge.lines import Line

Key = tuple[int, str]


class Entry(msgspec.Struct, frozen=True):
    """A line to be stored: at once, or only under a lease; `instead` is stored if the lease was lost."""

    line: Line
    token: int | None = None
    instead: Line | None = None


class Order(msgspec.Struct, frozen=True):
    """What a process wants: `wanted` samples out of `unjudged`. The number makes a second attempt known as such."""

    number: int
    seen: int
    entries: tuple[Entry, ...] = ()
    wanted: int = 0
    unjudged: Mapping[Key, Work] = {}
    held: frozenset[int] = frozenset()


class Row(msgspec.Struct, frozen=True):
    """A stored line."""

    number: int
    is_own: bool
    exchange: int
    entry: int
    raw: bytes


class Answer(msgspec.Struct, frozen=True):
    """All lines since `seen`, what became of each entry, the samples that were given, and who else has some."""

    rows: tuple[Row, ...]
    stored: Mapping[int, Line]
    granted: tuple[Work, ...]
    held_elsewhere: int


class Registration(msgspec.Struct, frozen=True):
    """A process in a run."""

    worker: UUID
    name: str
    run: int
    lease: float
    shown: str
