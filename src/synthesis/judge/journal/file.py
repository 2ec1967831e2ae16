"""The journal file of a run folder: append-only, durable before the next step, under the folder's lock."""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from synthesis.errors import Place, RunFolderError
from synthesis.judge.files import (
    BYTES_AS_THEY_ARE,
    OWNER_ONLY_FILE,
    make_private_folder,
    refused_writes,
    write_all,
)
from synthesis.judge.journal.ledger import Ledger, Work
from synthesis.judge.journal.lines import CallLine, Line, decode, now
from synthesis.judge.journal.reading import JournalReader
from synthesis.judge.model import TokenUsage

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FolderLock:
    """Held from creation to `release`."""

    def __init__(self, folder: Path) -> None:
        path = folder / ".lock"
        with refused_writes(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, OWNER_ONLY_FILE)
        try:
            _lock(self._descriptor)
        except OSError:
            os.close(self._descriptor)
            raise RunFolderError(
                "another process is judging in this folder",
                place=Place(str(folder)),
                hint="Wait until it ends, or choose another folder with --output-dir.",
            ) from None

    def release(self) -> None:
        """Release the folder."""
        os.close(self._descriptor)


JOURNAL = "journal.jsonl"
_RESULTS = ("records", "metrics", "cost", "final-metrics")
SHARED_COPY = "shared-journal.jsonl"  # version 0.1 left it where the journal was in PostgreSQL; the same lines


class Journal:
    """A run folder's journal, opened for writing under the folder's lock.

    `ledger` is what all lines add up to, `begun` counts this process's calls.
    """

    def __init__(self, folder: Path) -> None:
        _refuse_foreign_folder(folder)
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
        with refused_writes(self.path):
            self._append(content)
        self._chain = chain
        self.ledger.apply(line)

    async def commit(self) -> None:
        """Return when all that was stored so far is on the disk."""
        with refused_writes(self.path):
            # In a thread, because fsync blocks and replies of other calls arrive meanwhile.
            await asyncio.get_running_loop().run_in_executor(None, os.fsync, self._descriptor)

    def close(self) -> None:
        """Close the file and release the folder."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self._lock.release()

    def _open(self, unfinished: bool) -> None:
        with refused_writes(self.path):
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | BYTES_AS_THEY_ARE
            self._descriptor = os.open(self.path, flags, OWNER_ONLY_FILE)
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
