"""Files of weights: what is written is read back, what is damaged is refused in words, by Python and the library."""

import ctypes
import random
from array import array
from pathlib import Path
from typing import Any

import pytest
from reader_samples import real, small, toy_parts

from synthesis.errors import WeightsError
from synthesis.reader.compiled import CompiledEngine, model
from synthesis.reader.weights import ALIGNMENT, Weights, load, packed, parse, write
from synthesis.rules.native.library import NativeReaderError, library, numbers_of

needs_library = pytest.mark.skipif(library() is None, reason="the compiled reader is not built")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    header, arrays = toy_parts(5)
    written = write(tmp_path / "w.bin", header, arrays)
    loaded = load(tmp_path / "w.bin")
    assert loaded.content == written.content == packed(header, {name: bytes(one) for name, one in arrays.items()})
    assert {name: list(one) for name, one in loaded.arrays.items()} == {name: list(one) for name, one in arrays.items()}
    assert (loaded.name, list(loaded.heads), list(loaded.bias)) == ("toy-5", header["heads"], header["bias"])
    assert all(offset % ALIGNMENT == 0 for offset in loaded.offsets.values())
    assert (len(loaded.hash), loaded.hash) == (16, written.hash)


def test_fields_and_arrays_for_others_are_left_alone() -> None:
    header, arrays = toy_parts()
    assert parse(packed({**header, "trained": "today"}, arrays)).arrays.keys() == arrays.keys()


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"w\.bin: there are no weights to read"):
        load(tmp_path / "w.bin")


def test_nothing_is_written_that_could_not_be_read(tmp_path: Path) -> None:
    header, arrays = toy_parts()
    with pytest.raises(WeightsError, match="the file ends inside heads"):
        write(tmp_path / "w.bin", header, {**arrays, "heads": arrays["heads"][:-1]})
    assert not list(tmp_path.iterdir())


HEADERS: list[tuple[dict[str, Any], str]] = [
    ({"buckets": 48}, "buckets is 48, which is not a power of two"),
    ({"buckets": 0}, "buckets is 0, and must be from 1"),
    ({"width": 4}, "width is 4, and must be odd"),
    ({"width": 17}, "width is 17, and must be from 1 to 15"),
    ({"queries": 0}, "queries is 0"),
    ({"most_pieces": 65}, "most_pieces is 65"),
    ({"channels": 1000}, "features, and at most 2047"),
    ({"dims": 1000, "width": 15}, "may not fit into 32 bits"),
    ({"unit": -1}, "unit is -1"),
    ({"bias": [0]}, "1 biases for 4 heads"),
    ({"bias": [2**63] * 4}, "header cannot be read|beyond"),
    ({"heads": ["a", "a", "b", "c"]}, "a head has no name, or that of another"),
    ({"heads": [], "bias": []}, "there are 0 heads"),
    ({"shift": {"word": 11, "conv": 1, "attention": 1}}, "shift of words is 11"),
    ({"shift": {"word": 12, "conv": 32, "attention": 1}}, "a shift is not from 0 to 31"),
]


@pytest.mark.parametrize(("changed", "problem"), HEADERS, ids=[str(changed) for changed, _ in HEADERS])
def test_sizes_are_checked(changed: dict[str, Any], problem: str) -> None:
    header, arrays = toy_parts()
    with pytest.raises(WeightsError, match=problem):
        parse(packed({**header, **changed}, arrays))


def with_number(name: str, place: int, number: int) -> bytes:
    header, arrays = toy_parts()
    arrays[name][place] = number
    return packed(header, arrays)


NUMBERS = [
    ("fold", 0x27, 0x28, "the folding changes an apostrophe"),
    ("fold", 0x61, 0xAD, "which characters are ignored"),
    ("fold", 0xAD, 0x61, "which characters are ignored"),
    ("root", 0, 1, "root of no pieces is not 0"),
    ("root", 3, -1, "a root is not from 0 to"),
    ("root", 3, 2**20, "a root is not from 0 to"),
    ("conv_bias", 2, 2**30 + 1, "a bias of the convolution is beyond"),
    ("conv_bias", 2, -(2**31), "a bias of the convolution is beyond"),
    ("exp2", 0, 0, "exp2 of 0 is 0"),
]


@pytest.mark.parametrize(("name", "place", "number", "problem"), NUMBERS)
def test_numbers_are_checked(name: str, place: int, number: int, problem: str) -> None:
    with pytest.raises(WeightsError, match=problem):
        parse(with_number(name, place, number))


