"""Where the long lists of a report are in its file, so that they can be read one record at a time.

Our own reports have one record per line between `  "results": [` and `  ]`. Line feeds inside texts are escaped in
JSON, so a line is never torn. Any other valid JSON has no such layout and is read as a whole.
"""

from pathlib import Path
from typing import Any, NamedTuple

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
    with path.open("rb") as file:
        number = 0
        for line in file:
            number += 1
            name = _OPENINGS.get(line.rstrip())
            if name is None:
                rest.append(line)
                continue
            offset, first = file.tell(), number + 1
            closing = b""
            for record in file:
                number += 1
                if record.rstrip() in _CLOSINGS:
                    closing = record.rstrip()
                    break
                if number == first and not _is_whole(record):
                    return None
            ranges[name] = LineRange(offset, first, number - first)
            rest.append(f'"{name}": []'.encode() + closing.removeprefix(b"  ]"))
    return _decoded(b"\n".join(rest), ranges)


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
