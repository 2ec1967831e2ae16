"""A stream of bytes as lines, none of them longer than allowed."""

from collections.abc import Iterator


class LineSplitter:
    """Takes chunks, gives whole lines; None stands for a line that is too long, whose bytes are thrown away."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._begun: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> Iterator[bytes | None]:
        """The lines that end in this chunk."""
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._add(part)
            yield self._taken()
        self._add(rest)

    def rest(self) -> Iterator[bytes | None]:
        """The last line, where nothing ends it."""
        if self._length:
            yield self._taken()

    def _add(self, part: bytes) -> None:
        self._length += len(part)
        if self._length <= self._most:
            self._begun.append(part)
        else:
            self._begun.clear()

    def _taken(self) -> bytes | None:
        line = b"".join(self._begun) if self._length <= self._most else None
        self._begun, self._length = [], 0
        return line
