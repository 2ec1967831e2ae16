"""Files: those that travel with the package, compressed ones, and locks that a dead process leaves free."""

import gzip
import io
import os
import re
import socket
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from synthesis.errors import MissingExtraError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_PACKAGE = Path(__file__).parent
_INSTALLED = _PACKAGE / "_bundled"
ROOT = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent.parent

CASES = ROOT / "data" / "evals.jsonl"
CASE_SCHEMA = ROOT / "schemas" / "eval_case.schema.json"
AUDIT_SCHEMA = ROOT / "schemas" / "audit.schema.json"
REPORT_SCHEMA = ROOT / "schemas" / "report.schema.json"
PACKS = _PACKAGE / "rules" / "packs"
TEST_SETS = ROOT / "data" / "test-sets"


# Files compressed with gzip or zstd, to read or to write.


SUFFIXES = (".gz", ".zst")
# A block of 4 bytes can stand for 128 KB, so what one piece becomes is at most 32 MB.
ZSTD_PIECE = 1 << 10


def open_binary(path: Path, mode: str, suffix: str | None = None) -> BinaryIO:
    """A file opened for its ending (or for `suffix` where the name does not tell); "rb" or "wb"."""
    kind = path.suffix if suffix is None else suffix
    if kind.endswith(".gz"):
        # No name and no time inside, so that the same content gives the same bytes.
        packed = gzip.GzipFile(filename="", fileobj=path.open(mode), mode=mode, mtime=0)
        return cast(BinaryIO, packed if mode == "wb" else _Reader(packed.read, packed.close))
    if kind.endswith(".zst"):
        zstandard = _zstandard()
        if mode == "wb":
            return cast(BinaryIO, zstandard.open(path, mode))
        frames = _ZstdFrames(path.open("rb"), zstandard)
        return cast(BinaryIO, _Reader(frames.read, frames.close))
    return cast(BinaryIO, path.open(mode))


class _Reader(io.BufferedReader):
    """Decompressed bytes as a file that can be read line by line."""

    def __init__(self, read: Callable[[int], bytes], close: Callable[[], None]) -> None:
        super().__init__(_Decompressed(read, close), 1 << 17)


class _Decompressed(io.RawIOBase):
    def __init__(self, read: Callable[[int], bytes], close: Callable[[], None]) -> None:
        self._read = read
        self._close = close

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer).cast("B")
        try:
            content = self._read(len(view))
        except EOFError:
            raise OSError("it is cut short") from None
        except zlib.error as error:
            raise OSError(f"it is damaged ({error})") from None
        view[: len(content)] = content
        return len(content)

    def close(self) -> None:
        if not self.closed:
            self._close()
        super().close()


class _ZstdFrames:
    """All frames of a file. The library's own reader takes the end of a truncated file for the end of the content."""

    def __init__(self, file: BinaryIO, zstandard: Any) -> None:
        self._file = file
        self._error = zstandard.ZstdError
        self._new: Callable[[], Any] = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._new()
        self._is_open = False  # inside a frame
        self._ready = memoryview(b"")
        self.close = file.close

    def read(self, size: int) -> bytes:
        while not self._ready and (piece := self._file.read(ZSTD_PIECE)):
            self._ready = memoryview(b"".join(self._unpacked(piece)))
        if not self._ready and self._is_open:
            raise EOFError
        content, self._ready = bytes(self._ready[:size]), self._ready[size:]
        return content

    def _unpacked(self, piece: bytes) -> list[bytes]:
        found = []
        while piece:
            try:
                found.append(self._frame.decompress(piece))
            except self._error as error:
                raise OSError(f"it is damaged ({error})") from None
            self._is_open, piece = not self._frame.eof, b""
            if self._frame.eof:
                piece, self._frame = self._frame.unused_data, self._new()
        return found


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zst", "a file compressed with zstd") from None
    return zstandard


# Locks that tell work in progress from what a dead process left: the system frees them when their holder ends.


def host() -> str:
    """This machine's name, as a part of file names."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", socket.gethostname())[:32].strip("-") or "localhost"


if sys.platform == "win32":
    # An open file cannot be moved there, so nothing is locked, and nothing is taken for abandoned.
    @contextmanager
    def held(path: Path) -> Iterator[None]:  # noqa: ARG001
        yield

    @contextmanager
    def claimed(path: Path) -> Iterator[bool]:  # noqa: ARG001
        yield False

else:
    import fcntl

    @contextmanager
    def held(path: Path) -> Iterator[None]:
        """Keep a file, which is made if need be, under a lock; nobody may take it for abandoned meanwhile."""
        descriptor = _locked(path)
        try:
            yield
        finally:
            os.close(descriptor)

    def _locked(path: Path) -> int:
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            with suppress(OSError):  # a file system without locks; nobody can claim the file there, either
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:
                return descriptor
            os.close(descriptor)  # it was taken for abandoned between the two steps

    @contextmanager
    def claimed(path: Path) -> Iterator[bool]:
        """Whether nobody holds the file; if so, it is held from now on."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            yield _is_free(descriptor)
        finally:
            os.close(descriptor)

    def _is_free(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
