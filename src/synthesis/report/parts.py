"""Results of a long run, written part by part and joined at the end, so that no part of them is held in memory.

Inside a report a record begins with the comma that separates it from the one before; in a file of its own (JSON Lines)
it ends with a line feed. Either way parts are joined by copying bytes: compressed parts too, since both formats allow
one after the other.
"""

import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import msgspec

from synthesis.errors import OptionError
from synthesis.io import open_binary
from synthesis.report.files import replaced

RESULT_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst")
_SEPARATOR = b",\n    "
_encode = msgspec.json.Encoder().encode


class PartWriter:
    """Writes the records of one part, inside a report (no suffix) or as lines of a file with that suffix."""

    def __init__(self, path: Path, suffix: str = "") -> None:
        self._before, self._after = (b"", b"\n") if suffix else (_SEPARATOR, b"")
        self._path = path
        self._beside = path.with_name(f"{path.name}.{secrets.token_hex(6)}")  # in its place when it is whole
        self._file = open_binary(self._beside, "wb", suffix)

    def write(self, record: Any) -> None:
        self._file.write(self._before + _encode(record) + self._after)

    def __enter__(self) -> "PartWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._beside.replace(self._path)


def results_suffix(path: Path) -> str:
    """Which kind of file results go to; OptionError for one we do not write."""
    for suffix in RESULT_SUFFIXES:
        if path.name.endswith(suffix):
            return suffix
    raise OptionError(f"--results {path} has an unknown ending", hint=f"Use one of {', '.join(RESULT_SUFFIXES)}.")


def join_report(header: dict[str, Any], folder: Path, parts: int, out: Path) -> None:
    """Write the report: the header, then the lists from the part files, in their order."""
    with replaced(out) as file:
        file.write(msgspec.json.format(_encode(header), indent=2).removesuffix(b"\n}"))
        if "results_file" not in header and "results_table" not in header:
            for name in ("failures", "results"):
                _copy_list(name, (folder / f"{number}.{name}" for number in range(parts)), file)
        file.write(b"\n}\n")


def join_results(folder: Path, parts: int, out: Path) -> None:
    """Write the results as a file of their own."""
    with replaced(out) as file:
        for number in range(parts):
            with (folder / f"{number}.results").open("rb") as part:
                shutil.copyfileobj(part, file, 1 << 20)


def _copy_list(name: str, paths: Iterable[Path], file: BinaryIO) -> None:
    file.write(f',\n  "{name}": ['.encode())
    empty = True
    for path in paths:
        with path.open("rb") as part:
            if empty and part.read(1):  # the first record has nothing to be separated from
                empty = False
            shutil.copyfileobj(part, file, 1 << 20)
    file.write(b"]" if empty else b"\n  ]")
