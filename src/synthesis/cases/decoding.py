"""One line of JSON becomes a value, or the problem that says why it cannot."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from synthesis.errors import Problem

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# An object of seven bytes takes a kilobyte once it is decoded and validated: a long line of them would fill the memory.
MOST_NESTED = 200_000
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def decode_line(
    line: bytes, number: int, case_id: str | None = None, decode: Callable[[str], Any] = msgspec.json.decode
) -> Any:
    """What a line holds; a Problem if that cannot be told."""
    try:
        text = line.decode()
        require_few_values(text)
        return decode(text)
    except UnicodeDecodeError as error:
        return Problem(number, "not UTF-8", f"is not UTF-8 (byte {error.start + 1} of the line)", case_id)
    except RecursionError:
        return Problem(number, "invalid JSON", "is nested too deeply", case_id)
    except ValueError as error:  # which the errors of msgspec and of json are, too
        return Problem(number, "invalid JSON", f"is not valid JSON: {error}", case_id)


def require_few_values(text: str) -> None:
    """ValueError for a text with more lists and objects than a conversation has; brackets in strings do not count."""
    if _brackets(text) > MOST_NESTED and _brackets(_STRING.sub("", text)) > MOST_NESTED:
        raise ValueError(f"it holds more than {MOST_NESTED:,} lists and objects")


def _brackets(text: str) -> int:
    return text.count("[") + text.count("{")
