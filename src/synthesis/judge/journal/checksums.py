"""The checksums of a journal: each line vouches for itself and for all lines before it.

A checksum of the line alone would not notice a line that was lost, doubled or moved. So it runs over the whole
journal: the CRC-32 of everything up to and including this line. It finds damage; it is no signature.
"""

import copy
from zlib import crc32

from synthesis.judge.journal.lines import Line, Raw, encode

_KEY = b',"sum":"'
_END = b'"}'
_DIGITS = 8
_WIDTH = len(_KEY) + _DIGITS + len(_END)


class ChecksumError(ValueError):
    """A line that is not what was written, or not where it was written."""


class ChecksumChain:
    """Walks along a journal, as its reader or its writer. `has_begun`: a line with a checksum was passed."""

    def __init__(self) -> None:
        self.has_begun = False
        self._sum = 0

    def copy(self) -> "ChecksumChain":
        """A chain that goes its own way from here."""
        return copy.copy(self)

    def seal(self, line: Line) -> bytes:
        """The bytes of the next line, its checksum included."""
        content = encode(line)
        self._sum, self.has_begun = crc32(content, self._sum), True
        return content[:-1] + _KEY + b"%08x" % self._sum + _END

    def check(self, raw: Raw) -> None:
        """Pass the next line. Version 0.1 wrote no checksums, so lines without one may come first."""
        found = self._sum_in(raw)
        if found is None and self.has_begun:
            raise ChecksumError("this line has no checksum, though the lines before it have")
        following = self._following(raw, is_sealed=found is not None)
        if found is not None and found != b"%08x" % following:
            raise ChecksumError(
                "the checksum does not match: this line was changed, or lines before it were changed, lost, doubled "
                "or moved"
            )
        self._sum, self.has_begun = following, found is not None

    def matches(self, raw: Raw) -> bool:
        """`raw` has a checksum, and it is the next line."""
        found = self._sum_in(raw)
        return found is not None and found == b"%08x" % self._following(raw, is_sealed=True)

    def _following(self, raw: Raw, *, is_sealed: bool) -> int:
        return crc32(b"}", crc32(raw[:-_WIDTH], self._sum)) if is_sealed else crc32(raw, self._sum)

    def _sum_in(self, raw: Raw) -> bytes | None:
        """Quotes inside a JSON string are escaped, so no text can end like this."""
        end = bytes(raw[-_WIDTH:])
        if len(end) < _WIDTH or not (end.startswith(_KEY) and end.endswith(_END)):
            return None
        return end[len(_KEY) : len(_KEY) + _DIGITS]
