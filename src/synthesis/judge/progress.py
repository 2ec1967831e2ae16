"""The progress file: a view for people and scripts. Entries are encoded once and kept."""

import time
from typing import Any

import msgspec

from synthesis.judge.ledger import Ledger, Sample, State

SHOWN_AT_ONCE = 500  # up to here the file follows every sample
GROWTH = 50  # beyond, it is written anew when it has grown by a fiftieth, so that bytes per sample stay flat


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
        """Take in how a sample stands now."""
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
