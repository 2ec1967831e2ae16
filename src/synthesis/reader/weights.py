"""The weights of the learned reader: one file with a JSON header and aligned arrays, checked before anything uses them.

    b"SYNREAD1", u32 length of the header, header, then the arrays; all little-endian, every array aligned to 64 bytes

The bounds keep every engine exact: 32-bit sums in the layers and 64-bit scores cannot overflow, and the matrix products
that NumPy does in doubles stay below 2**53.
"""

import hashlib
import math
import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from synthesis.errors import Place, WeightsError
from synthesis.io import replaced
from synthesis.reader.tokens import FOLDED, is_sane_folding

MAGIC = b"SYNREAD1"
FORMAT = 1
BUNDLED = Path(__file__).with_name("weights.bin")
ALIGNMENT = 64
SEGMENTS = ("message", "reply", "earlier")
MESSAGE, REPLY, EARLIER = range(3)
STEPS = 1024  # in the table of powers from which attention takes its weights
WORD_SHIFT = 12
MOST_WORD, MOST_SIGNAL = 1023, 4095  # what a number of a word vector, and of a channel, is clamped to
MOST_SUM = 2**30  # of products, and of a bias: both together fit into 32 bits
MOST_FEATURES = 2047  # times 2**15 for a weight and 2**27 for a feature is below 2**53
BOUNDS = {
    "buckets": (1, 1 << 22),
    "dims": (1, 1024),
    "channels": (1, 1024),
    "width": (1, 15),
    "queries": (1, 16),
    "most_pieces": (4, 64),
    "unit": (0, 62),
}
_START = len(MAGIC) + 4
_CODES: dict[str, Literal["b", "H", "h", "i"]] = {
    "i8": "b",
    "u16": "H",
    "i16": "h",
    "i32": "i",
}  # as `array` calls them


class Shifts(msgspec.Struct, frozen=True):
    """By how many bits sums are shifted to the right, by layer."""

    word: int
    conv: int
    attention: int


class Entry(msgspec.Struct, frozen=True):
    """Where an array is, from the start of the data."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int


class Header(msgspec.Struct, frozen=True):
    """What a file says about itself; fields that are not known are for others."""

    name: str
    format: int
    heads: tuple[str, ...]
    bias: tuple[int, ...]
    unit: int  # a score / 2**unit is a logit
    shift: Shifts
    buckets: int
    dims: int
    channels: int
    width: int
    queries: int
    most_pieces: int
    arrays: tuple[Entry, ...]

    @property
    def features(self) -> int:
        return (self.queries + 1) * self.channels

    @property
    def shapes(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """The type and shape that each array must have, in the order in which they are written."""
        return {
            "fold": ("u16", (FOLDED,)),
            "embedding": ("i8", (self.buckets, self.dims)),
            "root": ("i32", (self.most_pieces + 1,)),
            "conv": ("i8", (self.channels, self.width, self.dims)),
            "conv_bias": ("i32", (self.channels,)),
            "query": ("i8", (self.queries, self.channels)),
            "exp2": ("u16", (STEPS,)),
            "heads": ("i16", (len(SEGMENTS), len(self.heads), self.features)),
        }


@dataclass(frozen=True)
class Weights:
    """Weights that were checked; `arrays` are flat, and views of `content` where the machine allows it."""

    header: Header
    content: bytes
    offsets: Mapping[str, int]  # of the arrays in the content
    arrays: Mapping[str, Sequence[int]]

    @property
    def name(self) -> str:
        return self.header.name

    @property
    def heads(self) -> tuple[str, ...]:
        return self.header.heads

    @property
    def bias(self) -> tuple[int, ...]:
        return self.header.bias

    @cached_property
    def hash(self) -> str:
        return hashlib.sha256(self.content).hexdigest()[:16]


def load(path: Path = BUNDLED) -> Weights:
    """The weights in a file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        hint = "This copy of the package has none." if path == BUNDLED else None
        raise WeightsError(
            f"there are no weights to read: {error.strerror}", place=Place(str(path)), hint=hint
        ) from error
    return parse(content, str(path))


def parse(content: bytes, file: str = "weights") -> Weights:
    """The weights in the content of a file; raises what is wrong with it."""
    try:
        return _parsed(content)
    except ValueError as error:
        hint = "The file is damaged, or for another version of Synthesis: install the package again."
        raise WeightsError(str(error), place=Place(file), hint=hint) from error


