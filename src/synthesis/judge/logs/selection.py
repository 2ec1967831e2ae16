"""Which rows of a log are wanted. Rows stream through; only the chosen ones are kept."""

import hashlib
import heapq
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from synthesis.errors import OptionError
from synthesis.judge.logs.rows import LogHead, LogRow
from synthesis.judge.logs.values import as_moment

_EARLIEST = datetime.min.replace(tzinfo=UTC)


class Selection(msgspec.Struct, frozen=True):
    """Filters first, then the newest `limit`, of these a `sample`. `until` itself is outside."""

    ids: frozenset[str] = frozenset()
    statuses: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    limit: int | None = None
    sample: int | None = None
    seed: int = 0

    def wants(self, row: LogHead) -> bool:
        return self._wants_name(row) and self._wants_date(row.created_at)

    def _wants_name(self, row: LogHead) -> bool:
        statuses = {status.casefold() for status in self.statuses}
        wanted = not statuses or (row.status or "").casefold() in statuses
        return wanted and (not self.ids or row.id in self.ids)

    def _wants_date(self, created: datetime | None) -> bool:
        if self.since is None and self.until is None:
            return True
        if created is None:
            return False
        return (self.since is None or created >= self.since) and (self.until is None or created < self.until)


def period(since: str | None, until: str | None) -> tuple[datetime | None, datetime | None]:
    """Two option values as moments in UTC; a date as the end includes that whole day."""
    start, end = _moment(since, "--since"), _moment(until, "--until")
    if end is not None and until is not None and len(until.strip()) <= len("2025-01-31"):
        end += timedelta(days=1)
    if start is not None and end is not None and start >= end:
        raise OptionError("--since is later than --until", hint="Swap them.")
    return start, end


def _moment(text: str | None, option: str) -> datetime | None:
    if text is None:
        return None
    moment = as_moment(text) if "-" in text else None
    if moment is None:
        hint = "Write 2025-01-31 or 2025-01-31T12:00:00Z."
        raise OptionError(f"{option} '{text}' is not a date", hint=hint)
    return moment


def pick(rows: Iterable[LogRow], selection: Selection) -> list[LogRow]:
    """The newest `limit` of the rows and of these a sample, in the order of the log."""
    if selection.limit is not None:
        rows = newest_first(rows, selection.limit)
    if selection.sample is not None:
        rows = _sample(rows, selection.sample, selection.seed)
    return sorted(rows, key=lambda row: row.index)


def newest_first(rows: Iterable[LogRow], limit: int) -> list[LogRow]:
    """The newest rows; where dates are missing or equal, the later row is newer."""
    return heapq.nlargest(limit, rows, key=lambda row: (row.created_at or _EARLIEST, row.index))


def _sample(rows: Iterable[LogRow], size: int, seed: int) -> list[LogRow]:
    """Chosen by a hash of seed and id: the order of the log does not matter, a grown log changes little."""
    return heapq.nsmallest(size, rows, key=lambda row: (_rank(row, seed), row.index))


def _rank(row: LogRow, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\n{row.id}".encode("utf-8", "surrogatepass")).digest()
