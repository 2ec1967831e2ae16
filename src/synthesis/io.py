"""Files: bundled and compressed ones, output that is replaced whole or not at all, locks that end with their holder."""

import gzip
import io
import os
import re
import secrets
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from synthesis.errors import MissingExtraError, OutputError, Place

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_PACKAGE = Path(__file__).parent
_INSTALLED = _PACKAGE / "_bundled"
ROOT = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent.parent

CASES = ROOT / "data" / "evals.jsonl"
CASE_SCHEMA = ROOT / "schemas" / "eval_case.schema.json"
CHECK_SCHEMA = ROOT / "schemas" / "check.schema.json"
AUDIT_SCHEMA = ROOT / "schemas" / "audit.schema.json"
REPORT_SCHEMA = ROOT / "schemas" / "report.schema.json"
PACKS = _PACKAGE / "rules" / "packs"
TEST_SETS = ROOT / "data" / "test-sets"


# --- Compressed files

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


def packed(content: bytes, suffix: str) -> bytes:
    """Bytes as a file with this ending has them; packed parts one behind the other are packed bytes again."""
    if suffix.endswith(".gz"):
        return gzip.compress(content, mtime=0)
    if suffix.endswith(".zst"):
        compressed: bytes = _zstandard().ZstdCompressor().compress(content)
        return compressed
    return content


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


# --- Output files

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
BINARY = getattr(os, "O_BINARY", 0)  # Windows would write a line break as two characters
CHOOSE_ANOTHER = "Choose another path with --out."


@contextmanager
def replaced(
    path: Path, *, private: bool = False, durable: bool = True, overwrite: bool = True, hint: str = CHOOSE_ANOTHER
) -> Iterator[BinaryIO]:
    """A file to write; it takes the place of `path` in one step, and after an error nothing has changed.

    A reader sees the old file or the new one, never a part. A link is followed. What is not a regular file (a device, a
    pipe) cannot be replaced without destroying it: it is written to as it is.
    """
    with refused_writes(path, hint):
        require_writable(path, overwrite=overwrite)
        if (descriptor := _written_through(path)) is not None:
            with os.fdopen(descriptor, "wb") as file:
                yield file
            return
        target = path.resolve()
        _make_folder(target.parent, private)
        with _beside(target, private, durable, overwrite) as file:
            yield file


def is_stream(path: Path) -> bool:
    """Whether what is written there cannot be read again: a device, a pipe, or this process's own output."""
    try:
        found = path.stat()
    except OSError:
        return False
    is_file = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    return not is_file or _own_output(found) is not None


def _written_through(path: Path) -> int | None:
    """Where a device, a pipe or this process's own output is written to as it is; None for all other files."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if (own := _own_output(found)) is not None:
        return os.dup(own)
    return None if stat.S_ISREG(found.st_mode) else os.open(path, os.O_WRONLY | BINARY)


def _own_output(found: os.stat_result) -> int | None:
    """`/dev/stdout` may lead to a regular file, which the shell opened: it is written on from where the shell is."""
    for own in (1, 2):
        with suppress(OSError):
            if os.path.samestat(found, os.fstat(own)):
                return own
    return None


@contextmanager
def _beside(path: Path, private: bool, durable: bool, overwrite: bool) -> Iterator[BinaryIO]:
    part = part_path(path)
    try:
        with held(part, PRIVATE_FILE if private or path.exists() else 0o666):
            if not private and path.exists():  # who could read the old file can read the new one, and nobody else
                part.chmod(stat.S_IMODE(path.stat().st_mode))
            with part.open("r+b") as file:
                yield file
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            _put(part, path, overwrite)
    finally:
        with suppress(OSError):
            part.unlink()


def part_path(path: Path) -> Path:
    """Where a file is written until it is whole. Two may be at the same work, and a later run tells who is alive."""
    return path.with_name(f".{path.name}.{host()}.{secrets.token_hex(6)}.part")


def _put(part: Path, path: Path, overwrite: bool) -> None:
    """`link` refuses to replace a file that has appeared meanwhile; not every file system has it."""
    if not overwrite:
        with suppress(OSError):
            os.link(part, path)
            return
        if os.path.lexists(path):
            raise already_exists(path)
    part.replace(path)


def already_exists(path: Path) -> OutputError:
    return OutputError("already exists", place=Place(str(path)), hint="Give another name, or --force.")


@contextmanager
def refused_writes(path: Path, hint: str) -> Iterator[None]:
    """An operating system that refuses to write becomes an `OutputError` with the place."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"cannot be written: {reason}", place=Place(str(path)), hint=hint) from error


def _make_folder(folder: Path, private: bool) -> None:
    if private:
        make_private_folder(folder)
    else:
        folder.mkdir(parents=True, exist_ok=True)


def make_private_folder(folder: Path) -> None:
    """Create a folder and those above it that are missing, for the owner alone."""
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        missing.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)


def write_all(descriptor: int, content: bytes) -> None:
    """Write every byte; a signal or a nearly full disk may take only a part at a time."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def require_writable(path: Path, *, overwrite: bool) -> None:
    """Refuse a folder, and a file that must not be replaced: before any work for it is done."""
    if path.is_dir():
        raise OutputError("cannot be written: it is a folder", place=Place(str(path)), hint="Give a file's path.")
    if not overwrite and path.is_file():  # a device or a pipe is not replaced
        raise already_exists(path)


# --- Locks: the system frees them when their holder ends, so they tell work in progress from what a dead process left.


def host() -> str:
    """This machine's name, as a part of file names."""
    import platform

    return re.sub(r"[^A-Za-z0-9_]+", "-", platform.node())[:32].strip("-") or "localhost"


if sys.platform == "win32":
    import msvcrt

    def is_locked_now(descriptor: int) -> bool:
        """Lock an open file at once; False if somebody else holds it."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    # An open file cannot be moved there, so nothing is locked, and nothing is taken for abandoned.
    @contextmanager
    def held(path: Path, mode: int = 0o666) -> Iterator[None]:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, mode))
        yield

    @contextmanager
    def claimed(path: Path) -> Iterator[bool]:  # noqa: ARG001
        yield False

else:
    import fcntl

    def is_locked_now(descriptor: int) -> bool:
        """Lock an open file at once; False if somebody else holds it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    @contextmanager
    def held(path: Path, mode: int = 0o666) -> Iterator[None]:
        """Keep a file, which is created if missing, under a lock; nobody may take it for abandoned meanwhile."""
        descriptor = _locked(path, mode)
        try:
            yield
        finally:
            os.close(descriptor)

    def _locked(path: Path, mode: int) -> int:
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, mode)
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
            yield is_locked_now(descriptor)
        finally:
            os.close(descriptor)
