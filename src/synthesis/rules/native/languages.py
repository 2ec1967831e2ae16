"""The words by which languages are detected, as a program for the compiled reader."""

import struct
from collections.abc import Iterable, Mapping

from synthesis.rules.detection import BY_LETTERS, FEWEST_WORDS, LEAST_SHARE, LONGEST_PART, LOOKED_AT, Detector, Weights
from synthesis.rules.language import UNDETERMINED
from synthesis.rules.native.sections import Sections, characters

MAGIC, FORMAT = 0x53594E44, 1
DEFAULT = "en"
HOW = ("script", "words", "too short", "no evidence")
_double = struct.Struct("=d").pack
_halves = struct.Struct("=2I").unpack


def codes_of(detector: Detector) -> list[str]:
    """The languages by number: in the order of their codes, `und` last."""
    known = {code for lists in (detector.words, detector.parts) for weights in lists.values() for code, _ in weights}
    return [*sorted(known | detector.ours), UNDETERMINED]


def detection_program(detector: Detector) -> bytes:
    """All that the language of a single text is decided by."""
    codes = codes_of(detector)
    numbers = {code: number for number, code in enumerate(codes)}
    undetermined = numbers[UNDETERMINED]
    sections = Sections(MAGIC, FORMAT)
    limits = (LOOKED_AT, FEWEST_WORDS, LONGEST_PART, *_bits(LEAST_SHARE), *_bits(BY_LETTERS))
    ours = [code in detector.ours for code in codes[:-1]]
    named = [numbers.get(code, undetermined) for code in (DEFAULT, "ja", "zh", "hi")]
    sections.add([*limits, len(ours), *ours, *named])
    for entries in (detector.words, detector.parts):
        sections.add(list(_entries(entries, numbers)))
    return sections.to_bytes()


def _entries(entries: Mapping[str, Weights], numbers: Mapping[str, int]) -> Iterable[int]:
    for text, weights in entries.items():
        yield len(text)
        yield from characters(text)
        yield from _bits(weights[0][1])  # the same for all languages that list it
        yield len(weights)
        yield from (numbers[code] for code, _ in weights)


def _bits(number: float) -> tuple[int, ...]:
    """The two halves of a double, the lower one first."""
    halves = _halves(_double(number))
    return halves if struct.pack("=H", 1) == b"\x01\x00" else halves[::-1]
