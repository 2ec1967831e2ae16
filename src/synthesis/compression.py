"""Files compressed with gzip or zstd, to read or to write.

Damage is an OSError, whichever library finds it: a truncated or changed file never just ends early.
"""

import gzip
import io
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from synthesis.errors import MissingExtraError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

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
