"""JSON as models write it: in single quotes, with trailing commas, bare keys, raw line breaks, quotes inside a text.

Every valid JSON array or object is read as `json` reads it. What is not certain (a key that appears twice) is refused.
"""

import re
from typing import Any

MOST_NESTED = 12  # a verdict has three levels; the bound keeps the work linear on any text
_SPACE = re.compile(r"\s*")
_BARE_KEY = re.compile(r"[A-Za-z_]\w*(?=\s*:)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?(?![\w.])")
_WORD = re.compile(r"[A-Za-z]+")
_WORDS = {"true": True, "false": False, "null": None, "none": None}
# A quote inside a text that nobody escaped ("it's") is not followed by what follows a text. Every character has one
# part that can take it, so a text without an end fails in linear time. (A possessive repeat would say so more shortly,
# but Python before 3.11.5 loses matches with it.)
_TEXT = r"{q}([^{q}\\]*(?:(?:\\.|{q}(?!\s*[,:}}\]]))[^{q}\\]*)*){q}(?=\s*[,:}}\]])"
_STRINGS = {quote: re.compile(_TEXT.format(q=quote), re.DOTALL) for quote in "\"'"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class Scanner:
    """Reads values at places of one text. Attempts that fail share an allowance, so all take linear time together."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._allowance = 4 * len(text) + 1_000

    def read(self, start: int) -> tuple[Any, int] | None:
        """The array or object that begins at `start`, and where it ends; None where its meaning is not certain."""
        reader = _Reader(self._text, start)
        if self._allowance < 0:
            return None
        try:
            return reader.value(0), reader.at
        except _NotJsonError:
            self._allowance -= reader.at - start
            return None


class _NotJsonError(ValueError):
    """At this place there is no value whose meaning is certain."""


class _Reader:
    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self.at = at

    def value(self, depth: int) -> Any:
        if depth > MOST_NESTED:
            raise _NotJsonError
        match self._peek():
            case "{":
                return self._object(depth)
            case "[":
                return self._array(depth)
            case '"' | "'" as quote:
                return self._string(quote)
        return self._scalar()

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.at += 1
        while self._peek() != "}":
            key = self._key()
            self._take(":")
            if key in found:
                raise _NotJsonError
            found[key] = self.value(depth + 1)
            self._separate("}")
        self.at += 1
        return found

    def _array(self, depth: int) -> list[Any]:
        found = []
        self.at += 1
        while self._peek() != "]":
            found.append(self.value(depth + 1))
            self._separate("]")
        self.at += 1
        return found

    def _separate(self, end: str) -> None:
        """A comma, also before the end; only at the end is there none."""
        if self._peek() != end:
            self._take(",")

    def _key(self) -> str:
        quote = self._peek()
        if quote in _STRINGS:
            return self._string(quote)
        return self._matched(_BARE_KEY)

    def _string(self, quote: str) -> str:
        found = _STRINGS[quote].match(self._text, self.at)
        if found is None:
            self.at = len(self._text)  # so far did the search go
            raise _NotJsonError
        self.at = found.end()
        return _unescaped(found[1])

    def _scalar(self) -> Any:
        if number := _NUMBER.match(self._text, self.at):
            self.at = number.end()
            return _number(number[0])
        word = self._matched(_WORD).lower()
        if word not in _WORDS:
            raise _NotJsonError
        return _WORDS[word]

    def _matched(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self.at)
        if found is None:
            raise _NotJsonError
        self.at = found.end()
        return found[0]

    def _peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        space = _SPACE.match(self._text, self.at)
        self.at = space.end() if space else self.at
        return self._text[self.at : self.at + 1]

    def _take(self, wanted: str) -> None:
        if self._peek() != wanted:
            raise _NotJsonError
        self.at += 1


def _number(digits: str) -> int | float:
    try:
        return int(digits) if digits.lstrip("-").isdigit() else float(digits)
    except ValueError:  # Python converts no integer of thousands of digits
        raise _NotJsonError from None


def _unescaped(raw: str) -> str:
    if "\\" not in raw:
        return raw
    text = _ESCAPE.sub(lambda found: _character(found[1]), raw)
    return _PAIR.sub(_joined, text)


def _character(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) == 5 else _ESCAPED.get(escape, escape)


def _joined(pair: re.Match[str]) -> str:
    """A character beyond the BMP, which JSON escapes as two halves."""
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")
