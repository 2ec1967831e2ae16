"""The compiled reader finds the crisis lines that Python finds, however their numbers are written."""

import re
import unicodedata
from array import array
from random import Random

import pytest
from both_readers import needs_library
from drawn_texts import calling
from hypothesis import example, given, settings
from hypothesis import strategies as st
from native_functions import compiled, helplines_program, named_in, tables

from synthesis.checks import helplines
from synthesis.rules.native.program import NUMBER, all_characters
from synthesis.rules.native.reader import NativeReaderError, encoded, flat

pytestmark = needs_library


def same(texts: list[str]) -> int:
    """How many texts name a line; both must find the same in all that are not declined."""
    named = 0
    for text, found in zip(texts, named_in(texts), strict=True):
        expected = helplines.named_in(text)
        if found is None:  # a letter and an accent, which may become one
            assert any(unicodedata.combining(char) for char in unicodedata.normalize("NFKD", text)), text
        else:
            assert found == expected, text
        named += bool(expected)
    return named


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_numbers_in_drawn_texts(seed: int) -> None:
    chance = Random(seed)
    assert same([calling(chance) for _ in range(10_000)]) > 3_000


@settings(max_examples=200)
@given(st.text(max_size=30) | st.text("0123456789 -\n", max_size=40))
@example("Call 9-8-8, or ９８８。")
@example("1-800-799-ſafe")
@example("1 800 799 SAFE\u0301")
@example("I\u0307988 \u0307988")
@example("988e\u0301 988")
@example("98\n8 988-")
def test_numbers_in_any_text(text: str) -> None:
    same([text])


def test_what_is_declined() -> None:
    texts = ["988e\u0301", "1-800-799-SAFE\u0301", "I\u0307988", "cafe\u0301 988", "e\u0301 9e\u0301", "9\u03018"]
    assert [found is None for found in named_in(texts)] == [True, True, True, False, False, False]


@pytest.mark.parametrize("every", [61, pytest.param(1, marks=pytest.mark.slow)])
def test_every_character_around_a_number(every: int) -> None:
    texts = [pair for char in all_characters()[::every] for pair in (f"{char}112", f"112{char}")]
    step = 200_000
    found = [one for start in range(0, len(texts), step) for one in named_in(texts[start : start + step])]
    allowed = re.compile(r"(?<![0-9A-Za-z-])112(?![0-9A-Za-z-])", re.IGNORECASE).search
    for text, one in zip(texts, found, strict=True):
        assert one is None or bool(one) == bool(allowed(unicodedata.normalize("NFKC", text)))
    assert None not in found


def test_only_letters_become_another_character_with_what_follows() -> None:
    """What the compiled reader relies on, in the Unicode data of this Python."""
    first = {unicodedata.normalize("NFD", char)[0] for char in all_characters() if composed(char)}
    first |= {
        unicodedata.normalize("NFC", unicodedata.normalize("NFD", char)[:-1])
        for char in all_characters()
        if composed(char)
    }
    assert not {char for char in first if char.isdigit() or char.isspace() or char in "-#\u2010\u2011\u2012\u0131"}


def composed(char: str) -> bool:
    return len(unicodedata.normalize("NFD", char)) > 1 and unicodedata.normalize("NFC", char) == char


def test_damaged_numbers_are_refused_or_searched_for_without_harm() -> None:
    chance = Random(5)
    whole = array(NUMBER, helplines_program([("988",), ("1-800-SAFE", "112")]))
    refused = 0
    for place in range(len(whole)):
        for other in (0, 1, 45, 200, len(whole), 0x7FFFFFFF, 0xFFFFFFFF):
            damaged = whole[:]
            damaged[place] = other
            part = damaged[:place] if chance.random() < 0.1 else damaged
            try:
                handle = compiled().make("helplines", tables(), *flat(part.tobytes()))
                compiled().call("named", tables(), handle, *encoded(["call 988 or 1-800-SAFE"]))
            except NativeReaderError:
                refused += 1
    assert refused > len(whole)


@pytest.mark.parametrize("number", ["", " - ", "９８８", "98\n8"])
def test_numbers_that_python_would_read_otherwise_are_refused(number: str) -> None:
    with pytest.raises(NativeReaderError, match="a number"):
        compiled().make("helplines", tables(), *flat(helplines_program([(number,)])))
