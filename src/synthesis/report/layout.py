"""Where the long lists of a report are in its file, so that they can be read one record at a time.

Our own reports have one record per line between `  "results": [` and `  ]`. Line feeds inside texts are escaped in
JSON, so a line is never torn. Any other valid JSON has no such layout and is read as a whole.
"""

from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

LISTS = ("failures", "results")
_OPENINGS = {f'  "{name}": ['.encode(): name for name in LISTS}
_CLOSINGS = (b"  ]", b"  ],")


class LineRange(NamedTuple):
    """The lines of one list: where they begin, the number of the first line, and how many there are."""

    offset: int
    line: int
    lines: int


class Layout(NamedTuple):
    """The report without its lists, and where these are."""

    header: dict[str, Any]
    ranges: dict[str, LineRange]


def find_layout(path: Path) -> Layout | None:
    """The layout of a file with one record per line; None for any other file."""
    rest: list[bytes] = []
    ranges: dict[str, LineRange] = {}
    number = 0  # of the last line that was read
    with path.open("rb") as file:
        for line in file:
            number += 1
            name = _OPENINGS.get(line.rstrip())
            if name is None:
                rest.append(line)
                continue
            found = _list_from(file, number + 1)
            if found is None:
                return None
            ranges[name], closing = found
            number += ranges[name].lines + 1
            rest.append(f'"{name}": []'.encode() + closing.removeprefix(b"  ]"))
    return _decoded(b"\n".join(rest), ranges)


def _list_from(file: BinaryIO, first: int) -> tuple[LineRange, bytes] | None:
    """Read over a list whose first record is on this line, and what closes it; None if it is not laid out so."""
    offset = file.tell()
    for lines, record in enumerate(file):
        if record.rstrip() in _CLOSINGS:
            return LineRange(offset, first, lines), record.rstrip()
        if lines == 0 and not _is_whole(record):
            return None
    return None


def _decoded(rest: bytes, ranges: dict[str, LineRange]) -> Layout | None:
    try:
        header = msgspec.json.decode(rest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return Layout(header, ranges) if isinstance(header, dict) else None


def _is_whole(record: bytes) -> bool:
    """Whether a line holds a whole object: another tool may have spread it over several."""
    try:
        return isinstance(msgspec.json.decode(record.strip().removesuffix(b",")), dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