def write(path: Path, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Weights:
    """Write a file, and return what was written.

    The header is without `format` and `arrays`; each array is anything with bytes (`bytes`, `array.array`, a contiguous
    NumPy array), little-endian, of the type and shape that the header's sizes give it.
    """
    content = packed(header, arrays)
    weights = parse(content, str(path))
    with replaced(path) as file:
        file.write(content)
    return weights


def packed(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> bytes:
    """The content of a file; what it says is checked by whoever reads it."""
    told = msgspec.convert({**header, "format": FORMAT, "arrays": ()}, Header)
    entries, data = [], bytearray()
    for name, (dtype, shape) in told.shapes.items():
        data += bytes(-len(data) % ALIGNMENT)
        entries.append({"name": name, "dtype": dtype, "shape": shape, "offset": len(data)})
        data += memoryview(arrays[name]).cast("B")
    text = msgspec.json.encode({**header, "format": FORMAT, "arrays": entries})
    text += b" " * (-(_START + len(text)) % ALIGNMENT)
    return MAGIC + len(text).to_bytes(4, "little") + text + data


def _parsed(content: bytes) -> Weights:
    if content[: len(MAGIC)] != MAGIC:
        raise ValueError("this is not a file of weights")
    start = _START + int.from_bytes(content[len(MAGIC) : _START], "little")
    _require(start <= len(content), "the file ends inside its header")
    _require(start % ALIGNMENT == 0, f"the data start at byte {start}, which is not a multiple of {ALIGNMENT}")
    header = _header(content[_START:start])
    offsets = {name: start + offset for name, offset in _offsets(header, len(content) - start).items()}
    arrays = {
        name: _numbers(content, offsets[name], dtype, math.prod(shape))
        for name, (dtype, shape) in header.shapes.items()
    }
    _check_numbers(header, arrays)
    return Weights(header, content, offsets, arrays)


def _header(text: bytes) -> Header:
    try:
        told = msgspec.json.decode(text)
        found = told.get("format") if isinstance(told, dict) else None
        _require(found == FORMAT, f"the weights are of format {found!r}, and this version reads {FORMAT}")
        header = msgspec.convert(told, Header)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"the header cannot be read: {error}") from error
    _check_sizes(header)
    return header


def _check_sizes(header: Header) -> None:
    for name, (least, most) in BOUNDS.items():
        found = getattr(header, name)
        _require(least <= found <= most, f"{name} is {found}, and must be from {least} to {most}")
    heads, shift = len(header.heads), header.shift
    _require(header.buckets & (header.buckets - 1) == 0, f"buckets is {header.buckets}, which is not a power of two")
    _require(header.width % 2 == 1, f"width is {header.width}, and must be odd")
    _require(1 <= heads <= 1024, f"there are {heads} heads, and must be 1 to 1024")
    _require(len(set(header.heads)) == heads and all(header.heads), "a head has no name, or that of another")
    _require(len(header.bias) == heads, f"there are {len(header.bias)} biases for {heads} heads")
    _require(all(-(2**62) <= bias <= 2**62 for bias in header.bias), "a bias is beyond 2**62")
    _require(shift.word == WORD_SHIFT, f"the shift of words is {shift.word}, and must be {WORD_SHIFT}")
    _require(all(0 <= one <= 31 for one in (shift.conv, shift.attention)), "a shift is not from 0 to 31")
    _require(header.features <= MOST_FEATURES, f"there are {header.features} features, and at most {MOST_FEATURES}")
    sums = header.width * header.dims * 128 * MOST_WORD
    _require(sums <= MOST_SUM, "width and dims are so large that a sum of the convolution may not fit into 32 bits")


def _offsets(header: Header, size: int) -> dict[str, int]:
    """Where the arrays are in the data; what a file has beyond those that are known is not looked at."""
    entries = {entry.name: entry for entry in header.arrays}
    _require(len(entries) == len(header.arrays), "an array is listed twice")
    for name, (dtype, shape) in header.shapes.items():
        _require(name in entries, f"the array {name} is missing")
        entry = entries[name]
        _require(entry.dtype == dtype, f"{name} has numbers of type {entry.dtype}, and must have {dtype}")
        _require(entry.shape == shape, f"{name} has the shape {list(entry.shape)}, and must have {list(shape)}")
        _require(entry.offset >= 0 and entry.offset % ALIGNMENT == 0, f"{name} is not aligned to {ALIGNMENT} bytes")
        end = entry.offset + math.prod(shape) * array(_CODES[dtype]).itemsize
        _require(end <= size, f"the file ends inside {name}: it has {size} bytes of data, and {name} ends at {end}")
    return {name: entries[name].offset for name in header.shapes}


def _numbers(content: bytes, offset: int, dtype: str, count: int) -> Sequence[int]:
    code = _CODES[dtype]
    size = array(code).itemsize
    part = memoryview(content)[offset : offset + count * size]
    if sys.byteorder == "little" or size == 1:
        return part.cast("B").cast(code)
    swapped = array(code, part.tobytes())
    swapped.byteswap()
    return swapped


def _check_numbers(header: Header, arrays: Mapping[str, Sequence[int]]) -> None:
    _require(is_sane_folding(arrays["fold"]), "the folding changes an apostrophe, or which characters are ignored")
    most_root = (2**31 - 1 - 2048) // (128 * header.most_pieces)
    _require(arrays["root"][0] == 0, "root of no pieces is not 0")
    _require(all(0 <= root <= most_root for root in arrays["root"]), f"a root is not from 0 to {most_root}")
    _require(all(abs(bias) <= MOST_SUM for bias in arrays["conv_bias"]), "a bias of the convolution is beyond 2**30")
    _require(arrays["exp2"][0] > 0, "exp2 of 0 is 0: a text could have no weight at all")


def _require(fits: bool, problem: str) -> None:
    if not fits:
        raise ValueError(problem)
