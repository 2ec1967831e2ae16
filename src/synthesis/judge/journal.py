"""The journal of a run folder: the only truth about what was judged and paid. docs/design/journal.md says why."""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from synthesis.errors import OutputError, Place, RunFolderError
from synthesis.io import (
    BINARY,
    PRIVATE_FILE,
    is_locked_now,
    make_private_folder,
    refused_writes,
    replaced,
    write_all,
)
from synthesis.judge.ledger import (
    CallLine,
    Identity,
    JournalReader,
    Ledger,
    Line,
    RunLine,
    Sample,
    SetLine,
    State,
    Work,
    decode,
    now,
)
from synthesis.judge.model import TokenUsage
from synthesis.report.judged.layout import told

JOURNAL = "journal.jsonl"
_RESULTS = ("records", "metrics", "cost", "final-metrics")
SHARED_COPY = "shared-journal.jsonl"  # version 0.1 left it where the journal was in PostgreSQL; the same lines

RESUMES = "Make room or choose another --root. The journal is safe: the same command resumes."


def replace_file(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Put a file of a run in its place, for the owner alone."""
    with replaced(path, private=True, durable=durable, hint=RESUMES) as file:
        file.write(content)


class FolderLock:
    """Held from creation to `release`."""

    def __init__(self, folder: Path) -> None:
        path = folder / ".lock"
        with refused_writes(path, RESUMES):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
        if not is_locked_now(self._descriptor):
            os.close(self._descriptor)
            raise RunFolderError(
                "another process is judging in this folder",
                place=Place(str(folder)),
                hint="Wait until it ends, or choose another folder with --output-dir.",
            )

    def release(self) -> None:
        """Release the folder."""
        os.close(self._descriptor)


class Journal:
    """A run folder's journal, opened for writing under the folder's lock.

    `ledger` is what all lines add up to, `begun` counts this process's calls.
    """

    def __init__(self, folder: Path) -> None:
        _refuse_foreign_folder(folder)
        with refused_writes(folder, RESUMES):
            make_private_folder(folder)
        self.folder = folder
        self.path = folder / JOURNAL
        self.begun = 0
        self._lock = FolderLock(folder)
        self._descriptor = -1
        try:
            reader, self._size, unfinished = _read(self.path)
            self.ledger, self._chain = reader.ledger, reader.chain
            self._open(unfinished)
        except BaseException:
            self.close()
            raise

    def begin(self, work: Work, worst: TokenUsage) -> int:
        """Record that a call is about to be sent; returns its number."""
        number, sample = self.ledger.next_call, work.sample
        most = (worst.input_tokens, worst.output_tokens)
        self.store(CallLine(number, work.iteration, sample.hash, sample.fingerprint, now(), most))
        self.begun += 1
        return number

    def store(self, line: Line) -> None:
        """Hand one line to the operating system: it survives the death of this process."""
        chain = self._chain.copy()
        content = chain.seal(line) + b"\n"
        with refused_writes(self.path, RESUMES):
            self._append(content)
        self._chain = chain
        self.ledger.apply(line)

    async def commit(self) -> None:
        """Return when all that was stored so far is on the disk."""
        with refused_writes(self.path, RESUMES):
            # In a thread, because fsync blocks and replies of other calls arrive meanwhile.
            await asyncio.get_running_loop().run_in_executor(None, os.fsync, self._descriptor)

    def close(self) -> None:
        """Close the file and release the folder."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self._lock.release()

    def _open(self, unfinished: bool) -> None:
        with refused_writes(self.path, RESUMES):
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | BINARY
            self._descriptor = os.open(self.path, flags, PRIVATE_FILE)
            os.ftruncate(self._descriptor, self._size)
            if unfinished:
                self._append(b"\n")

    def _append(self, content: bytes) -> None:
        try:
            write_all(self._descriptor, content)
        except OSError:
            os.ftruncate(self._descriptor, self._size)  # a full disk must not leave half a line behind
            raise
        self._size += len(content)


def read_ledger(folder: Path) -> Ledger:
    """What a run folder's journal adds up to; read-only, and without the lock."""
    path = next((folder / name for name in (JOURNAL, SHARED_COPY) if (folder / name).is_file()), None)
    if path is None:
        raise RunFolderError(
            "there is no judged run here",
            place=Place(str(folder)),
            hint="`synthesis judge run --output-dir NAME` makes one; --root says where runs are looked for.",
        )
    ledger = _read(path)[0].ledger
    if ledger.run is None:
        raise RunFolderError("the journal is empty", place=Place(str(path)), hint="Run the same command again.")
    return ledger


def _refuse_foreign_folder(folder: Path) -> None:
    """A folder with results but without a journal was not written by this tool: nothing in it is overwritten."""
    if (folder / JOURNAL).exists():
        return
    if (folder / SHARED_COPY).exists():
        raise RunFolderError(
            "this run had its journal in PostgreSQL, which this version does not use",
            place=Place(str(folder)),
            hint=f"Rename {SHARED_COPY} to {JOURNAL} to resume it here, or choose another folder with --output-dir.",
        )
    foreign = next((name for name in _RESULTS if (folder / name).exists()), None)
    if foreign is not None:
        raise RunFolderError(
            f"holds '{foreign}' but no {JOURNAL}: these results are not from this tool",
            place=Place(str(folder)),
            hint="Choose another folder with --output-dir.",
        )


def _read(path: Path) -> tuple[JournalReader, int, bool]:
    """What was read, the length of the complete lines, and whether only the last line break is missing."""
    reader = JournalReader(str(path))
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return reader, 0, False
    except OSError as error:
        raise RunFolderError(f"cannot be read: {error.strerror}", place=Place(str(path))) from None
    whole = content.rfind(b"\n") + 1
    for number, raw in enumerate(_lines(content, whole), start=1):
        reader.read(raw, number)
    last = memoryview(content)[whole:]
    if not last or _is_torn(reader, last):
        return reader, whole, False
    reader.read(last, content.count(b"\n") + 1)
    return reader, len(content), True


def _lines(content: bytes, end: int) -> Iterator[memoryview]:
    # Views, because a copy of every line would double the memory that a large journal takes.
    view, start = memoryview(content), 0
    while start < end:
        stop = content.index(b"\n", start)
        yield view[start:stop]
        start = stop + 1


def _is_torn(reader: JournalReader, last: memoryview) -> bool:
    """A last line without a line break was being written when the process died: it counts if it is complete."""
    try:
        decode(last)
    except msgspec.MsgspecError:
        # A whole line with another byte in place of its line break, or a foreign file, is damage.
        is_ours = reader.ledger.run is not None or bytes(last).startswith(b'{"t":"run"'[: len(last)])
        return is_ours and not reader.chain.matches(last[:-1])
    return False


# Opening a journal: which judge and samples it belongs to, and which runs it refuses.


OnChange = Literal["keep", "rejudge", "error"]
Samples = tuple[tuple[str, str], ...]


def missing_lines(
    ledger: Ledger, run: RunLine, samples: Samples, on_change: OnChange, journal: str, *, replace_judge: bool = False
) -> list[Line]:
    """Lines for judge, price and set where they differ from the recorded ones.

    Another judge is refused, unless it is to replace the recorded one.
    """
    run = as_recorded(ledger, run)
    if not replace_judge:
        _check_judge(ledger, run.judge, on_change, journal)
    _check_changes(ledger, run, samples, on_change, journal)
    lines: list[Line] = []
    if ledger.run is None or _noted(ledger.run) != _noted(run):
        lines.append(run)
    if tuple((sample.query_log_id, sample.fingerprint) for sample in ledger.samples) != samples:
        lines.append(SetLine(run.at, samples))
    return lines


def as_recorded(ledger: Ledger, run: RunLine) -> RunLine:
    """The run under the recorded judge, where that is the same one: settings that 0.1 did not record are no change."""
    known = ledger.run
    return msgspec.structs.replace(run, judge=known.judge) if known and known.judge.covers(run.judge) else run


def _check_judge(ledger: Ledger, identity: Identity, on_change: OnChange, journal: str) -> None:
    run = ledger.run
    if run is None or run.judge == identity:
        return
    is_same_kind = run.judge.is_continued_by(identity)
    if is_same_kind and on_change == "rejudge":
        return
    option = "--on-change rejudge" if is_same_kind else "--replace-judge"
    raise RunFolderError(
        f"this folder belongs to another judge: it has {run.judge.difference(identity)}",
        place=Place(journal),
        hint=f"Use --output-dir NAME, or {option} to judge everything here again; "
        "the earlier verdicts stay in the journal.",
    )


def _check_changes(ledger: Ledger, run: RunLine, samples: Samples, on_change: OnChange, journal: str) -> None:
    """With `error` the run stops before anything is written."""
    if on_change != "error" or ledger.run is None or ledger.run.judge != run.judge:
        return
    future = Ledger()
    future.apply(SetLine(run.at, samples))
    changed = [sample.query_log_id for sample in future.samples if _is_stale(ledger, sample, run.iterations)]
    if changed:
        raise RunFolderError(
            f"{len(changed)} samples have changed since they were judged: {', '.join(changed[:5])}",
            place=Place(journal),
            hint="--on-change rejudge judges them again, --on-change keep leaves them without a verdict.",
        )


def _is_stale(ledger: Ledger, sample: Sample, iterations: int) -> bool:
    return any(ledger.iteration(number).state(sample) is State.STALE for number in range(1, iterations + 1))


def _noted(run: RunLine) -> tuple[object, ...]:
    return (run.test_set_name, run.judge, run.iterations, run.price, run.has_courses)


# Appended lines become durable and then visible: flushes in batches, and the progress file for people and scripts.


SHOWN_AT_ONCE = 500  # up to here the file follows every sample
GROWTH = 50  # beyond that it is rewritten when it has grown by a fiftieth, so that bytes per sample stay flat


class ProgressView:
    """The progress of one iteration, kept in step with the ledger."""

    def __init__(self, ledger: Ledger, number: int) -> None:
        self._ledger = ledger
        self._number = number
        self._work = ledger.iteration(number)
        self._layout = ledger.present_run().layout
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
        if line is None or state is not State.JUDGED:
            return None
        verdict = line.record["judgeVerdict"]
        result: dict[str, Any] = {f"{axis}Score": said["score"] for axis, said in verdict.items()}
        result["passed"] = line.record["passed"]
        return self._encoded(
            {
                "hash": sample.hash,
                "queryLogId": sample.query_log_id,
                "question": line.record["question"],
                "completedAt": line.at,
                "result": result,
            }
        )

    def _error(self, sample: Sample) -> bytes:
        line = self._work.errors[sample.hash, sample.fingerprint]
        return self._encoded(
            {
                "hash": sample.hash,
                "queryLogId": sample.query_log_id,
                "question": line.question,
                "failedAt": line.at,
                "reason": line.reason,
            }
        )

    def _encoded(self, entry: dict[str, Any]) -> bytes:
        return msgspec.json.encode(told(entry, self._layout))


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
