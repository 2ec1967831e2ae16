"""Appended lines become durable and then visible: flushes in batches, and the progress file for people and scripts."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import OutputError
from synthesis.judge.files import replace_file
from synthesis.judge.journal.file import Journal
from synthesis.judge.journal.ledger import Ledger, Sample, State, Work

SHOWN_AT_ONCE = 500  # up to here the file follows every sample
GROWTH = 50  # beyond that it is rewritten when it has grown by a fiftieth, so that bytes per sample stay flat


class ProgressView:
    """The progress of one iteration, kept in step with the ledger."""

    def __init__(self, ledger: Ledger, number: int) -> None:
        self._ledger = ledger
        self._number = number
        self._work = ledger.iteration(number)
        self._entries: list[bytes | None] = [None] * len(ledger.samples)
        self._errors: list[bytes | None] = [None] * len(ledger.samples)
        self._done = 0
        self._written_entries = 0
        self._written_at = 0.0
        for sample in ledger.samples:
            self.update(sample)

    def update(self, sample: Sample) -> None:
        """Update the entry of one sample."""
        state = self._work.state(sample)
        entry = self._entry(sample, state)
        self._done += (entry is not None) - (self._entries[sample.position] is not None)
        self._entries[sample.position] = entry
        self._errors[sample.position] = self._error(sample) if state is State.FAILED else None

    def is_due(self) -> bool:
        """After every sample while small; then at most once a second, and only when it has grown enough."""
        if self._done > SHOWN_AT_ONCE:
            grown = self._done - self._written_entries >= self._done // GROWTH
            if not grown or time.monotonic() - self._written_at < 1.0:
                return False
        self._written_entries, self._written_at = self._done, time.monotonic()
        return True

    def content(self) -> bytes:
        """The file's bytes."""
        run = self._ledger.run
        entries = [entry for entry in self._entries if entry is not None]
        errors = [error for error in self._errors if error is not None]
        total = len(self._entries)
        head = {
            "testSetName": run.test_set_name if run else "",
            "iterationNumber": self._number,
            "lastUpdated": self._work.last_at or (run.at if run else ""),
            "statistics": {
                "totalQuestions": total,
                "completedQuestions": len(entries),
                "pendingQuestions": total - len(entries),
                "completionPercentage": round(100 * len(entries) / total, 2) if total else 0.0,
                "failedQuestions": len(errors),
            },
        }
        return b'%s,"entries":[%s],"errors":[%s]}\n' % (
            msgspec.json.encode(head)[:-1],
            b"\n,".join(entries),
            b"\n,".join(errors),
        )

    def _entry(self, sample: Sample, state: State) -> bytes | None:
        line = self._work.verdict(sample)
        if line is None or state not in (State.JUDGED, State.STALE):
            return None
        verdict = line.record["judgeVerdict"]
        result: dict[str, Any] = {f"{axis}Score": said["score"] for axis, said in verdict.items()}
        result["passed"] = line.record["passed"]
        return msgspec.json.encode(
            {
                "hash": sample.hash,
                "queryLogId": sample.query_log_id,
                "question": line.record["question"],
                "completedAt": line.at,
                "result": result | ({"stale": True} if state is State.STALE else {}),
            }
        )

    def _error(self, sample: Sample) -> bytes:
        line = self._work.errors[sample.hash, sample.fingerprint]
        return msgspec.json.encode(
            {
                "hash": sample.hash,
                "queryLogId": sample.query_log_id,
                "question": line.question,
                "failedAt": line.at,
                "reason": line.reason,
            }
        )


class JournalFlusher:
    """Flushes the journal in the background, but never lets more than `most` samples wait for the disk.

    With one worker, the next call is sent when the last verdict is on the disk. With many, a
    worker does not wait for the disk while others are waiting for paid replies.
    """

    def __init__(self, journal: Journal, most: int, shown: Callable[[], None]) -> None:
        self._journal = journal
        self._most = most
        self._shown = shown
        self._waiting: list[Work] = []
        self._in_flight = 0
        self._flushing: asyncio.Task[None] | None = None
        self._views: dict[int, ProgressView] = {}

    async def add(self, work: Work) -> None:
        """Take over a sample whose line was appended."""
        self._waiting.append(work)
        if self._flushing is None or self._flushing.done():
            await self.drain()
            self._flushing = asyncio.create_task(self._flush())
        if len(self._waiting) + self._in_flight >= self._most:
            await self.drain()

    async def drain(self) -> None:
        """Return when no sample waits for the disk; raises what the disk refused."""
        if self._flushing is not None:
            await asyncio.shield(self._flushing)

    async def _flush(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            self._in_flight = len(batch)
            await self._journal.commit()
            self._in_flight = 0
            self._show(batch)

    def _show(self, batch: list[Work]) -> None:
        """Samples that are on the disk appear in the progress files."""
        for work in batch:
            self._view(work.iteration).update(work.sample)
        for iteration in sorted({work.iteration for work in batch}):
            if self._view(iteration).is_due():
                self._write(iteration)
        self._shown()

    def _view(self, iteration: int) -> ProgressView:
        if iteration not in self._views:
            self._views[iteration] = ProgressView(self._journal.ledger, iteration)
        return self._views[iteration]

    def _write(self, iteration: int) -> None:
        """A progress file that cannot be written does not stop the run: the end writes it again from the journal."""
        path = progress_path(self._journal.folder, iteration)
        with contextlib.suppress(OutputError):
            replace_file(path, self._view(iteration).content(), durable=False)


def progress_path(folder: Path, iteration: int) -> Path:
    """The path of an iteration's progress file."""
    return folder / f"iteration-{iteration}" / ".progress.json"
