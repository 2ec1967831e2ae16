"""One JSON document of any size, read value by value: no more than one element of a list is in memory.

A small reader of our own on top of `json`: the usual library for this (ijson) refuses the NaN that Inspect writes.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO

from synthesis.cases.decoding import require_few_values

CHUNK = 1 << 20
_SPACE = re.compile(r"[ \t\r\n]*")
_decode = json.JSONDecoder().raw_decode


class TooLongError(ValueError):
    """A value that is longer than allowed."""


class JsonStream:
    """The place in a document that was read so far; ValueError where it is not JSON."""

    def __init__(self, file: TextIO, most: int) -> None:
        self._file = file
        self._most = most
        self._text = ""
        self._at = 0
        self._is_whole = False  # nothing is left to be read

    def peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text) or not self._more(CHUNK):
                return self._text[self._at : self._at + 1]

    def take(self, *wanted: str) -> str:
        """The next character, which must be one of these."""
        found = self.peek()
        if found not in wanted:
            raise ValueError(f"expected {' or '.join(wanted)}, found {found or 'the end of the file'}")
        self._at += 1
        return found

    def value(self) -> Any:
        """The next value, decoded."""
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._more(max(CHUNK, len(self._text))):
                    raise ValueError(error.msg) from None
            else:
                # A number that ends with the text may have more digits in the next chunk.
                if end < len(self._text) or not self._more(CHUNK):
                    if end - self._at > self._most:
                        raise TooLongError
                    self._at = end
                    return value

    def elements(self) -> Iterator[Any]:
        """The elements of the list that comes next."""
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        yield self.value()
        while self.take(",", "]") == ",":
            yield self.value()

    def keys(self) -> Iterator[str]:
        """The keys of the object that comes next; the caller reads the value of each."""
        self.take("{")
        if self.peek() == "}":
            self.take("}")
            return
        yield self._key()
        while self.take(",", "}") == ",":
            yield self._key()

    def _key(self) -> str:
        key = self.value()
        if not isinstance(key, str):
            raise ValueError("a key of an object is not a string")
        self.take(":")
        return key

    def _more(self, size: int) -> bool:
        """Read on; False at the end. Only a value that is allowed to be that long is ever held."""
        if self._is_whole:
            return False
        rest = self._text[self._at :]
        if len(rest) > self._most:
            raise TooLongError
        require_few_values(rest)
        chunk = self._file.read(size)
        self._is_whole = not chunk
        self._text, self._at = rest + chunk, 0
        return bool(chunk)
