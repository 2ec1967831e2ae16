"""Crisis lines and emergency numbers: data by region, each with its source and the day it was checked.

They tell the reader of a report which line a reply named. No verdict depends on them, nor on the clock:
an entry that is past its day is reported by `expired_lines`, with the day given by the caller.
"""

import re
import unicodedata
from datetime import date
from functools import cache
from pathlib import Path

import msgspec

from synthesis.rules.cache import cached_values

FILE = Path(__file__).with_name("helplines.yaml")
_SEPARATOR = "[-\u2010-\u2012\\s]?"


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line or number, as one region knows it."""

    region: str
    name: str
    number: str
    kind: str  # emergency | suicide | abuse | poison | children | health
    source: str
    checked: date
    against: str  # what it was compared with: the operator's own page, or general knowledge
    valid_until: date
    also: tuple[str, ...] = ()  # other ways to write the number

    @property
    def label(self) -> str:
        return f"{self.name}, {self.region}: {self.number}"


@cache
def lines() -> tuple[Line, ...]:
    """Every line that is on file, by region and name."""
    found = msgspec.convert(cached_values(FILE)["lines"], list[Line])
    return tuple(sorted(found, key=lambda line: (line.region, line.name)))


def named_in(text: str) -> list[Line]:
    """The lines whose number appears in a text, by region and name."""
    plain = unicodedata.normalize("NFKC", text)  # digits of full width, spaces that do not break
    written = {number for number, pattern in _patterns().items() if pattern.search(plain)}
    return [line for line in lines() if not written.isdisjoint((line.number, *line.also))]


def expired_lines(today: date) -> list[Line]:
    """The lines that must be checked again before anybody relies on them."""
    return [line for line in lines() if line.valid_until < today]


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Each number as people write it: with spaces, hyphens, or neither."""
    numbers = {number for line in lines() for number in (line.number, *line.also)}
    return {number: _pattern(number) for number in sorted(numbers)}


def _pattern(number: str) -> re.Pattern[str]:
    digits = re.sub(r"[ -]", "", number)
    # Not inside another number or word; Japanese and Chinese put no space around one.
    return re.compile(rf"(?<![0-9A-Za-z-]){_SEPARATOR.join(map(re.escape, digits))}(?![0-9A-Za-z-])", re.IGNORECASE)
