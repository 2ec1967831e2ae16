"""Files compressed with gzip or zstd, to read or to write."""

import gzip
from pathlib import Path
from typing import Any, BinaryIO, cast

from synthesis.errors import MissingExtraError

SUFFIXES = (".gz", ".zst")


def open_binary(path: Path, mode: str, suffix: str | None = None) -> BinaryIO:
    """A file opened for its ending (or for `suffix` where the name does not tell); "rb" or "wb"."""
    kind = path.suffix if suffix is None else suffix
    if kind.endswith(".gz"):
        # No name and no time inside, so that the same content gives the same bytes.
        return cast(BinaryIO, gzip.GzipFile(filename="", fileobj=path.open(mode), mode=mode, mtime=0))
    if kind.endswith(".zst"):
        return cast(BinaryIO, _zstandard().open(path, mode))
    return cast(BinaryIO, path.open(mode))


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zst", "a file compressed with zstd") from None
    return zstandard
