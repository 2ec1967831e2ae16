"""The journal: append-only, durable before the next step, the only thing that a run cannot do without."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from synthesis.errors import Place, RunFolderError, shorten
from synthesis.judge.files import (
    BYTES_AS_THEY_ARE,
    OWNER_ONLY_FILE,
    make_private_folder,
    refused_writes,
    write_all,
)
from synthesis.judge.ledger import Ledger
from synthesis.judge.lines import FORMAT, Line, RunLine
from synthesis.judge.lock import FolderLock

JOURNAL = "journal.jsonl"
_DECODER = msgspec.json.Decoder(Line)
_ENCODER = msgspec.json.Encoder()


class Journal:
    """A run folder's journal, opened for writing under the folder's lock; `ledger` is what it adds up to."""

    def __init__(self, folder: Path) -> None:
        refuse_foreign_folder(folder)
        make_private_folder(folder)
        self.path = folder / JOURNAL
        self._lock = FolderLock(folder)
        self._descriptor = -1
        try:
            self.ledger, self._size, unfinished = _read(self.path)
            self._open(unfinished)
        except BaseException:
            self.close()
            raise

    def append(self, line: Line) -> None:
        """Hand one line to the operating system: from here on it survives the death of this process."""
        content = _ENCODER.encode(line) + b"\n"
        with refused_writes(self.path):
            self._append(content)
        self.ledger.apply(line)

    async def commit(self) -> None:
        """Return when all that was appended so far is on the disk."""
        with refused_writes(self.path):
            await asyncio.get_running_loop().run_in_executor(None, os.fsync, self._descriptor)

    def close(self) -> None:
        """Let go of the file and of the folder."""
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
            os.ftruncate(self._descriptor, self._size)  # a full disk leaves no half line behind
            raise
        self._size += len(content)


def read_ledger(folder: Path) -> Ledger:
    """What a run folder's journal adds up to; looks only, and takes no lock."""
    path = folder / JOURNAL
    if not path.is_file():
        raise RunFolderError(
            "there is no judged run here",
            place=Place(str(folder)),
            hint="`synthesis judge run --output-dir NAME` makes one; --root says where runs are looked for.",
        )
    ledger, _, _ = _read(path)
    if ledger.run is None:
        raise RunFolderError("the journal is empty", place=Place(str(path)), hint="Run the same command again.")
    return ledger


def refuse_foreign_folder(folder: Path) -> None:
    """A folder with results but without a journal is somebody else's: nothing in it is overwritten."""
    foreign = [name for name in ("records", "metrics", "cost", "final-metrics") if (folder / name).exists()]
    if foreign and not (folder / JOURNAL).exists():
        raise RunFolderError(
            f"holds '{foreign[0]}' but no {JOURNAL}: these results are not from this tool",
            place=Place(str(folder)),
            hint="Choose another folder with --output-dir.",
        )


def _read(path: Path) -> tuple[Ledger, int, bool]:
    """The ledger, the length of what is whole, and whether only the last line's end is missing."""
    ledger = Ledger()
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return ledger, 0, False
    except OSError as error:
        raise RunFolderError(f"cannot be read: {error.strerror}", place=Place(str(path))) from None
    whole = content.rfind(b"\n") + 1
    for number, raw in enumerate(_lines(content, whole), start=1):
        _apply(ledger, raw, number, path)
    return _with_last(ledger, content, whole, path)


def _lines(content: bytes, end: int) -> Iterator[memoryview]:
    view, start = memoryview(content), 0
    while start < end:
        stop = content.index(b"\n", start)
        yield view[start:stop]
        start = stop + 1


def _with_last(ledger: Ledger, content: bytes, whole: int, path: Path) -> tuple[Ledger, int, bool]:
    """A last line without its end was being written when the process died: it counts if it is whole."""
    if whole == len(content):
        return ledger, whole, False
    try:
        line = _DECODER.decode(content[whole:])
    except msgspec.MsgspecError:
        if ledger.run is None and not content[whole:].startswith(b'{"t":"run"'[: len(content) - whole]):
            raise _damaged(path, 1, content[whole:], "this is no journal of this tool") from None
        return ledger, whole, False
    if ledger.run is None and not isinstance(line, RunLine):
        raise _damaged(path, 1, content[whole:], "this is no journal of this tool")
    _apply(ledger, memoryview(content)[whole:], content.count(b"\n") + 1, path)
    return ledger, len(content), True


def _apply(ledger: Ledger, raw: memoryview, number: int, path: Path) -> None:
    try:
        line = _DECODER.decode(raw)
        if ledger.run is None and not isinstance(line, RunLine):
            raise _damaged(path, number, bytes(raw), "a journal begins with its judge; this is none")
        ledger.apply(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        kind = "this is no journal of this tool" if ledger.run is None else "the journal is damaged"
        raise _damaged(path, number, bytes(raw), f"{kind}: {error}") from None
    except (KeyError, TypeError) as error:
        raise _damaged(path, number, bytes(raw), f"the journal is damaged: no call {error}") from None
    if isinstance(line, RunLine) and line.format != FORMAT:
        raise _damaged(path, number, bytes(raw), f"this journal has format {line.format}, known is {FORMAT}")


def _damaged(path: Path, number: int, raw: bytes, message: str) -> RunFolderError:
    excerpt = shorten(raw[:200].decode("utf-8", "replace"))
    return RunFolderError(
        message,
        place=Place(str(path), number, excerpt=excerpt),
        hint="Nothing was changed. Restore the file from a copy, or choose another folder with --output-dir.",
    )
