"""Tokens of the learned reader: where they are in the text, and which pieces they are made of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reader_samples import folding

from synthesis.reader.tokens import (
    DIGIT,
    FIRST,
    IGNORED,
    LAST,
    LETTER,
    MOST_TOKENS,
    SINGLE,
    SPACE,
    SYMBOL,
    Alphabet,
    bucket,
    folded,
    kind_of,
    pieces,
    tokens,
)

FOLD = folding()
ALPHABET = Alphabet(FOLD)
MANY = 1 << 20  # buckets, so that pieces differ


def cut(text: str) -> list[str]:
    return [text[token.start : token.end] for token in tokens(text, ALPHABET)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I can't, it’s 12a3.", ["I", "can't", ",", "it’s", "12", "a", "3", "."]),
        ("e\u0301te\u0301 a\u00adb\u200b c", ["e\u0301te", "a\u00adb", "c"]),
        ("日本 語x", ["日", "本", "語", "x"]),
        ("हिन्दी।ठीक", ["हिन्दी", "।", "ठीक"]),
        ("Ａｂ１２！", ["Ａｂ", "１２", "！"]),
        ("\ud800..😀", ["\ud800", ".", ".", "😀"]),
        ("a\u00a0b\u3000c\u1680d\u2028e", ["a", "b", "c", "d", "e"]),
        (" \u200b\n", []),
    ],
)
def test_words_numbers_and_characters_are_cut_out_of_the_text(text: str, words: list[str]) -> None:
    assert cut(text) == words


@given(st.text(st.sampled_from("ab 1.’\u0301日") | st.characters(), max_size=60))
def test_tokens_have_the_places_of_their_characters(text: str) -> None:
    end = 0
    for token in tokens(text, ALPHABET):
        assert end <= token.start < token.end <= len(text)
        seen = [folded(ord(char), FOLD) for char in text[token.start : token.end]]
        assert tuple(code for code in seen if kind_of(code) != IGNORED) == token.codes
        assert {kind_of(code) for code in token.codes} == {token.kind}
        assert all(kind_of(folded(ord(char), FOLD)) in (SPACE, IGNORED) for char in text[end : token.start])
        end = token.end


@pytest.mark.parametrize(
    ("kind", "codes"),
    [
        (IGNORED, [0xAD, 0x300, 0x36F, 0x200B, 0x200F, 0x2060, 0xFE00, 0xFE0F, 0xFEFF]),
        (SPACE, [0, 0x20, 0x7F, 0xA0, 0x1680, 0x2000, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]),
        (DIGIT, [0x30, 0x39]),
        (SINGLE, [0x1100, 0x11FF, 0x3040, 0x30FF, 0x31F0, 0x3400, 0x9FFF, 0xAC00, 0xD7A3, 0xF900, 0x20000, 0x3FFFF]),
        (LETTER, [0x27, 0x61, 0x7A, 0xDF, 0x24F, 0x250, 0x370, 0x1FFF, 0x2C00, 0x2DFF, 0xA640, 0xABFF]),
        (SYMBOL, [0x21, 0x41, 0x7B, 0xA1, 0xDE, 0xF7, 0x964, 0x965, 0x2010, 0xD800, 0xD7A4, 0xFFFF, 0x40000, 0x10FFFF]),
    ],
)
def test_classes_of_characters(kind: int, codes: list[int]) -> None:
    assert {kind_of(code) for code in codes} == {kind}


def test_of_a_long_text_the_first_and_the_last_tokens_are_used() -> None:
    words = [f"{number};" for number in range(MOST_TOKENS)]
    found = cut(" ".join(words))
    assert found == [*cut(" ".join(words[: FIRST // 2])), *cut(" ".join(words[-LAST // 2 :]))]
    assert len(cut(". " * MOST_TOKENS)) == MOST_TOKENS


def test_a_word_is_made_of_itself_and_its_grams() -> None:
    [found] = pieces(tokens("Ab", ALPHABET), 20, MANY)
    a, b = b"ab"
    assert found == tuple(bucket(one, MANY) for one in [(1, a, b), (2, 60, a, b), (2, a, b, 62), (2, 60, a, b, 62)])
    counts = {word: len(pieces(tokens(word, ALPHABET), 20, MANY)[0]) for word in ("a", "abcd", "abcdefgh", "a" * 999)}
    assert counts == {"a": 2, "abcd": 10, "abcdefgh": 20, "a" * 999: 20}


def test_numbers_symbols_and_single_characters_are_made_of_less() -> None:
    number, symbol = pieces(tokens("42!", ALPHABET), 20, MANY)
    assert number == (bucket((1, 52, 50), MANY), bucket((4, 2), MANY))
    assert symbol == (bucket((1, 33), MANY),)
    one, two, three, four, _ = (ord(char) for char in "日本語文.")
    found = pieces(tokens("日本語文.", ALPHABET), 20, MANY)
    assert found[0] == tuple(bucket(some, MANY) for some in [(3, one), (3, one, two), (3, one, two, three)])
    assert found[2] == tuple(bucket(some, MANY) for some in [(3, three), (3, three, four), (5, two, three)])
    assert found[3] == tuple(bucket(some, MANY) for some in [(3, four), (5, three, four)])


def test_the_hash_is_the_one_that_weights_were_trained_with() -> None:
    found = [bucket(some, 2**32) for some in [(), (1, 97), (2, 60, 97, 0x10FFFF)]]
    assert found == [1572119809, 2320734175, 2710974476]
