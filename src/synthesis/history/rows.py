"""Rows of the tables: of a run, and of its cases or samples in batches."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import msgspec

from synthesis.history.model import RunFields

BATCH = 500  # cases or samples in memory at once, whatever the length of a run
T = TypeVar("T")
_encode = msgspec.json.Encoder().encode


class RunRow(RunFields, frozen=True):
    """A row of the table of runs; `conditions` and `summary` are JSON.

    `origin` identifies a judged run that can be resumed, so that saving it again replaces it.
    """

    conditions: str
    summary: str
    origin: str | None = None


class CaseRow(msgspec.Struct, frozen=True):
    """A case; `words` is what a search looks through, `record` is the whole result as JSON."""

    position: int
    case_id: str
    outcome: str
    kind: str
    language: str
    words: str
    record: str


class CheckRow(msgspec.Struct, frozen=True):
    """The outcome of one check on a case."""

    position: int
    check_name: str
    outcome: str
    expected: bool | None
    matched: bool | None


class FindingRow(msgspec.Struct, frozen=True):
    """A finding, without its words."""

    position: int
    number: int
    rule: str
    signal: str
    side: str
    turn: int
    start_at: int
    end_at: int


class SampleRow(msgspec.Struct, frozen=True):
    """A judged sample; `record` is the whole record as JSON."""

    iteration: int
    position: int
    query_log_id: str
    faithfulness: int | None
    completeness: int | None
    overall: float | None
    passed: bool | None
    error: str | None
    words: str
    record: str


Rows = Sequence[CaseRow] | Sequence[CheckRow] | Sequence[FindingRow] | Sequence[SampleRow]


class NewRun(msgspec.Struct, frozen=True):
    """A run to save: its row, its tags, and batches of other rows, which are read only once."""

    row: RunRow
    batches: Iterable[Sequence[Rows]]
    tags: tuple[str, ...] = ()


def encoded(value: Any) -> str:
    return _encode(value).decode()


def storable(text: str) -> str:
    """Text that every database accepts: PostgreSQL refuses NUL, and none stores a lone surrogate."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def searchable(*texts: str) -> str:
    return storable("\n".join(texts).casefold())


def batched(rows: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, size)):
        yield batch