def test_damage_of_every_part_is_refused_in_words() -> None:
    content = small().content
    for damaged, problem in [
        (b"", "not a file of weights"),
        (b"PK" + content[2:], "not a file of weights"),
        (content[:8], "not a multiple of 64|ends inside its header"),
        (content[:40], "ends inside its header"),
        (content[:-1], "the file ends inside heads: it has"),
        (content.replace(b'"format":1', b'"format":2'), "of format 2, and this version reads 1"),
        (content.replace(b'"dtype":"i8"', b'"dtype":"u8"'), "numbers of type u8, and must have i8"),
        (content.replace(b'"name":"conv"', b'"name":"conw"'), "the array conv is missing"),
        (content.replace(b'"name":"conv"', b'"name":"fold"'), "listed twice"),
        (content.replace(b"[64,8]", b"[8,64]"), r"the shape \[8, 64\], and must have \[64, 8\]"),
        (content.replace(b'"offset":0', b'"offset":1'), "fold is not aligned"),
        (content.replace(b'"name"', b'"nam\xff"'), "the header cannot be read"),
        (content.replace(b'{"', b'["', 1), "the header cannot be read"),
    ]:
        with pytest.raises(WeightsError, match=problem):
            parse(damaged)


def test_no_random_damage_is_anything_but_an_error_in_words() -> None:
    chance = random.Random(11)
    content, end = small().content, 2000
    for _ in range(300):
        damaged = bytearray(content)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(end)] = chance.randrange(256)
        try:
            weights = parse(bytes(damaged[: chance.choice((len(damaged), chance.randrange(len(damaged))))]))
        except WeightsError:
            continue
        if (compiled := library()) is not None:
            CompiledEngine(weights, compiled).scores(["a text"], ["user"])


@needs_library
@pytest.mark.parametrize(("name", "place", "number", "problem"), NUMBERS)
def test_the_library_checks_numbers_itself(name: str, place: int, number: int, problem: str) -> None:
    compiled = library()
    assert compiled is not None
    weights = small()
    damaged = Weights(weights.header, with_number(name, place, number), weights.offsets, weights.arrays)
    with pytest.raises(NativeReaderError, match=r"folding|root|bias"):
        model(compiled, damaged)


@needs_library
def test_the_library_refuses_sizes_and_places_that_do_not_fit() -> None:
    compiled = library()
    assert compiled is not None
    weights = real()
    header = weights.header
    sizes = [len(header.heads), header.buckets, header.dims, header.channels, header.width, header.queries]
    numbers = [*sizes, header.most_pieces, header.shift.conv, header.shift.attention, *weights.offsets.values()]
    chance = random.Random(13)
    for _ in range(1000):
        changed = list(numbers)
        for _ in range(chance.randint(1, 3)):
            wild = (0, 1, 2, 63, 2**31, 2**32 - 1, chance.randrange(2**32), chance.randrange(len(weights.content)))
            changed[chance.randrange(len(changed))] = chance.choice(wild)
        tried(compiled, changed, weights.content)
    for count in (0, 5, len(numbers) - 1, len(numbers) + 1):
        with pytest.raises(NativeReaderError, match="a model has 17 numbers"):
            compiled.make("model", *numbers_of(numbers[:count] + [0] * (count - len(numbers))), b"", 0)


@needs_library
def test_random_bytes_never_crash_the_library() -> None:
    compiled = library()
    assert compiled is not None
    chance = random.Random(17)
    for _ in range(300):
        content = chance.randbytes(chance.randrange(40_000))
        small_numbers = [chance.choice((1, 1, 2, 3, 4, 5, 8, 16)) for _ in range(9)]
        small_numbers[6] = chance.randint(3, 65)
        tried(compiled, [*small_numbers, *(chance.randrange(2000) for _ in range(8))], content)


def tried(compiled: Any, numbers: list[int], content: bytes) -> None:
    """Refused, or so sound that texts can be scored."""
    try:
        handle = compiled.make("model", *numbers_of(numbers), content, ctypes.c_size_t(len(content)), keep=(content,))
    except NativeReaderError:
        return
    points = "a text 12 日本".encode("utf-32-le")
    ends = array("I", [len(points) // 4]).tobytes()
    compiled.answer(
        "scores", handle, points, ctypes.c_size_t(len(points) // 4), ends, ctypes.c_size_t(1), *numbers_of([0])
    )


@needs_library
def test_the_library_checks_texts_sides_and_heads() -> None:
    compiled = library()
    assert compiled is not None
    handle = model(compiled, small())
    with pytest.raises(NativeReaderError, match="1 texts and 2 sides"):
        compiled.answer("scores", handle, *numbers_of([97]), *numbers_of([1]), *numbers_of([0, 1]))
    with pytest.raises(NativeReaderError, match="not code points"):
        compiled.answer("scores", handle, *numbers_of([0x110000]), *numbers_of([1]), *numbers_of([0]))
    with pytest.raises(NativeReaderError, match="no head 4 of a segment 0"):
        compiled.answer("contributions", handle, *numbers_of([97]), 0, 4)
